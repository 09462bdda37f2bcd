"""A revision made ready for work: model, graph, types, and which attributes anybody asks for. Pure."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from calor.server.engine.revision.attribute_names import unknown_attributes
from calor.server.engine.revision.kinds import Kinds, schema
from calor.server.engine.revision.template_type import TemplateType
from calor.server.errors import InvalidInput, Problem
from calor.server.plan import Graph, build_graph
from calor.server.resources.base import Registry, ResourceType
from calor.server.resources.lookup import SERVICE
from calor.server.template import (
    DeletionPolicy,
    Model,
    NothingKnown,
    Pending,
    Reference,
    ResourceDefinition,
    Scope,
    convert,
    has_call,
    has_unknown,
    plain,
    references,
    resolve,
    unswept,
)
from calor.server.template.lookalikes import hint
from calor.server.template.nearest import did_you_mean


@dataclass(frozen=True)
class Uses:
    """How others use one resource: attribute paths, in the order found."""

    attributes: Mapping[tuple[Any, ...], None] = field(default_factory=dict)
    in_outputs: frozenset[tuple[Any, ...]] = frozenset()


Converted = tuple[Mapping[str, Any], Sequence[Problem], Sequence[Pending]]
"""Values, problems, constraints that only a cloud can check."""


@dataclass(frozen=True)
class Blueprint:
    """``kinds`` are the types of the resources, ``perhaps`` those of resources whose condition is not known yet;
    ``settled`` keeps the properties of those that depend on no other, once they are converted."""

    model: Model
    graph: Graph
    kinds: Mapping[str, ResourceType[Any]]
    uses: Mapping[str, Uses]
    files: Mapping[str, str]
    perhaps: Mapping[str, ResourceType[Any]] = field(default_factory=dict)
    settled: dict[str, Converted] = field(default_factory=dict, repr=False, compare=False)

    def definition(self, name: str) -> ResourceDefinition:
        return self.model.resources[name]

    def uses_of(self, name: str) -> Uses:
        return self.uses.get(name, _NO_USES)

    def properties(self, name: str, scope: Scope, was: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Converted, by the type's schema, without `Plain`; ``was``: what its incarnation was given.

        Raises `InvalidInput` and `StackValidationFailed`."""
        found = converted(self, name, scope, was)
        values, problems, _ = found
        if problems:
            raise InvalidInput(problems)
        return values if found is self.settled.get(name) else cast(Mapping[str, Any], plain(values))


_NO_USES = Uses()


@unswept()
def draw(model: Model, registry: Registry, files: Mapping[str, str], unknown: list[Problem] | None = None) -> Blueprint:
    """Raises `InvalidInput` for circular dependencies and for unknown types; or, with ``unknown``, puts both there and
    leaves these resources, or the order, out: so that what is wrong elsewhere can be told with them."""
    kinds = Kinds(registry, model.environment, files)
    found: dict[str, ResourceType[Any]] = {}
    problems: list[Problem] = []
    for name, definition in model.resources.items():
        kind = kinds.find(definition.type, name)
        if kind is None:
            problems.append(_unknown_type(model, name, definition.type, registry))
        else:
            found[name] = kind
    if problems and unknown is None:
        raise InvalidInput(problems)
    if unknown is not None:
        unknown.extend(problems)
    written = model.template.resources
    perhaps = {name: kinds.find(written[name].type, name) for name in model.undecided}
    return Blueprint(
        model,
        _ordered(model, _hidden(model, found), unknown),
        found,
        _uses(model),
        files,
        {name: kind for name, kind in perhaps.items() if kind is not None},
    )


def _ordered(model: Model, hidden: Mapping[str, frozenset[str]], unknown: list[Problem] | None) -> Graph:
    try:
        return build_graph(model, hidden)
    except InvalidInput as circle:
        if unknown is None:
            raise
        unknown.extend(circle.problems)
        return Graph({}, (), {})


def _unknown_type(model: Model, name: str, type_name: str, registry: Registry) -> Problem:
    message = f"The resource type {type_name!r} is not known{did_you_mean(type_name, registry.names(), most=2)}."
    path = model.template.path("resources", name, "type")
    return model.template.source.problem(message, path, value=True, code="unknown-type")


def _hidden(model: Model, kinds: Mapping[str, ResourceType[Any]]) -> Mapping[str, frozenset[str]]:
    others: dict[frozenset[str] | None, dict[str, tuple[str, Mapping[str, Any]]]] = {}
    hidden = {}
    for name, kind in kinds.items():
        if type(kind).hidden_dependencies is ResourceType.hidden_dependencies:
            continue
        wanted = kind.hidden_types
        if wanted not in others:
            others[wanted] = {
                other: (one.name, model.resources[other].properties)
                for other, one in kinds.items()
                if wanted is None or one.name in wanted
            }
        hidden[name] = kind.hidden_dependencies(model.resources[name].properties, others[wanted]) - {name}
    return hidden


def _uses(model: Model) -> Mapping[str, Uses]:
    found: dict[str, dict[tuple[Any, ...], None]] = {}
    outputs: dict[str, set[tuple[Any, ...]]] = {}
    for definition in model.resources.values():
        for tree in (definition.properties, definition.metadata):
            _note(references(tree), found)
    for output in model.outputs.values():
        uses = references(output.value)
        _note(uses, found)
        for use in uses:
            if use.path is not None:
                outputs.setdefault(use.resource, set()).add(tuple(use.path))
    return {name: Uses(paths, frozenset(outputs.get(name, ()))) for name, paths in found.items()}


def _note(uses: Sequence[Reference], found: dict[str, dict[tuple[Any, ...], None]]) -> None:
    for use in uses:
        if use.path is not None:
            found.setdefault(use.resource, {})[tuple(use.path)] = None


def converted(blueprint: Blueprint, name: str, scope: Scope, was: Mapping[str, Any] | None = None) -> Converted:
    """The properties of a resource by the schema of its type; they are shared, and nobody changes them. Where the
    template leaves to the operator's default what was chosen for an incarnation, ``was`` stands."""
    chosen = {one: was[one] for one in blueprint.kinds[name].set_by if was.get(one) is not None} if was else {}
    if chosen:
        return _converted(blueprint, name, scope, chosen)
    found = blueprint.settled.get(name)
    if found is None:
        found = _converted(blueprint, name, scope, chosen)
        if not has_call(blueprint.definition(name).properties):
            found = blueprint.settled[name] = (plain(found[0]), *found[1:])
    return found


def _converted(blueprint: Blueprint, name: str, scope: Scope, chosen: Mapping[str, Any]) -> Converted:
    definition, kind = blueprint.definition(name), blueprint.kinds[name]
    values = kind.translate(resolve(definition.properties, scope))
    if chosen:
        values = {**values, **{one: value for one, value in chosen.items() if values.get(one) is None}}
    if kind.any_properties:
        return plain(values), (), ()
    template = blueprint.model.template
    path = template.path("resources", name, "properties")
    meant = functools.partial(hint, template.language, template.version)
    result = convert(schema(kind), values, path=path, source=template.source, hint=meant)
    problems: Sequence[Problem] = result.problems
    if definition.external_id is not None:  # it exists: nothing is missing that would be needed to make it
        problems = [problem for problem in problems if problem.code != "missing-property"]
    return result.values, problems, result.pending


def _unfit_policy(blueprint: Blueprint, name: str, kind: ResourceType[Any]) -> Sequence[Problem]:
    policy = blueprint.definition(name).deletion_policy
    if not isinstance(policy, DeletionPolicy) or policy.value in kind.deletion_policies:
        return ()
    message = f"The deletion policy {policy.value!r} is not one of {', '.join(kind.deletion_policies)} for {kind.name}."
    template = blueprint.model.template
    path = template.path("resources", name, "deletion_policy")
    return [template.source.problem(message, path, value=True, code="deletion-policy")]


def _wrong_update_policy(blueprint: Blueprint, name: str, kind: ResourceType[Any]) -> Sequence[Problem]:
    """A template that is a type may ask for any policy of its resource (`resource_facade`)."""
    written = blueprint.definition(name).update_policy
    if not written or isinstance(kind, TemplateType):
        return ()
    template = blueprint.model.template
    path = template.path("resources", name, "update_policy")
    try:
        values = resolve(written, NothingKnown())
    except InvalidInput as error:
        return error.problems
    return convert(kind.update_policy, values, path=path, source=template.source).problems


def _unfit_metadata(
    blueprint: Blueprint, name: str, kind: ResourceType[Any], values: Mapping[str, Any]
) -> Sequence[Problem]:
    written = blueprint.definition(name).metadata
    why = kind.refuses_metadata(values, written) if isinstance(written, Mapping) else ""
    if not why:
        return ()
    template = blueprint.model.template
    return [template.source.problem(why, template.path("resources", name, "metadata"), code="resource-rule")]


def validate(blueprint: Blueprint) -> Sequence[Pending]:
    """Every property of every resource, as far as it is known before anything exists. Raises `InvalidInput` with all
    problems; answers what only a cloud can check."""
    problems, pending = examined(blueprint)
    if problems:
        raise InvalidInput(problems)
    return pending


@unswept()
def examined(blueprint: Blueprint) -> tuple[Sequence[Problem], Sequence[Pending]]:
    """What `validate` raises and what it answers."""
    nothing = NothingKnown()
    problems: list[Problem] = list(unknown_attributes(blueprint.model, blueprint.kinds))
    pending = list(blueprint.model.pending)
    template = blueprint.model.template
    source = template.source
    known: dict[str, Mapping[str, Any]] = {}
    for name, kind in blueprint.kinds.items():
        try:
            values, wrong, later = converted(blueprint, name, nothing)
        except InvalidInput as error:  # of the template that is its type
            problems.extend(error.problems)
            continue
        known[name] = values
        problems.extend(wrong)
        pending.extend(one for one in later if not has_unknown(one.value))
        if not wrong and blueprint.definition(name).external_id is None:
            path = template.path("resources", name, "properties")
            problems.extend(source.problem(text, path, code="resource-rule") for text in kind.validate(values))
            pending.extend(
                Pending(constraint=SERVICE, value=service, path=(*path, prop) if prop else path)
                for prop, service in kind.needs_services(values)
            )
        problems.extend(_unfit_policy(blueprint, name, kind))
        problems.extend(_unfit_metadata(blueprint, name, kind, values))
        problems.extend(_wrong_update_policy(blueprint, name, kind))
    problems.extend(_out_of_reach(blueprint, known))
    return problems, pending


def _out_of_reach(blueprint: Blueprint, known: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Software deployments to servers that no deployment ever reaches: Heat refuses them, too."""
    template = blueprint.model.template
    for name, kind in blueprint.kinds.items():
        written = blueprint.model.resources[name].properties
        for prop, server in kind.deploys_to(written) if isinstance(written, Mapping) else ():
            why = blueprint.kinds[server].takes_deployments(known[server]) if server in known else ""
            if why:
                path = template.path("resources", name, "properties", prop)
                yield template.source.problem(f"{server} takes no deployment; {why}.", path, code="resource-rule")
