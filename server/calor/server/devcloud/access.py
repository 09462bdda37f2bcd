"""Who calls, and how a call is refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calor.server.devcloud.documents import Doc


class ApiError(Exception):
    """A refusal. ``kind`` is the type name of services that show one (Neutron's ``NeutronError.type``)."""

    def __init__(self, status: int, message: str, kind: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.headers = dict(headers or {})


@dataclass(frozen=True, kw_only=True)
class Token:
    """Who calls, as the token said and the directory confirms now."""

    id: str = field(repr=False)
    user: Doc
    project: Doc | None
    roles: tuple[Doc, ...]
    methods: tuple[str, ...]
    issued_at: str
    expires_at: str
    audit_ids: tuple[str, ...]
    system: bool = False
    trust: Doc | None = None
    application_credential: Doc | None = None
    trustee_id: str | None = None

    @property
    def role_names(self) -> frozenset[str]:
        return frozenset(role["name"] for role in self.roles)

    @property
    def is_admin(self) -> bool:
        return "admin" in self.role_names

    @property
    def project_id(self) -> str:
        return self.project["id"] if self.project else ""

    @property
    def user_id(self) -> str:
        return str(self.user["id"])
