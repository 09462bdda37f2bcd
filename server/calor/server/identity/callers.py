"""Who asks: the value that authentication hands to every service call."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user acting in a project, as Keystone said. ``token`` is secret and left out of ``repr``.

    ``restricted`` is true for tokens that cannot make trusts or application credentials (unrestricted=False
    application credentials, some federated users).
    """

    user_id: str
    project_id: str
    roles: frozenset[str]
    user_name: str = ""
    project_name: str = ""
    user_domain_id: str = ""
    token: str = field(default="", repr=False)
    is_admin: bool = False
    restricted: bool = False
    system_scope: bool = False
    request_id: str = ""
