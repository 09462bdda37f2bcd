"""What the rest of the server may ask of a cloud; ``sdk.py`` is the real one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from calor.server.cloud.credentials import Credentials

Record = Mapping[str, Any]
"""A cloud object as the service's own JSON names it (openstacksdk's ``to_dict(original_names=True)``)."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """A kind of cloud object.

    ``service`` is openstacksdk's proxy (``compute``, ``network``, ``block_storage``, ``image``,
    ``identity``, ``object_store``); ``single`` is the object's name there (``server``, ``floating_ip``), by which the
    SDK knows its path and keys. ``microversion`` is the highest we speak.
    """

    service: str
    single: str
    plural: str
    detailed: bool = True
    microversion: str | None = None


class Cloud(Protocol):
    """One project of one cloud, with one set of credentials. Every method raises `CloudError`s only."""

    @property
    def project_id(self) -> str: ...

    async def create(self, of: Collection, **body: Any) -> Record:
        """Create one object. Never retried blindly: an answer lost after the effect raises
        `CloudUncertain`, and the caller looks for its twin."""
        ...

    async def get(self, of: Collection, ident: str) -> Record:
        """Raises `CloudMissing`."""
        ...

    async def find(self, of: Collection, name_or_id: str) -> Record | None:
        """Raises `CloudAmbiguous` when several have the name."""
        ...

    async def list(self, of: Collection, **query: Any) -> list[Record]: ...

    async def update(self, of: Collection, ident: str, **body: Any) -> Record: ...

    async def delete(self, of: Collection, ident: str) -> bool:
        """False when it was gone already. Conflicts (still in use) raise `CloudConflict`."""
        ...

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """Any other method of an SDK proxy, e.g. ``call("compute", "reboot_server", id, "SOFT")``.
        Resources come back as `Record`s, generators as lists.

        ``get``, ``head``, ``put``, ``patch``, ``delete`` and ``post`` with a path (``json=`` or ``data=``, ``params=``,
        ``headers=``, ``microversion=``) are the plain request; they answer the parsed body, ``head`` the headers by
        lower-case name. All but ``post`` and ``patch`` are retried."""
        ...

    async def settled(self, of: Collection, ident: str, *, ready: frozenset[str], failed: frozenset[str]) -> Record:
        """Wait on the collection's watch until ``status`` (upper case) is in ``ready``.

        Raises `CloudFailed` with the cloud's own fault text on a status in ``failed``, `CloudMissing` if
        the object vanishes. One listing per interval serves all waiters of a collection.
        """
        ...

    async def gone(self, of: Collection, ident: str, *, failed: frozenset[str] = frozenset()) -> None:
        """Wait on the watch until the object is not there."""
        ...

    async def listed(self, service: str, path: str, *, fresh: bool) -> Mapping[str, Record]:
        """The next listing, by name, of what lies at a path (the objects of a container). All who wait for the same
        path are served by one listing per interval; ``fresh`` for who has just begun to wait."""
        ...

    async def endpoint(self, service_type: str, *, region: str | None = None) -> str:
        """The public URL of a service from the catalog. Raises `CloudMissing`."""
        ...


class Delegator(Protocol):
    """Who hands rights on; `identity.Caller` is one."""

    @property
    def user_id(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def roles(self) -> frozenset[str]: ...
    @property
    def token(self) -> str: ...
    @property
    def restricted(self) -> bool: ...


class CloudDoor(Protocol):
    """Opens clouds and makes delegated credentials. One per server process."""

    def open(self, credentials: Credentials) -> Cloud:
        """Cheap: sessions and tokens are shared per (project, credentials)."""
        ...

    async def delegate(self, caller: Delegator) -> Credentials:
        """Credentials that outlive the caller's token: a Keystone trust to the service user.

        Raises `Forbidden` with the remedy when the caller's token cannot delegate.
        """
        ...

    async def revoke(self, credentials: Credentials) -> None:
        """Delete the trust; what is gone already is fine."""
        ...

    async def close(self) -> None: ...
