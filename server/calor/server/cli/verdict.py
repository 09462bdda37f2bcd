"""The verdict on templates as it is printed, whoever found the faults: ``calor validate``, or a server that refused."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calor.server.errors import Problem


def as_text(
    name: str, problems: "Sequence[Problem]", warnings: "Sequence[Problem]", read: Callable[[str], str | None]
) -> str:
    """Each fault with its code, its line and a caret, then how many there are. ``read`` gives the text of a file."""
    from calor.server.authoring.texts import quoting

    parts = [quoting(problems, read), quoting(warnings, read, "warning"), f"{name}: {_counted(problems, warnings)}"]
    return "\n".join(part for part in parts if part)


def _counted(problems: "Sequence[Problem]", warnings: "Sequence[Problem]") -> str:
    errors, others = len(problems), len(warnings)
    found = [f"{errors} error{'s' * (errors != 1)}"] if errors else ["valid"]
    if others:
        found.append(f"{others} warning{'s' * (others != 1)}")
    return ", ".join(found)


def as_json(problems: "Iterable[Problem]", warnings: "Iterable[Problem]" = ()) -> str:
    """``{"valid": bool, "problems": [{"severity", "code", "file", "line", "column", "path", "message", …}]}``."""
    from calor.server.template.problems import as_data

    errors = [{"severity": "error", **as_data(one)} for one in problems]
    others = [{"severity": "warning", **as_data(one)} for one in warnings]
    return json.dumps({"valid": not errors, "problems": [*errors, *others]}, indent=2)
