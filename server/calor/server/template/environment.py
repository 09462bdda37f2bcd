"""Environments: parameters, defaults, the resource registry, hooks; several merged in order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from calor.server.errors import Problem
from calor.server.template.nearest import did_you_mean
from calor.server.template.reader import Limits, read_or_take
from calor.server.template.source import Faults, Path
from calor.server.template.values import plain, shape

HOOKS = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")
RESTRICTED = ("update", "replace")
STRATEGIES = ("overwrite", "merge", "deep_merge")
SECTIONS = (
    "parameters",
    "parameter_defaults",
    "parameter_merge_strategies",
    "resource_registry",
    "encrypted_param_names",
    "event_sinks",
)
_FLAT_SECTIONS = frozenset(SECTIONS) - {"parameters", "parameter_merge_strategies"}
_RESERVED = frozenset({"resources", "base_url", "hooks", "restricted_actions"})


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment, or several merged. ``resource_registry`` is the plain map as written. ``allowed`` are resources
    (``PARENT/NAME`` for nested ones) that may be replaced whatever the registry says: no part of what users write.
    ``faults`` are of one that was read leniently: whoever binds it tells them."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Any] = field(default_factory=dict)
    parameter_merge_strategies: Mapping[str, str] = field(default_factory=dict)
    resource_registry: Mapping[str, Any] = field(default_factory=dict)
    encrypted_param_names: tuple[str, ...] = ()
    event_sinks: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[Problem, ...] = ()
    faults: tuple[Problem, ...] = ()
    allowed: tuple[str, ...] = ()
    file: str = ""

    def raw(self) -> dict[str, Any]:
        """The plain mapping that ``environment show`` gives (hidden parameters are the caller's to mask)."""
        return {
            "parameters": plain(self.parameters),
            "parameter_defaults": plain(self.parameter_defaults),
            "resource_registry": {"resources": {}, **plain(self.resource_registry)},
            "encrypted_param_names": list(self.encrypted_param_names),
            "event_sinks": [dict(sink) for sink in self.event_sinks],
        }

    def type_of(self, resource_type: str, resource_name: str = "") -> str:
        """What the registry maps a type to: another type or a template's file name. Itself where nothing maps it.

        A mapping of the resource by its exact name wins over the general ones, a literal one over a pattern. A pattern
        stands among the general ones only and leads to types, never to a file, as in Heat. Mappings are followed
        until nothing maps the result any more.
        """
        seen = {resource_type}
        own = self.resource_registry.get("resources", {}).get(resource_name, {})
        found = resource_type
        while True:
            mapped = _direct(found, own) or _mapped(found, self.resource_registry)
            if mapped is None or mapped in seen or is_file(found):
                return found
            seen.add(mapped)
            found = mapped

    def hooks(self, resource_name: str) -> frozenset[str]:
        """``pre-create`` … that are set for a resource; ``*`` patterns match names."""
        return frozenset(self._facts(resource_name, "hooks"))

    def restricted_actions(self, resource_name: str) -> frozenset[str]:
        """Of ``update``, ``replace``."""
        found = frozenset(self._facts(resource_name, "restricted_actions"))
        return found - {"replace"} if resource_name in self.allowed else found

    def nested(self, resource_name: str) -> "Environment":
        """The environment of a child stack: registry part below ``resources.NAME`` moved up, no parameters."""
        registry = dict(self.resource_registry)
        entries = registry.pop("resources", {})
        inner = entries.get(resource_name, {}) if isinstance(entries, Mapping) else {}
        below = {key: value for key, value in inner.items() if key not in ("hooks", "restricted_actions")}
        resources = {
            **{key: value for key, value in entries.items() if "*" in key},
            **{key: value for key, value in below.items() if isinstance(value, Mapping)},
            **(below.pop("resources", None) or {}),
        }
        registry.update({key: value for key, value in below.items() if not isinstance(value, Mapping)})
        if resources:
            registry["resources"] = resources
        return Environment(
            parameter_defaults=self.parameter_defaults,
            resource_registry=registry,
            event_sinks=self.event_sinks,
            allowed=self.allowed_below(resource_name),
            file=self.file,
        )

    def allowed_below(self, resource_name: str) -> tuple[str, ...]:
        """``allowed`` as the child stack of a resource has it."""
        return tuple(
            rest for one in self.allowed for name, _, rest in (one.partition("/"),) if rest and name == resource_name
        )

    def _facts(self, resource_name: str, key: str) -> Iterator[str]:
        for pattern, entry in self.resource_registry.get("resources", {}).items():
            if isinstance(entry, Mapping) and fnmatchcase(resource_name, str(pattern)):
                yield from _texts(entry.get(key))


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def is_file(name: str) -> bool:
    """Whether the name of a type is that of a template file."""
    return name.endswith((".yaml", ".template"))


def _direct(name: str, registry: Mapping[str, Any]) -> str | None:
    found = registry.get(name)
    return found if isinstance(found, str) and name not in _RESERVED else None


def _mapped(name: str, registry: Mapping[str, Any]) -> str | None:
    """What one level of a registry maps a type to. ``My::*: OS::*`` keeps what stands for the star."""
    direct = _direct(name, registry)
    if direct is not None:
        return direct
    best: tuple[int, str] | None = None
    for pattern, target in registry.items():
        if not pattern.endswith("*") or not isinstance(target, str) or not name.startswith(pattern[:-1]):
            continue
        if is_file(target):
            continue
        rest = name[len(pattern) - 1 :]
        found = target[:-1] + rest if target.endswith("*") else target
        if best is None or len(pattern) > best[0]:
            best = (len(pattern), found)
    return best[1] if best else None


def parse_environment(
    text: str | Mapping[str, Any] | None,
    *,
    file: str = "environment",
    limits: Limits | None = None,
    lenient: bool = False,
) -> Environment:
    """Read one environment. Raises `InvalidInput` with all its problems; ``lenient``: where it is no map at all, and
    else they are its ``faults``.

    A section that is not known is one in a text, and nothing but a warning in a mapping; a mapping without
    ``parameters`` is one of parameters beside the sections that it has, as in Heat.
    """
    root, faults, warnings = read_or_take(
        text if text is not None else {}, file=file, limits=limits or Limits(), strict=False, what="environment"
    )
    is_text = isinstance(text, str)
    stray = tuple(_stray(root, faults))
    if is_text:
        faults.extend(stray)
    elif "parameters" not in root:
        flat = {key: value for key, value in root.items() if key not in SECTIONS}
        root = {**{key: value for key, value in root.items() if key in SECTIONS}, "parameters": flat}
    if root.get("parameters", {}) is None:
        faults.add("The section 'parameters' is empty: write {} for none.", ("parameters",), code="environment-section")
    strategies = _section(root, "parameter_merge_strategies", faults)
    registry = _section(root, "resource_registry", faults)
    _check_registry(registry, ("resource_registry",), faults)
    environment = Environment(
        parameters=dict(_section(root, "parameters", faults)),
        parameter_defaults=dict(_section(root, "parameter_defaults", faults)),
        parameter_merge_strategies=plain(strategies),
        resource_registry=_with_maps(plain(registry)),
        encrypted_param_names=tuple(_list(root, "encrypted_param_names", faults)),
        event_sinks=tuple(_list(root, "event_sinks", faults)),
        warnings=(*warnings, *(() if is_text else stray), *_odd_strategies(strategies, faults)),
        file=file,
    )
    if not lenient:
        faults.raise_any()
    return replace(environment, faults=tuple(faults.problems))


def _section(root: Mapping[str, Any], name: str, faults: Faults) -> Mapping[str, Any]:
    value = root.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        faults.add(f"The section {name!r} must be a map, not {shape(value)}.", (name,), code="environment-section")
        return {}
    return value


def _list(root: Mapping[str, Any], name: str, faults: Faults) -> list[Any]:
    value = root.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        faults.add(f"The section {name!r} must be a list, not {shape(value)}.", (name,), code="environment-section")
        return []
    return list(plain(value))


def _stray(root: Mapping[str, Any], faults: Faults) -> Iterator[Problem]:
    for key in root:
        if key not in SECTIONS:
            near = did_you_mean(str(key), SECTIONS)
            yield faults.source.problem(f"An environment has no section {key!r}{near}.", (key,), code="unknown-section")


def _odd_strategies(strategies: Mapping[str, Any], faults: Faults) -> Iterator[Problem]:
    """A strategy that is none means "overwrite", as in Heat; the user is told."""
    for name, strategy in strategies.items():
        if strategy not in STRATEGIES:
            message = f"A merge strategy is one of {', '.join(STRATEGIES)}; {plain(strategy)!r} is read as overwrite."
            yield faults.source.problem(message, ("parameter_merge_strategies", name), code="merge-strategy")


def _check_registry(registry: Mapping[str, Any], path: Path, faults: Faults) -> None:
    for name, entry in registry.items():
        here = (*path, name)
        if name == "resources":
            _check_resources(entry, here, faults)
        elif name == "hooks":
            _check_words(entry, HOOKS, "hook", here, faults)
        elif name == "restricted_actions":
            _check_words(entry, RESTRICTED, "restricted action", here, faults)
        elif isinstance(entry, Mapping):
            _check_registry(entry, here, faults)
        elif entry is not None and not isinstance(entry, str):
            faults.add(
                f"A type is mapped to a type or a file name, not to {shape(plain(entry))}.",
                here,
                code="resource-registry",
            )


def _check_resources(entry: Any, path: Path, faults: Faults) -> None:
    if entry is not None and not isinstance(entry, Mapping):
        faults.add(f"'resources' must be a map, not {shape(plain(entry))}.", path, code="resource-registry")
    for resource, inner in entry.items() if isinstance(entry, Mapping) else ():
        if isinstance(inner, Mapping):
            _check_registry(inner, (*path, resource), faults)
        elif inner is not None:
            what = f"What is said of a resource must be a map, not {shape(plain(inner))}."
            faults.add(what, (*path, resource), code="resource-registry")


def _with_maps(registry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A registry without what should be maps of resources and is none, at all levels."""
    found = dict(registry)
    if "resources" in found:
        entries = found["resources"] if isinstance(found["resources"], Mapping) else {}
        maps = {name: inner for name, inner in entries.items() if isinstance(inner, Mapping)}
        found["resources"] = {name: _with_maps(inner) for name, inner in maps.items()}
    return found


def _check_words(entry: Any, known: Sequence[str], what: str, path: Path, faults: Faults) -> None:
    if entry is None:
        return
    for word in entry if isinstance(entry, list) else [entry]:
        if word not in known:
            near = did_you_mean(str(word), known)
            faults.add(
                f"A {what} is one of {', '.join(known)}, not {plain(word)!r}{near}.", path, code="resource-registry"
            )
