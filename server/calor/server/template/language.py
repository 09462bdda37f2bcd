"""Text or mapping → `Template`: finds the language and its version, reads the sections."""

from collections.abc import Mapping, Set
from typing import Any

from calor.server.errors import InvalidInput
from calor.server.template.declarations import broken_parameter, parse_parameter
from calor.server.template.definitions import parse_outputs, parse_resources
from calor.server.template.dialects import DIALECTS, RELEASES, Dialect
from calor.server.template.model import Names, ParameterGroup, ParameterSchema, Template
from calor.server.template.nearest import did_you_mean, meant
from calor.server.template.reader import Limits, read_or_take
from calor.server.template.source import Faults
from calor.server.template.sweeps import unswept
from calor.server.template.trees import TreeParser
from calor.server.template.unread import AnyName, AnyValue
from calor.server.template.values import Plain, plain, shape

__all__ = ["Limits", "parse_template"]


@unswept()
def parse_template(
    text: str | Mapping[str, Any],
    *,
    file: str = "template",
    strict: bool = False,
    limits: Limits | None = None,
    lenient: bool = False,
) -> Template:
    """Parse text or an already parsed mapping. Raises `InvalidInput` with all problems, `RequestLimitExceeded`.

    ``strict`` makes warnings (a duplicate key) errors. ``lenient``: faults that leave the rest readable are kept in the
    template for `bind` to tell, together with what it finds (`stages`).
    """
    root, faults, warnings = read_or_take(text, file=file, limits=limits or Limits(), strict=strict, what="template")
    dialect = _dialect(root, faults)
    sections, unread = _sections(root, dialect, faults)
    names = Names(
        parameters=_names("parameters", sections, unread, dialect.pseudo),
        resources=_names("resources", sections, unread),
        conditions=_names("conditions", sections, unread),
    )
    trees = TreeParser(dialect.table, faults.source, names)
    word = dialect.sections
    parameters = _parameters(sections["parameters"], dialect, faults)
    conditions = {
        name: trees.definition_into(body, (word["conditions"], name), faults)
        for name, body in sections["conditions"].items()
    }
    resources = parse_resources(sections["resources"], dialect, trees, faults)
    outputs = parse_outputs(sections["outputs"], dialect, trees, faults)
    if strict:
        faults.extend(faults.warnings)
    template = Template(
        language=dialect.language,
        version=dialect.version,
        description=_description(root.get(word["description"]), faults, word["description"]),
        parameters=parameters,
        parameter_groups=_groups(root.get("parameter_groups"), parameters, faults),
        resources=resources,
        outputs=outputs,
        conditions=conditions,
        mappings=AnyValue() if "mappings" in unread else plain(sections["mappings"]),
        source=faults.source,
        names=names,
        warnings=(*warnings, *faults.warnings),
        faults=tuple(faults.problems),
    )
    if not lenient:
        faults.raise_any()
    return template


def _names(
    section: str, sections: Mapping[str, Any], unread: Set[str], more: frozenset[str] = frozenset()
) -> frozenset[str]:
    return AnyName() if section in unread else frozenset(map(str, sections[section])) | more


def _dialect(root: Mapping[Any, Any], faults: Faults) -> Dialect:
    """The language and version; the newest where that is none. Raises `InvalidInput`: without a language nothing else
    can be read."""
    found = [key for key in DIALECTS if key in root]
    if not root:
        faults.add("The template is empty.", code="template-version")
        raise InvalidInput(faults.problems)
    if len(found) != 1:
        known = ", ".join(DIALECTS)
        near = next((did_you_mean(str(key), DIALECTS) for key in root if did_you_mean(str(key), DIALECTS)), "")
        faults.add(
            f"A template has one of the keys {known}; this one has {len(found) or 'none'}{near}.",
            code="template-version",
        )
        raise InvalidInput(faults.problems)
    versions = DIALECTS[found[0]]
    written = root[found[0]]
    version = written.text if isinstance(written, Plain) else written
    if isinstance(version, str):
        version = RELEASES.get(version, version) if found[0] == "heat_template_version" else version
        if version in versions:
            return versions[version]
    known = ", ".join([*versions, *(RELEASES if found[0] == "heat_template_version" else ())])
    near = did_you_mean(str(version), [*versions, *RELEASES])
    faults.add(
        f"The template version is invalid: {version!r} is not known{near}; known are {known}.",
        (found[0],),
        value=True,
        code="template-version",
    )
    return versions[max(versions)]


def _sections(
    root: Mapping[Any, Any], dialect: Dialect, faults: Faults
) -> tuple[dict[str, Mapping[str, Any]], Set[str]]:
    """The sections that are maps, by the model's names, and the names of those that cannot be read: no map, or under a
    name that may be meant for them. They are reported and empty."""
    known = {*dialect.sections.values(), *DIALECTS}
    missed = set[str]()
    for key in root:
        if key not in known:
            near = did_you_mean(str(key), known)
            missed |= {name for name in meant(near) if name not in root}
            faults.add(f"A template has no section {key!r}{near}.", (key,), code="unknown-section")
    found: dict[str, Mapping[str, Any]] = {}
    unread = {name for name, word in dialect.sections.items() if word in missed}
    for name in ("parameters", "resources", "outputs", "conditions", "mappings"):
        word = dialect.sections.get(name)
        if word is None or word not in root:
            found[name] = {}
            continue
        section = root[word]
        is_empty = section is None or (name != "conditions" and not plain(section))
        if not isinstance(section, Mapping) and not is_empty:
            faults.add(f"The section {word!r} must be a map, not {shape(section)}.", (word,), code="template-section")
            section = None
            unread.add(name)
        found[name] = section if isinstance(section, Mapping) else {}
    return found, unread


def _description(written: Any, faults: Faults, word: str) -> str:
    if isinstance(written, Mapping | list) and written:
        faults.add(f"The description must be text, not {shape(written)}.", (word,), code="template-section")
        return ""
    return written.text if isinstance(written, Plain) else str(written or "")


def _parameters(section: Mapping[str, Any], dialect: Dialect, faults: Faults) -> dict[str, ParameterSchema]:
    found = {}
    for name, body in section.items():
        place = (dialect.sections["parameters"], name)
        schema = parse_parameter(str(name), body, dialect.declared, place, faults)
        found[str(name)] = schema or broken_parameter(str(name))
    return found


def _groups(written: Any, parameters: Mapping[str, Any], faults: Faults) -> tuple[ParameterGroup, ...]:
    place = "parameter_groups"
    if not plain(written):
        return ()
    if not isinstance(written, list):
        faults.add(f"The parameter groups are a list, not {shape(written)}.", (place,), code="parameter-groups")
        return ()
    groups, seen = [], set[str]()
    for number, entry in enumerate(written):
        path = (place, number)
        members = entry.get("parameters") if isinstance(entry, Mapping) else None
        if not isinstance(members, list):
            faults.add("A parameter group is a map with a list of 'parameters'.", path, code="parameter-groups")
            continue
        for index, name in enumerate(members):
            spot = (*path, "parameters", index)
            if isinstance(name, Mapping | list):
                faults.add(f"A parameter is named by text, not by {shape(name)}.", spot, code="parameter-groups")
                continue
            if name in seen:
                faults.add(f"The parameter {name!r} is in a group already.", spot, code="parameter-groups")
            if name not in parameters:
                faults.add(
                    f"There is no parameter {name!r}{did_you_mean(str(name), parameters)}.",
                    spot,
                    code="unknown-parameter",
                )
            seen.add(str(name))
        label, words = entry.get("label") or "", entry.get("description") or ""
        groups.append(ParameterGroup(label=str(label), description=str(words), parameters=tuple(map(str, members))))
    return tuple(groups)
