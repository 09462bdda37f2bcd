"""Texts of failures: bounded, valid UTF-8, with the deepest cause in them."""

MAX_REASON = 8000
_CUT = " … "


def bounded(text: str, limit: int = MAX_REASON) -> str:
    """Text that every database can store: no lone surrogates, no NUL, at most ``limit`` characters; head and tail
    are kept where it is longer, since clouds put the cause at either end."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    if len(clean) <= limit:
        return clean
    head = limit * 2 // 3
    return clean[:head] + _CUT + clean[len(clean) - (limit - head - len(_CUT)) :]


def of_exception(error: BaseException) -> str:
    """``Class: message``, as Heat shows the failure of a resource."""
    detail = getattr(error, "detail", None) or str(error)
    return bounded(f"{_class_of(error)}: {detail}" if detail else _class_of(error))


def _class_of(error: BaseException) -> str:
    return str(getattr(error, "type_name", None) or type(error).__name__)


def has_class(reason: str) -> bool:
    """Whether a reason begins with ``Class: ``."""
    head, colon, _ = reason.partition(": ")
    return bool(colon) and head.isidentifier() and head[:1].isupper()


def placed(path: str, reason: str) -> str:
    """``ResourceInError: resources.web: Went to status ERROR …``: the class first, then where, down to the deepest."""
    if not has_class(reason):
        return bounded(f"{path}{'.' if reason.startswith('resources.') else ': '}{reason}")
    head, _, rest = reason.partition(": ")
    return bounded(f"{head}: {path}{'.' if rest.startswith('resources.') else ': '}{rest}")


def place_of(reason: str) -> str:
    """Where something failed, of the reason that `placed` has made: ``resources.group.resources.0``; the beginning of
    one that names no place."""
    rest = reason.partition(": ")[2] if has_class(reason) else reason
    return rest.partition(": ")[0] if rest.startswith("resources.") else bounded(reason, 300)
