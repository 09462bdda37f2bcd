"""Whether what is wanted of a child stack is what it has: values as they come back from a column."""

import json
from collections.abc import Mapping
from typing import Any

from calor.server.template import Secret


def same_template(stored: Mapping[str, Any] | str, wanted: Mapping[str, Any] | str) -> bool:
    if isinstance(stored, str) or isinstance(wanted, str):
        return stored == wanted
    return bool(stored == jsonable(wanted))


def jsonable(value: Any) -> Any:
    """As it comes back from a column."""

    def default(item: Any) -> Any:
        return str(item)

    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, Secret) or value is None:
        return value
    return json.loads(json.dumps(value, default=default))
