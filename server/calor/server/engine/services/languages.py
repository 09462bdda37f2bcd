"""Template versions and their functions, as the catalogue shows them."""

from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.errors import EntityNotFound
from calor.server.template.functions.versions import CFN_TABLES, HOT_TABLES, HOT_VERSIONS, Table


class NotFound(EntityNotFound):
    """Heat's name for a template version that is not there."""


def versions() -> Sequence[Mapping[str, Any]]:
    cfn = [{"version": f"{language}.{version}", "type": "cfn", "aliases": []} for language, version in CFN_TABLES]
    hot = [
        {
            "version": f"heat_template_version.{version}",
            "type": "hot",
            "aliases": [f"heat_template_version.{release}"] if release else [],
        }
        for version, release in HOT_VERSIONS.items()
    ]
    return [*cfn, *hot]


def functions(version: str, *, with_conditions: bool) -> Sequence[Mapping[str, Any]]:
    """Raises `EntityNotFound`."""
    table = _table(version)
    known = dict(table.functions)
    if with_conditions:
        known |= table.conditions
    return [{"functions": name, "description": _summary(known[name])} for name in sorted(known)]


def _table(version: str) -> Table:
    language, _, number = version.partition(".")
    if (language, number) in CFN_TABLES:
        return CFN_TABLES[language, number]
    dates = {release: date for date, release in HOT_VERSIONS.items() if release}
    date = dates.get(number, number)
    if language != "heat_template_version" or date not in HOT_TABLES:
        raise NotFound(f"Template with version {version} not found")
    return HOT_TABLES[date]


def _summary(kind: type[Any]) -> str:
    return next(iter((kind.__doc__ or "").strip().splitlines()), "")
