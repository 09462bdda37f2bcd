"""What stands for a section of a template that cannot be read, so that what refers to it says nothing wrong."""

from typing import Any

from calor.server.template.values import UNKNOWN


class AnyName(frozenset[str]):
    """The names of a section that cannot be read: any name may be one of them."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return True


class AnyValue(dict[str, Any]):
    """Values by name, and UNKNOWN for every other one: of a section that cannot be read."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return UNKNOWN
