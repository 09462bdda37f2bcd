"""Template + environment + given values → model."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from calor.server.errors import InvalidInput, Problem
from calor.server.template import parameters
from calor.server.template.conditions import Conditions
from calor.server.template.environment import Environment
from calor.server.template.functions.base import Broken, Evaluation, Function, Misread, Undecided
from calor.server.template.model import (
    DeletionPolicy,
    Model,
    Origin,
    OutputDefinition,
    Parameter,
    ParameterSchema,
    Pseudo,
    ResourceDefinition,
    Template,
)
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Faults
from calor.server.template.sweeps import unswept
from calor.server.template.trees import names_attribute
from calor.server.template.unread import AnyName, AnyValue
from calor.server.template.values import ABSENT, UNKNOWN, Plain, reveal

_CFN_REGION = "ap-southeast-1"  # what Heat shows where no region is configured

WRONG: Mapping[Origin, str] = {
    Origin.GIVEN: "has a wrong value",
    Origin.ENVIRONMENT: "has a wrong value in the environment",
    Origin.PARAMETER_DEFAULTS: "has a wrong value in the environment's parameter_defaults",
    Origin.DEFAULT: "has a wrong default",
}
"""What is said of a parameter, by where its value is from."""


@unswept()
def bind(
    template: Template,
    environment: Environment | None = None,
    given: Mapping[str, Any] | None = None,
    *,
    pseudo: Pseudo | None = None,
    files: Mapping[str, str] | None = None,
    allow_missing: bool = False,
    ignore_unknown: bool = False,
    stored: bool = False,
    later: bool = False,
    faults: list[Problem] | None = None,
) -> Model:
    """Resolve the parameters, evaluate the conditions, drop what they disable, evaluate what needs no resource.

    ``given`` (the request's parameters) wins over the environment's. ``allow_missing`` is for ``template
    validate``: parameters without a value are UNKNOWN. ``ignore_unknown`` is for nested templates, whose
    environment holds parameters of others. ``stored`` is for a template that a stack has already, whose hidden
    default may be the mask itself. ``later``: what a condition depends on may be known later only (in a nested
    template), and its resources are undecided. ``faults`` takes what is wrong where the rest can be judged without it;
    those values are UNKNOWN then. Raises `InvalidInput` with all problems.
    """
    binder = _Binder(template, environment or Environment(), given or {}, pseudo or Pseudo(), files or {})
    binder.stored, binder.told, binder.allow_missing, binder.later = stored, faults, allow_missing, later
    return binder.bind(ignore_unknown=ignore_unknown)


class _Binder:
    def __init__(
        self,
        template: Template,
        environment: Environment,
        given: Mapping[str, Any],
        pseudo: Pseudo,
        files: Mapping[str, str],
    ) -> None:
        self.template = template
        self.environment = environment
        self.given = given
        self.pseudo = pseudo
        self.files = files
        self.faults = Faults(template.source)
        self.faults.extend((*template.faults, *environment.faults))
        self.stored = False
        self.told: list[Problem] | None = None
        self.allow_missing = False
        self.later = False

    def bind(self, *, ignore_unknown: bool) -> Model:
        values = self._parameters(ignore_unknown=ignore_unknown)
        self._tell()
        known: dict[str, Any] = {name: parameter.value for name, parameter in values.items()}
        if isinstance(self.template.names.parameters, AnyName):
            known = AnyValue(known)
        conditions = Conditions(self.template)
        at = Evaluation(
            parameters=known,
            condition=conditions.value,
            files=self.files,
            facade=self.pseudo.facade,
            zones=self.pseudo.availability_zones,
            mappings=self.template.mappings,
        )
        conditions.at = at
        outcomes = self._guarded(conditions.all_values) or {}
        enabled = {name: self._enabled(item, at, conditions) for name, item in self.template.resources.items()}
        at.disabled = frozenset(name for name, on in enabled.items() if on is False)
        undecided = frozenset(name for name, on in enabled.items() if on is None)
        resources = {name: self._resource(item, at) for name, item in self.template.resources.items() if enabled[name]}
        outputs = {
            name: self._output(item, at)
            for name, item in self.template.outputs.items()
            if self._enabled(item, at, conditions)
        }
        self._tell(last=True)
        return Model(
            template=self.template,
            environment=self.environment,
            parameters=values,
            conditions=outcomes,
            resources=resources,
            outputs=outputs,
            disabled=at.disabled,
            undecided=undecided,
            pending=tuple(entry for parameter in values.values() for entry in parameters.pending(parameter)),
            warnings=(*self.template.warnings, *self.environment.warnings),
        )

    def _tell(self, *, last: bool = False) -> None:
        """Raise what was found, unless somebody takes it together with what is found in the rest."""
        if self.told is None:
            self.faults.raise_any()
        elif last:
            self.told.extend(self.faults.problems)

    # --- parameters -------------------------------------------------------------------------------------

    def _parameters(self, *, ignore_unknown: bool) -> dict[str, Parameter]:
        schemas = self.template.parameters
        if not ignore_unknown and not isinstance(self.template.names.parameters, AnyName):
            for name in dict.fromkeys([*self.given, *self.environment.parameters]):
                if name not in schemas:
                    message = f"The template has no parameter {name!r}{did_you_mean(name, schemas)}."
                    self.faults.extend([Problem(message=message, path=f"parameters.{name}", code="unknown-parameter")])
        encrypted = frozenset(self.environment.encrypted_param_names)
        found = dict(self._pseudo())
        for name, schema in schemas.items():
            value, origin = self._choose(schema)
            hidden = parameters.is_hidden(schema, encrypted)
            if value is None:
                if not self.allow_missing:
                    self._missing(schema)
                value = UNKNOWN
            unknown = replace(parameters.effective(schema, UNKNOWN, origin, hidden=hidden), written=value)
            is_sound = self._check_default(schema)
            try:
                found[name] = parameters.effective(schema, value, origin, hidden=hidden)
            except parameters.BadValue as bad:
                found[name] = unknown
                if is_sound or origin is not Origin.DEFAULT:
                    message = f"The parameter {name!r} {WRONG[origin]}: {bad}."
                    self.faults.add(message, self.template.path("parameters", name), code="parameter-value")
        return found

    def _choose(self, schema: ParameterSchema) -> tuple[Any, Origin]:
        if schema.is_broken:
            return UNKNOWN, Origin.DEFAULT
        for values, origin in (
            (self.given, Origin.GIVEN),
            (self.environment.parameters, Origin.ENVIRONMENT),
            (self.environment.parameter_defaults, Origin.PARAMETER_DEFAULTS),
        ):
            if values.get(schema.name) is not None:
                return values[schema.name], origin
        return (schema.default if self._has_default(schema) else None), Origin.DEFAULT

    def _has_default(self, schema: ParameterSchema) -> bool:
        """A template that was shown has the mask where a hidden default was; that value is not in it (F164)."""
        return schema.has_default and (self.stored or not parameters.is_masked(schema))

    def _missing(self, schema: ParameterSchema) -> None:
        if parameters.is_masked(schema):
            message = (
                f"parameters.{schema.name}.default is the mask that hidden values are shown as; "
                f"give the value of {schema.name!r}."
            )
        else:
            message = f"The parameter {schema.name!r} was not given a value and has no default."
        self.faults.add(message, self.template.path("parameters", schema.name), code="missing-parameter")

    def _check_default(self, schema: ParameterSchema) -> bool:
        """Whether the default fits the constraints, which it must even where another value is used."""
        if not self._has_default(schema):
            return True
        try:
            parameters.check_default(schema)
        except parameters.BadValue as bad:
            text = "it does not fit the constraints" if schema.hidden else str(bad)
            self.faults.add(
                f"The default of the parameter {schema.name!r} is wrong: {text}.",
                self.template.path("parameters", schema.name),
                code="parameter-default",
            )
            return False
        return True

    def _pseudo(self) -> Iterator[tuple[str, Parameter]]:
        facts = self.pseudo
        arn = f"arn:openstack:heat::{facts.project_id}:stacks/{facts.stack_name}/{facts.stack_id}"
        values: Mapping[str, str | None]
        if self.template.language == "heat_template_version":
            values = {
                "OS::stack_id": facts.stack_id,
                "OS::stack_name": facts.stack_name,
                "OS::project_id": facts.project_id,
                "OS::region": facts.region,
            }
        else:
            values = {
                "AWS::StackId": arn,
                "AWS::StackName": facts.stack_name,
                "AWS::Region": facts.region or _CFN_REGION,
            }
        for name, value in values.items():
            if value is not None:
                yield name, Parameter(name=name, value=value, shown=value, origin=Origin.PSEUDO)

    # --- resources and outputs --------------------------------------------------------------------------

    def _guarded(self, compute: Callable[[], Any]) -> Any:
        """The result, or None with the faults collected."""
        try:
            return compute()
        except InvalidInput as error:
            self.faults.extend(error.problems)
            return None

    def _enabled(
        self, item: ResourceDefinition | OutputDefinition, at: Evaluation, conditions: Conditions
    ) -> bool | None:
        """None where that cannot be said, or the definition itself is wrong."""
        if isinstance(item, ResourceDefinition) and not item.type:
            return None
        if item.condition is None:
            return True
        section = "resources" if isinstance(item, ResourceDefinition) else "outputs"
        path = self.template.path(section, item.name)
        try:
            return cast(bool | None, self._guarded(lambda: conditions.check(item.condition, at, path)))
        except Undecided:
            if not self.later and not self.faults.problems:  # else that follows from what was told
                text = "Wrong condition: a condition must be known before anything is created."
                self.faults.add(text, path, code="condition")
            return None

    def _resource(self, item: ResourceDefinition, at: Evaluation) -> ResourceDefinition:
        return replace(
            item,
            properties=self._map(item.properties, at),
            metadata=self._map(item.metadata, at),
            update_policy=self._map(item.update_policy, at),
            deletion_policy=self._policy(item, at),
            external_id=self._external_id(item, at),
            depends_on=tuple(name for name in item.depends_on if name not in at.disabled),
        )

    def _map(self, tree: Any, at: Evaluation) -> Any:
        before = len(self.faults.problems)
        value = self._guarded(lambda: at.value(tree))
        if isinstance(value, Function | Mapping):
            return value
        if len(self.faults.problems) > before and isinstance(tree, Mapping):
            return self._readable(tree, at)
        if value is not None and value is not UNKNOWN and isinstance(tree, Function):
            self.faults.extend(tree.fault("a map is wanted here.").problems)
        return {}

    def _readable(self, tree: Mapping[Any, Any], at: Evaluation) -> Mapping[Any, Any]:
        """The map without what its wrong values would be."""
        found: dict[Any, Any] = {}
        for key, part in tree.items():
            try:
                found |= at.value({key: part})
            except InvalidInput:
                found[key] = UNKNOWN
        return found

    def _policy(self, item: ResourceDefinition, at: Evaluation) -> DeletionPolicy:
        if item.external_id is not None:
            return DeletionPolicy.RETAIN  # it was there before the stack, and stays
        if isinstance(item.deletion_policy, DeletionPolicy):
            return item.deletion_policy
        value = self._guarded(lambda: reveal(at.value(item.deletion_policy)))
        if value is None:
            return DeletionPolicy.DELETE
        try:
            return DeletionPolicy(str(value).capitalize())
        except ValueError:
            message = f"The deletion policy is Delete, Retain or Snapshot, not {value!r}."
            self.faults.add(message, self.template.path("resources", item.name), code="deletion-policy")
            return DeletionPolicy.DELETE

    def _external_id(self, item: ResourceDefinition, at: Evaluation) -> Any:
        value = self._guarded(lambda: at.value(item.external_id))
        if value is not None and item.depends_on:
            message = "A resource with an external id is there already: it cannot depend on others."
            self.faults.add(message, self.template.path("resources", item.name, "depends_on"), code="external-id")
        return value.text if isinstance(value, Plain) else value

    def _output(self, item: OutputDefinition, at: Evaluation) -> OutputDefinition:
        """An output that cannot be evaluated shows its error when it is asked for: what is wrong with the template
        itself stops the stack, what is wrong with values does not."""
        try:
            value = at.value(item.value)
        except InvalidInput as error:
            as_read = isinstance(error, Misread)
            self.faults.extend([one for one in error.problems if _is_told(one, as_read=as_read)])
            value = Broken(error)
        return replace(item, value=None if value is ABSENT else value)


def _is_told(problem: Problem, *, as_read: bool) -> bool:
    """Whether a fault in an output's value is one of the template. Heat looks up what `get_resource` and `get_param`
    name, and checks what a function computes with, when the output is shown; the rest, and conditions, at once."""
    if problem.path.lower().startswith("conditions."):
        return True
    is_name = problem.code == "function-arguments" and problem.path.endswith((".get_resource", ".Ref"))
    is_late = not (as_read or is_name) or problem.code in ("unknown-resource", "unknown-parameter")
    return not is_late or problem.code == "unknown-condition" or names_attribute(problem.path)
