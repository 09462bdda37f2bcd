"""Text → model: templates, environments, parameters, functions, conditions, property schemas. Pure.

template = parse_template(text, file="web.yaml")
environment = merge_environments([parse_environment(text, file="env.yaml")])
model = bind(template, environment, given, pseudo=Pseudo(stack_id=…, …), files=files)
for use in references(model.resources["web"].properties): …   # pre-fetch what the scope must answer
values = resolve(model.resources["web"].properties, scope)
converted = convert(schemas, values, path=("resources", "web", "properties"), source=model.template.source)
"""

from calor.server.template.binding import bind
from calor.server.template.conversion import Conversion, convert
from calor.server.template.environment import HOOKS, Environment, parse_environment
from calor.server.template.evaluation import references, resolve
from calor.server.template.functions.base import has_call
from calor.server.template.functions.lookups import select
from calor.server.template.language import Limits, parse_template
from calor.server.template.merging import merge_environments, merge_for
from calor.server.template.model import (
    DeletionPolicy,
    Model,
    NothingKnown,
    Origin,
    OutputDefinition,
    Parameter,
    ParameterConstraint,
    ParameterGroup,
    ParameterKind,
    ParameterSchema,
    Pending,
    Pseudo,
    Reference,
    ResourceDefinition,
    Scope,
    Template,
)
from calor.server.template.parameters import immutable_changes
from calor.server.template.stages import told_together
from calor.server.template.sweeps import unswept
from calor.server.template.values import (
    UNKNOWN,
    Plain,
    Secret,
    Unknown,
    has_secret,
    has_unknown,
    mask,
    plain,
    reveal,
    secret_leaves,
)

__all__ = [
    "HOOKS",
    "UNKNOWN",
    "Conversion",
    "DeletionPolicy",
    "Environment",
    "Limits",
    "Model",
    "NothingKnown",
    "Origin",
    "OutputDefinition",
    "Parameter",
    "ParameterConstraint",
    "ParameterGroup",
    "ParameterKind",
    "ParameterSchema",
    "Pending",
    "Plain",
    "Pseudo",
    "Reference",
    "ResourceDefinition",
    "Scope",
    "Secret",
    "Template",
    "Unknown",
    "bind",
    "convert",
    "has_call",
    "has_secret",
    "has_unknown",
    "immutable_changes",
    "mask",
    "merge_environments",
    "merge_for",
    "parse_environment",
    "parse_template",
    "plain",
    "references",
    "resolve",
    "reveal",
    "secret_leaves",
    "select",
    "told_together",
    "unswept",
]
