"""What Neutron's collections have in common: lists with filters, looking up, unknown attributes, stamps."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Call, is_uuid, new_id, now, page
from calor.server.devcloud.documents import Doc

NOT_FILTERS = frozenset({"fields", "limit", "marker", "sort_key", "sort_dir", "page_reverse"})


@dataclass(frozen=True)
class Kind:
    """A collection. ``title`` is the word of Neutron's messages and, without blanks, of its error types."""

    name: str
    plural: str
    title: str
    defaults: Mapping[str, Any]
    """Attributes a caller may give, with their defaults; also what an update may change."""
    fixed: Collection[str] = ()
    """Attributes that may be given on creation only."""

    @property
    def error_title(self) -> str:
        return self.title.replace(" ", "")


def bad(message: str, kind: str = "HTTPBadRequest") -> ApiError:
    return ApiError(400, message, kind)


def invalid(message: str) -> ApiError:
    return bad(f"Invalid input for operation: {message}", "InvalidInput")


def conflict(kind: str, message: str) -> ApiError:
    return ApiError(409, message, kind)


def missing(kind: Kind, ident: str) -> ApiError:
    return ApiError(404, f"{kind.title} {ident} could not be found.", f"{kind.error_title}NotFound")


def begun(call: Call, kind: Kind, part: Doc) -> Doc:
    """A new document with the caller's attributes over the defaults. Refuses unknown ones."""
    refuse_unknown(kind, part, ("project_id", "tenant_id", "id"))
    project = part.get("project_id") or part.get("tenant_id") or call.project_id
    if project != call.project_id and not call.token.is_admin:
        raise ApiError(403, f"rule:create_{kind.name} is disallowed by policy", "PolicyNotAuthorized")
    moment = now()
    given = {key: part[key] for key in kind.defaults if key in part and part[key] is not None}
    return {
        "id": new_id(),
        **kind.defaults,
        **given,
        "project_id": project,
        "tenant_id": project,
        "tags": [],
        "created_at": moment,
        "updated_at": moment,
        "revision_number": 1,
    }


def refuse_unknown(kind: Kind, part: Doc, also: Collection[str] = ()) -> None:
    unknown = [key for key in part if key not in kind.defaults and key not in also]
    if unknown:
        raise bad(f"Unrecognized attribute(s) '{', '.join(unknown)}'")


def changed(call: Call, kind: Kind, doc: Doc, part: Doc) -> Doc:
    """The document with an update's attributes; not stored yet."""
    refuse_unknown(kind, part)
    for key in part:
        if key in kind.fixed and part[key] != doc.get(key):
            raise bad(f"Cannot update read-only attribute {key}")
    return {**doc, **part, "updated_at": now(), "revision_number": doc["revision_number"] + 1}


def require_uuid(name: str, value: Any) -> str:
    if not is_uuid(value):
        raise bad(f"Invalid input for {name}. Reason: '{value}' is not a valid UUID.")
    return str(value)


def visible(call: Call, doc: Doc) -> bool:
    return call.sees(doc) or bool(doc.get("shared")) or bool(doc.get("router:external"))


def found(call: Call, kind: Kind, ident: str) -> Doc:
    doc = call.docs.get(kind.name, ident)
    if doc is None or not visible(call, doc):
        raise missing(kind, ident)
    return doc


def own(call: Call, kind: Kind, ident: str) -> Doc:
    """To be changed: what is only shared with the caller is forbidden to him."""
    doc = found(call, kind, ident)
    if not call.sees(doc):
        raise ApiError(403, f"rule:update_{kind.name} is disallowed by policy", "PolicyNotAuthorized")
    return doc


def listed(call: Call, kind: Kind, docs: list[Doc]) -> Doc:
    """The visible documents that pass the query's filters, sorted and cut to a page, with the wanted fields only."""
    docs = [doc for doc in docs if visible(call, doc) and _passes(call, doc)]
    for key, direction in zip(
        call.request.query.getall("sort_key", []), call.request.query.getall("sort_dir", ["asc"]), strict=False
    ):
        docs.sort(key=lambda doc: str(doc.get(key)), reverse=direction == "desc")
    docs = page(call, docs)
    fields = call.request.query.getall("fields", [])
    return {kind.plural: [{f: doc[f] for f in fields if f in doc} for doc in docs] if fields else docs}


def _passes(call: Call, doc: Doc) -> bool:
    for key in set(call.query) - NOT_FILTERS:
        wanted = call.request.query.getall(key)
        if key in ("tags", "tags-any", "not-tags"):
            if not _tagged(doc, key, wanted[0].split(",")):
                return False
        elif not any(_matches(doc.get(key), text) for text in wanted):
            return False
    return True


def _tagged(doc: Doc, key: str, wanted: list[str]) -> bool:
    held = set(doc["tags"])
    if key == "tags":
        return set(wanted) <= held
    return bool(set(wanted) & held) is (key == "tags-any")


def _matches(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return text.lower() == ("true" if value else "false") or text == str(int(value))
    if isinstance(value, list):
        return any(_matches(item, text) for item in value)
    if isinstance(value, dict):
        key, _, wanted = text.partition("=")
        return str(value.get(key)) == wanted
    return ("" if value is None else str(value)) == text
