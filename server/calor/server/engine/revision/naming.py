"""Physical names: unique, the same after a crash, cut to a type's limit."""

import base64


def short_id(ident: str) -> str:
    """Twelve characters of a UUID's random part, as Heat shortens ids."""
    first_ten_bytes = bytes.fromhex(ident.replace("-", "")[:20])
    return base64.b32encode(first_ten_bytes).decode().lower()[4:16]


def physical_name(stack_name: str, resource_name: str, ident: str, limit: int) -> str:
    """STACK-RESOURCE-SUFFIX; where it is too long, stack and resource are cut, never the suffix."""
    suffix = short_id(ident)
    name = f"{stack_name}-{resource_name}-{suffix}"
    if len(name) <= limit:
        return name
    room = limit - len(suffix) - 2
    stack_part = stack_name[: max(room // 3, room - len(resource_name))]
    return f"{stack_part}-{resource_name[: room - len(stack_part)]}-{suffix}"


def child_name(parent_name: str, resource_name: str, ident: str) -> str:
    return f"{parent_name}-{resource_name}-{short_id(ident)}"[-255:].lstrip("-")
