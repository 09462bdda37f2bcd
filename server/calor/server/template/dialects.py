"""What differs between the template languages: names of sections and keys, versions, tables of functions."""

from collections.abc import Mapping
from dataclasses import dataclass

from calor.server.template.declarations import CFN_DECLARED, Declared, hot_declared
from calor.server.template.functions.versions import CFN_TABLES, HOT_TABLES, HOT_VERSIONS, Table

_POLICIES = {"Delete": "Delete", "Retain": "Retain", "Snapshot": "Snapshot"}
_RESOURCE = ("type", "properties", "metadata", "depends_on", "update_policy", "deletion_policy", "description")
_CFN_WORDS = {
    "type": "Type",
    "properties": "Properties",
    "metadata": "Metadata",
    "depends_on": "DependsOn",
    "update_policy": "UpdatePolicy",
    "deletion_policy": "DeletionPolicy",
    "description": "Description",
    "condition": "Condition",
    "value": "Value",
    "parameters": "Parameters",
    "resources": "Resources",
    "outputs": "Outputs",
    "conditions": "Conditions",
    "mappings": "Mappings",
}


@dataclass(frozen=True)
class Dialect:
    """One version of one language. Maps of words go from the model's name to the written one."""

    language: str
    version: str
    table: Table
    sections: Mapping[str, str]
    resource_keys: Mapping[str, str]
    output_keys: Mapping[str, str]
    declared: Declared
    deletion_policies: Mapping[str, str]
    pseudo: frozenset[str]
    refuses_unknown_keys: bool
    has_conditions: bool


def _hot(version: str) -> Dialect:
    conditional = version >= "2016-10-14"
    sections = ["description", "parameter_groups", "parameters", "resources", "outputs"]
    return Dialect(
        language="heat_template_version",
        version=version,
        table=HOT_TABLES[version],
        sections=_same([*sections, *(["conditions"] if conditional else [])]),
        resource_keys=_same([*_RESOURCE, *(["external_id", "condition"] if conditional else [])]),
        output_keys=_same(["description", "value", *(["condition"] if conditional else [])]),
        declared=hot_declared(version),
        deletion_policies={**_POLICIES, **({word.lower(): word for word in _POLICIES} if conditional else {})},
        pseudo=frozenset({"OS::stack_id", "OS::stack_name", "OS::project_id", "OS::region"}),
        refuses_unknown_keys=True,
        has_conditions=conditional,
    )


def _same(words: list[str]) -> dict[str, str]:
    return {word: word for word in words}


def _cfn(language: str, version: str, *, conditional: bool) -> Dialect:
    sections = ["description", "parameters", "mappings", "resources", "outputs"]
    return Dialect(
        language=language,
        version=version,
        table=CFN_TABLES[language, version],
        sections=_written([*sections, *(["conditions"] if conditional else [])]),
        resource_keys=_written([*_RESOURCE, *(["condition"] if conditional else [])]),
        output_keys=_written(["description", "value", *(["condition"] if conditional else [])]),
        declared=CFN_DECLARED,
        deletion_policies=_POLICIES,
        pseudo=frozenset({"AWS::StackId", "AWS::StackName", "AWS::Region"}),
        refuses_unknown_keys=False,
        has_conditions=conditional,
    )


def _written(words: list[str]) -> dict[str, str]:
    return {word: _CFN_WORDS[word] for word in words}


RELEASES: Mapping[str, str] = {release: version for version, release in HOT_VERSIONS.items() if release}
DIALECTS: Mapping[str, Mapping[str, Dialect]] = {
    "heat_template_version": {version: _hot(version) for version in HOT_VERSIONS},
    "AWSTemplateFormatVersion": {"2010-09-09": _cfn("AWSTemplateFormatVersion", "2010-09-09", conditional=True)},
    "HeatTemplateFormatVersion": {"2012-12-12": _cfn("HeatTemplateFormatVersion", "2012-12-12", conditional=False)},
}
"""By version key, then by version. A third party's language is one entry more."""
