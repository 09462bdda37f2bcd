"""Which function a template version knows under which name: tables by date, no chain of classes.

Built-ins and a third party's functions go the same way: a `Table` is made of entries, and `extended` adds some.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from calor.server.template.functions import cfn, containers, expressions, logic, lookups, substitution, text
from calor.server.template.functions.base import Function

Kind = type[Function]


@dataclass(frozen=True)
class Entry:
    """From ``since`` on, ``name`` means ``kind``; a kind of None removes it (using it is an error)."""

    name: str
    since: str
    kind: Kind | None


HOT: tuple[Entry, ...] = (
    Entry("get_param", "2013-05-23", lookups.GetParam),
    Entry("get_resource", "2013-05-23", lookups.GetResource),
    Entry("get_attr", "2013-05-23", lookups.GetAttrSelect),
    Entry("get_attr", "2014-10-16", lookups.GetAttr),
    Entry("get_attr", "2015-10-15", lookups.GetAttrAll),
    Entry("get_file", "2013-05-23", lookups.GetFile),
    Entry("resource_facade", "2013-05-23", lookups.ResourceFacade),
    Entry("list_join", "2013-05-23", text.Join),
    Entry("list_join", "2015-10-15", text.JoinMany),
    Entry("str_replace", "2013-05-23", text.Replace),
    Entry("str_replace", "2015-10-15", text.ReplaceJson),
    Entry("str_replace_strict", "2017-02-24", text.ReplaceStrict),
    Entry("str_replace_vstrict", "2017-09-01", text.ReplaceVeryStrict),
    Entry("str_split", "2015-10-15", text.Split),
    Entry("digest", "2015-04-30", text.Digest),
    Entry("make_url", "2017-09-01", text.MakeUrl),
    Entry("repeat", "2015-04-30", containers.Repeat),
    Entry("repeat", "2016-10-14", containers.RepeatMaps),
    Entry("repeat", "2017-09-01", containers.RepeatPermutations),
    Entry("map_merge", "2016-04-08", containers.MapMerge),
    Entry("map_replace", "2016-10-14", containers.MapReplace),
    Entry("list_concat", "2017-09-01", containers.ListConcat),
    Entry("list_concat_unique", "2017-09-01", containers.ListConcatUnique),
    Entry("filter", "2017-02-24", containers.Filter),
    Entry("contains", "2017-09-01", containers.Contains),
    Entry("yaql", "2016-10-14", expressions.Yaql),
    Entry("if", "2016-10-14", logic.If),
    Entry("if", "2021-04-16", logic.IfOptional),
    Entry("Ref", "2013-05-23", cfn.Ref),
    Entry("Ref", "2014-10-16", None),
    Entry("Fn::Select", "2013-05-23", cfn.Select),
    Entry("Fn::Select", "2015-10-15", None),
    Entry("Fn::Join", "2013-05-23", text.Join),
    Entry("Fn::Join", "2014-10-16", None),
    Entry("Fn::Split", "2013-05-23", cfn.CfnSplit),
    Entry("Fn::Split", "2014-10-16", None),
    Entry("Fn::Replace", "2013-05-23", cfn.CfnReplace),
    Entry("Fn::Replace", "2014-10-16", None),
    Entry("Fn::Base64", "2013-05-23", cfn.Base64),
    Entry("Fn::Base64", "2014-10-16", None),
    Entry("Fn::GetAZs", "2013-05-23", cfn.GetAZs),
    Entry("Fn::GetAZs", "2014-10-16", None),
    Entry("Fn::MemberListToMap", "2013-05-23", cfn.MemberListToMap),
    Entry("Fn::MemberListToMap", "2014-10-16", None),
    Entry("Fn::ResourceFacade", "2013-05-23", lookups.CfnResourceFacade),
    Entry("Fn::ResourceFacade", "2014-10-16", None),
)

HOT_CONDITIONS: tuple[Entry, ...] = (
    Entry("get_param", "2016-10-14", lookups.GetParam),
    Entry("equals", "2016-10-14", logic.Equals),
    Entry("not", "2016-10-14", logic.Not),
    Entry("and", "2016-10-14", logic.All),
    Entry("or", "2016-10-14", logic.Either),
    Entry("contains", "2017-09-01", containers.Contains),
    Entry("yaql", "2017-09-01", expressions.Yaql),
)

_CFN_VERSION = "2010-09-09"
CFN: tuple[Entry, ...] = tuple(
    Entry(name, _CFN_VERSION, kind)
    for name, kind in {
        "Ref": cfn.Ref,
        "Fn::GetAtt": cfn.GetAtt,
        "Fn::FindInMap": cfn.FindInMap,
        "Fn::Select": cfn.Select,
        "Fn::Join": text.Join,
        "Fn::Split": cfn.CfnSplit,
        "Fn::Replace": cfn.CfnReplace,
        "Fn::Base64": cfn.Base64,
        "Fn::GetAZs": cfn.GetAZs,
        "Fn::MemberListToMap": cfn.MemberListToMap,
        "Fn::ResourceFacade": lookups.CfnResourceFacade,
        "Fn::Sub": substitution.Sub,
    }.items()
)
CFN_IF = Entry("Fn::If", _CFN_VERSION, logic.If)
CFN_CONDITIONS: tuple[Entry, ...] = (
    Entry("Ref", _CFN_VERSION, cfn.ParamRef),
    Entry("Fn::Equals", _CFN_VERSION, logic.Equals),
    Entry("Fn::And", _CFN_VERSION, logic.All),
    Entry("Fn::Or", _CFN_VERSION, logic.Either),
    Entry("Fn::Not", _CFN_VERSION, logic.NotOfList),
    Entry("Fn::FindInMap", _CFN_VERSION, cfn.FindInMap),
)

HOT_VERSIONS: Mapping[str, str] = {
    "2013-05-23": "",
    "2014-10-16": "",
    "2015-04-30": "",
    "2015-10-15": "",
    "2016-04-08": "",
    "2016-10-14": "newton",
    "2017-02-24": "ocata",
    "2017-09-01": "pike",
    "2018-03-02": "queens",
    "2018-08-31": "rocky",
    "2021-04-16": "wallaby",
}
"""Each version by its date, with its release name."""


@dataclass(frozen=True)
class Table:
    """The functions of one version: in values, in conditions, and those that are no longer there."""

    functions: Mapping[str, Kind]
    conditions: Mapping[str, Kind]
    removed: frozenset[str] = field(default=frozenset())

    def extended(self, functions: Mapping[str, Kind]) -> "Table":
        """The same with a third party's functions."""
        return replace(self, functions={**self.functions, **functions})


def table(entries: Sequence[Entry], conditions: Sequence[Entry], version: str) -> Table:
    """The entries that hold at a version: of each name the newest that is not newer than it."""
    now, then = _current(entries, version), _current(conditions, version)
    return Table(
        {name: kind for name, kind in now.items() if kind},
        {name: kind for name, kind in then.items() if kind},
        frozenset(name for name, kind in now.items() if kind is None),
    )


def _current(entries: Sequence[Entry], version: str) -> dict[str, Kind | None]:
    return {
        entry.name: entry.kind for entry in sorted(entries, key=lambda entry: entry.since) if entry.since <= version
    }


HOT_TABLES: Mapping[str, Table] = {version: table(HOT, HOT_CONDITIONS, version) for version in HOT_VERSIONS}
CFN_TABLES: Mapping[tuple[str, str], Table] = {
    ("AWSTemplateFormatVersion", _CFN_VERSION): table((*CFN, CFN_IF), CFN_CONDITIONS, _CFN_VERSION),
    ("HeatTemplateFormatVersion", "2012-12-12"): table(CFN, (), "2012-12-12"),
}
