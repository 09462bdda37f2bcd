"""The one object that all services of a dev cloud share: documents, tokens, driver, faults and where files lie."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from calor.server.devcloud.documents import Documents
from calor.server.devcloud.driver import Driver
from calor.server.devcloud.faults import Faults
from calor.server.devcloud.tokens import Tokens


class Listed(Protocol):
    """What the catalog says of a service. ``endpoint`` is a path, with ``{project_id}`` where the service has it."""

    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


@dataclass(kw_only=True)
class Cloud:
    """``orchestration`` and ``cfn`` are the base URLs of a Calor server for the catalog, without path.

    ``images`` are the root file systems at hand, by image name.
    """

    state: Path
    docs: Documents
    driver: Driver
    tokens: Tokens
    orchestration: str
    cfn: str
    admin_token: str = field(repr=False)
    faults: Faults = field(default_factory=Faults)
    services: tuple[Listed, ...] = ()
    image_paths: Mapping[str, Path] = field(default_factory=dict)

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def objects(self) -> Path:
        return self.state / "objects"

    @property
    def images(self) -> Path:
        return self.state / "images"
