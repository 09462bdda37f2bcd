"""The user's cloud as openstacksdk's configuration says: from the environment, a clouds.yaml or a dev cloud's.

Imported with the first call only. Of openstacksdk just ``openstack.config`` is loaded, not the classes of all services,
which took half of the time of a short command.
"""

import importlib.util
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calor.server.cli.api_fault import Fault, Unreachable

SERVICE = "orchestration"
_HOW_TO_NAME = (
    "Name a cloud of clouds.yaml by --os-cloud or OS_CLOUD, set OS_AUTH_URL and its companions, "
    "or point to a dev cloud by --dev."
)
DEV_CLOUDS = frozenset({"calor", "calor-admin"})
"""The clouds in the clouds.yaml of a `calor dev`."""
_OF_THE_WHOLE = frozenset({"connect", "connection", "enable_logging"})
"""What ``import openstack`` offers beside its modules."""


def _spare_services() -> None:
    """Make ``openstack`` a package that runs its own code, and so imports every service, when that is asked for."""
    if "openstack" in sys.modules or (spec := importlib.util.find_spec("openstack")) is None or spec.loader is None:
        return
    loader, package = spec.loader, importlib.util.module_from_spec(spec)

    def whole(name: str) -> Any:
        if name not in _OF_THE_WHOLE:
            raise AttributeError(name)
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = whole
    sys.modules["openstack"] = package


_spare_services()

from keystoneauth1.adapter import Adapter  # noqa: E402  # after the services are spared
from keystoneauth1.exceptions import (  # noqa: E402
    ClientException,
    DiscoveryFailure,
    MissingRequiredOptions,
    RetriableConnectionFailure,
    UnknownConnectionError,
)
from openstack.config import OpenStackConfig  # noqa: E402
from openstack.exceptions import ConfigException  # noqa: E402

logging.getLogger("keystoneauth").addHandler(logging.NullHandler())  # what fails is raised as well, and told


def connected(cloud: str | None, dev_dir: Path | None) -> Adapter:
    """Calls of the orchestration service; no call is made yet. Raises what `readable` translates."""
    if dev_dir is None:
        region = OpenStackConfig().get_one(cloud)
    else:
        if not (dev_dir / "clouds.yaml").is_file():
            raise Fault(f"There is no dev cloud in {dev_dir}. Start one: calor dev --state-dir {dev_dir}")
        config = OpenStackConfig(config_files=[str(dev_dir / "clouds.yaml")], load_envvars=False)
        region = config.get_one(cloud or "calor")
    return Adapter(
        region.get_session(),
        service_type=SERVICE,
        interface=region.get_interface(SERVICE),
        region_name=region.get_region_name(SERVICE),
        endpoint_override=region.get_endpoint(SERVICE),
        user_agent="calor",
    )


@contextmanager
def readable(cloud: str | None, dev_dir: Path | None) -> Iterator[None]:
    """Faults of the way to the API as one line."""
    try:
        yield
    except MissingRequiredOptions as exc:
        raise Fault(f"No cloud is named, or its settings are incomplete ({exc}). {_HOW_TO_NAME}") from exc
    except ConfigException as exc:
        raise Fault(f"{exc} {_HOW_TO_NAME}") from exc
    except (RetriableConnectionFailure, UnknownConnectionError, DiscoveryFailure) as exc:
        dev_dir = dev_dir or _dev_dir_of(cloud)
        if dev_dir is None:
            raise Unreachable(str(exc)) from exc
        raise Unreachable(
            f"The dev cloud in {dev_dir} is not running; start it: calor dev --state-dir {dev_dir}"
        ) from exc
    except ClientException as exc:
        raise Fault(str(exc)) from exc


def _dev_dir_of(cloud: str | None) -> Path | None:
    """The state directory of the `calor dev` whose cloud is meant, if it is one's."""
    try:
        config = OpenStackConfig()
        name = config.get_one(cloud).name
    except ConfigException:
        return None
    directory = Path(config.config_filename).resolve().parent if config.config_filename else None
    is_devs = name in DEV_CLOUDS and directory is not None and (directory / "dev.json").is_file()
    return directory if is_devs else None
