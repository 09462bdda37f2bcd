"""What there is to know at a place of a template: what may stand there, what a word means, where it is defined."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calor.server.authoring.files import SUFFIXES, located
from calor.server.authoring.outline import Outline, Place
from calor.server.engine.revision.kinds import schema
from calor.server.engine.revision.template_type import TemplateType, is_template_name
from calor.server.engine.services import languages
from calor.server.errors import CalorError
from calor.server.resources.base import Registry, ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.template import ParameterKind
from calor.server.template.dialects import DIALECTS, RELEASES
from calor.server.template.files import text_of
from calor.server.template.properties import AllowedValues, Kind, PropertySchema

HOT = "heat_template_version"
SECTIONS = (HOT, "description", "parameter_groups", "parameters", "resources", "outputs", "conditions")
RESOURCE = {
    "type": "The resource's type.",
    "properties": "What the type is given.",
    "metadata": "Data of your own, which instances can read.",
    "depends_on": "Resources that must be there before.",
    "update_policy": "How a group's members are updated.",
    "deletion_policy": "Delete, Retain or Snapshot.",
    "external_id": "The id of something that exists already.",
    "condition": "The resource is there only if this holds.",
    "description": "What it is for.",
}
PARAMETER = ("type", "label", "description", "default", "hidden", "immutable", "constraints", "tags")
OUTPUT = ("value", "description", "condition")
PSEUDO = ("OS::stack_name", "OS::stack_id", "OS::project_id")
KEYS: Mapping[str, Mapping[str, str]] = {
    "resources": RESOURCE,
    "parameters": dict.fromkeys(PARAMETER, ""),
    "outputs": dict.fromkeys(OUTPUT, ""),
}


@dataclass(frozen=True, kw_only=True)
class Word:
    """Something that may be written. ``kind`` is the name of an LSP CompletionItemKind."""

    label: str
    about: str = ""
    detail: str = ""
    kind: str = "Value"


@dataclass(frozen=True, kw_only=True)
class Target:
    """``line`` and ``column`` count from 0."""

    path: Path
    line: int = 0
    column: int = 0


class Knowledge:
    """One template's text, in its folder."""

    def __init__(self, path: Path, text: str, registry: Registry) -> None:
        self.path = path
        self.outline = Outline(text)
        self.registry = registry

    # --- words ------------------------------------------------------------------------------------------

    def words(self, place: Place) -> list[Word]:
        """What may stand at a place; the editor picks those that begin as the user has begun."""
        if place.call:
            return list(self._arguments(place.call, place.text, place.path))
        if place.opened:
            return list(self._functions())
        if place.item:
            return [*self._values(place), *self._keys(place.path)]
        if place.key is not None:
            return list(self._values(place))
        return list(self._keys(place.path))

    def _keys(self, path: tuple[str, ...]) -> Iterator[Word]:
        if not path:
            yield from (Word(label=name, kind="Module") for name in SECTIONS)
        elif len(path) == 2 and path[0] in KEYS:
            yield from (Word(label=name, about=text, kind="Property") for name, text in KEYS[path[0]].items())
        elif len(path) >= 3 and path[0] == "resources" and path[2] == "properties":
            for name, one in self._schemas(path).items():
                yield Word(label=name, about=about_property(one), detail=one.kind.value, kind="Field")
            if len(path) > 3:
                yield from self._functions()
        elif path[0] in ("resources", "outputs", "conditions"):
            yield from self._functions()

    def _values(self, place: Place) -> Iterator[Word]:
        path, key = place.path, place.key or ""
        if key == HOT and not path:
            yield from (Word(label=name, kind="Constant") for name in (*reversed(list(DIALECTS[HOT])), *RELEASES))
        elif key == "type" and len(path) == 2 and path[0] == "resources":
            yield from self._types()
        elif key == "type" and len(path) == 2 and path[0] == "parameters":
            yield from (Word(label=kind.value, kind="Constant") for kind in ParameterKind)
        elif key == "deletion_policy":
            yield from (Word(label=name, kind="Constant") for name in ("Delete", "Retain", "Snapshot"))
        elif key == "depends_on":
            yield from self._names("resources", "Class")
        elif key == "condition":
            yield from self._names("conditions", "Variable")
        else:
            yield from self._arguments(key, place.text, path)
            if len(path) >= 3 and path[0] == "resources" and path[2] == "properties":
                yield from _choices(self._schemas(path).get(key))

    def _arguments(self, function: str, text: str, path: tuple[str, ...]) -> Iterator[Word]:
        """What a function takes: the first argument, or after a comma the second."""
        second = "," in text
        if function == "get_param":
            yield from self._names("parameters", "Variable")
            yield from (Word(label=name, kind="Variable") for name in PSEUDO)
        elif function == "get_resource" or (function == "get_attr" and not second):
            yield from self._names("resources", "Class")
        elif function == "get_attr":
            yield from self._attributes(text.strip("[ ").partition(",")[0].strip(" \"'"))
        elif function == "get_file":
            yield from self._files(("",))
        elif function == "if" and not second:
            yield from self._names("conditions", "Variable")

    def _functions(self) -> Iterator[Word]:
        for name, about in self.functions().items():
            yield Word(label=name, about=about, kind="Function")

    def functions(self) -> Mapping[str, str]:
        """The functions of the template's version, with what each does."""
        version = self.outline.value(HOT)
        version = RELEASES.get(version, version)
        known = version if version in DIALECTS[HOT] else list(DIALECTS[HOT])[-1]
        found = languages.functions(f"{HOT}.{known}", with_conditions=True)
        return {str(one["functions"]): str(one["description"]) for one in found}

    def _types(self) -> Iterator[Word]:
        for name in self.registry.names():
            kind = self.registry.get(name)
            if kind is not None and "::" in name:
                yield Word(label=name, about=(kind.__doc__ or "").strip(), kind="Class")
        yield from self._files(SUFFIXES)

    def _files(self, endings: tuple[str, ...]) -> Iterator[Word]:
        for file in sorted(self.path.parent.glob("*")):
            if file.is_file() and file != self.path and file.name.endswith(endings):
                yield Word(label=file.name, kind="File")

    def _names(self, section: str, kind: str) -> Iterator[Word]:
        for name in self.outline.entries(section):
            yield Word(label=name, about=self.outline.value(section, name, "description"), kind=kind)

    def _attributes(self, resource: str) -> Iterator[Word]:
        kind = self.kind_of(resource)
        if isinstance(kind, TemplateType):
            yield from (
                Word(label=name, about=one.description, kind="Field") for name, one in kind.template.outputs.items()
            )
        elif kind is not None:
            for name, attribute in attributes_of(kind).items():
                yield Word(label=name, about=attribute.description, kind="Field")

    # --- types ------------------------------------------------------------------------------------------

    def kind_of(self, resource: str) -> ResourceType[Any] | None:
        return self.kind_named(self.outline.value("resources", resource, "type"))

    def kind_named(self, name: str) -> ResourceType[Any] | None:
        """Also a template that lies beside this one. None for what is no type, or cannot be read."""
        if not is_template_name(name):
            return self.registry.get(name)
        target = located(name, self.path.parent)
        try:
            kind = TemplateType(name, text_of(target.read_bytes())) if target is not None else None
            if kind is not None:
                kind.schema()
        except (OSError, CalorError):
            return None
        return kind

    def _schemas(self, path: tuple[str, ...]) -> Mapping[str, PropertySchema]:
        """The schemas at a path below a resource's properties."""
        kind = self.kind_of(path[1])
        found: Mapping[str, PropertySchema] = {} if kind is None else schema(kind)
        for part in path[3:]:
            one = found.get(part)
            if one is not None and one.kind is Kind.LIST and one.schema is not None:
                one = one.schema.get("*")
            found = (one.schema or {}) if one is not None else {}
        return found

    # --- what a word means ------------------------------------------------------------------------------

    def meaning(self, place: Place, word: str) -> str:
        """Markdown; empty for a word that says nothing here."""
        role = place.call or place.key or ""
        if role == "get_param" and word in self.outline.entries("parameters"):
            return f"```yaml\n{self.outline.block('parameters', word)}\n```"
        if role in ("get_resource", "get_attr", "depends_on") and word in self.outline.entries("resources"):
            name = self.outline.value("resources", word, "type")
            return about_type(name, self.kind_named(name))
        if "::" in word or is_template_name(word):
            return about_type(word, self.kind_named(word))
        if word in (functions := self.functions()):
            return f"**{word}** {functions[word]}"
        return self._key_meaning(place, word)

    def _key_meaning(self, place: Place, word: str) -> str:
        path = place.path
        if len(path) == 2 and word in KEYS.get(path[0], {}):
            return KEYS[path[0]][word]
        if len(path) >= 3 and path[0] == "resources" and path[2] == "properties":
            one = self._schemas(path).get(word)
            return "" if one is None else f"**{word}** ({one.kind.value}) {about_property(one)}"
        return ""

    # --- where it is defined ----------------------------------------------------------------------------

    def definition(self, place: Place, word: str) -> Target | None:
        role = place.call or place.key or ""
        sections = {
            "get_param": "parameters",
            "get_resource": "resources",
            "get_attr": "resources",
            "depends_on": "resources",
            "condition": "conditions",
            "if": "conditions",
        }
        hit = self.outline.entries(sections[role]).get(word) if role in sections else None
        if hit is not None:
            return Target(path=self.path, line=hit[0], column=hit[1])
        if role == "get_file" or (role == "type" and is_template_name(word)):
            target = located(word, self.path.parent)
            return Target(path=target) if target is not None and target.is_file() else None
        return None


def about_property(one: PropertySchema) -> str:
    words = [one.description.strip()] if one.description else []
    words += ["Required."] if one.required else []
    words += [f"Default: {one.default!r}."] if one.default is not None else []
    words += [
        f"One of {', '.join(map(str, rule.values))}." for rule in one.constraints if isinstance(rule, AllowedValues)
    ]
    words.append("Can be updated in place." if one.update_allowed else "A change replaces the resource.")
    return " ".join(words)


def about_type(name: str, kind: ResourceType[Any] | None) -> str:
    """Markdown: what it is, its properties, its attributes."""
    if kind is None:
        return ""
    about = kind.template.description if isinstance(kind, TemplateType) else (kind.__doc__ or "").strip()
    lines = [f"**{name}**", about, ""]
    lines += [f"- `{prop}` ({one.kind.value}) {about_property(one)}" for prop, one in schema(kind).items()]
    attributes = kind.template.outputs if isinstance(kind, TemplateType) else attributes_of(kind)
    if attributes:
        lines += ["", "Attributes: " + ", ".join(f"`{one}`" for one in sorted(attributes))]
    return "\n".join(lines)


def _choices(one: PropertySchema | None) -> Iterator[Word]:
    if one is None:
        return
    if one.kind is Kind.BOOLEAN:
        yield from (Word(label=name, kind="Constant") for name in ("true", "false"))
    for rule in one.constraints:
        if isinstance(rule, AllowedValues):
            yield from (Word(label=str(value), kind="Constant") for value in rule.values)
