"""Which roles a user has where, implied ones included."""

from collections.abc import Iterable

from calor.server.devcloud.documents import Doc, Documents

IMPLIED = {"admin": ("manager", "member", "reader"), "manager": ("member", "reader"), "member": ("reader",)}


def grant_id(user_id: str, scope: str, role_id: str) -> str:
    return f"{user_id}:{scope}:{role_id}"


def grant(docs: Documents, user_id: str, scope: str, role_id: str) -> None:
    """``scope`` is a project's id or ``system``."""
    ident = grant_id(user_id, scope, role_id)
    docs.put("grant", {"id": ident, "user_id": user_id, "scope": scope, "role_id": role_id})


def effective_roles(docs: Documents, user_id: str, scope: str, *, only: Iterable[str] | None = None) -> tuple[Doc, ...]:
    """The roles granted to the user in the scope (``only`` these ids, if given) and what they imply."""
    granted = (
        {doc["role_id"] for doc in docs.where("grant", user_id=user_id, scope=scope)} if only is None else set(only)
    )
    names = {role["name"] for role in docs.all("role") if role["id"] in granted}
    for name in tuple(names):
        names.update(IMPLIED.get(name, ()))
    return tuple(role for role in docs.all("role") if role["name"] in names)
