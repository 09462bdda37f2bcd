"""With which rights the server acts in a project."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class CredentialKind(enum.Enum):
    TOKEN = "token"  # noqa: S105 - a word, not a secret
    TRUST = "trust"
    APPLICATION_CREDENTIAL = "application_credential"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """``secret`` is the token, nothing (trust) or the application credential's secret; ``ident`` the trust's or
    the credential's id. Stored encrypted (`as_record`), never logged."""

    kind: CredentialKind
    project_id: str
    user_id: str
    ident: str = ""
    secret: str = field(default="", repr=False)
    region: str | None = None

    def as_record(self) -> dict[str, str | None]:
        return {
            "kind": self.kind.value,
            "project_id": self.project_id,
            "user_id": self.user_id,
            "ident": self.ident,
            "secret": self.secret,
            "region": self.region,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, str | None]) -> "Credentials":
        return cls(
            kind=CredentialKind(record["kind"]),
            project_id=record["project_id"] or "",
            user_id=record["user_id"] or "",
            ident=record["ident"] or "",
            secret=record["secret"] or "",
            region=record["region"],
        )
