"""Resource and output definitions of both languages → the model's."""

from collections.abc import Mapping
from typing import Any

from calor.server.template.dialects import Dialect
from calor.server.template.functions.base import Function
from calor.server.template.model import DeletionPolicy, OutputDefinition, ResourceDefinition
from calor.server.template.nearest import did_you_mean, meant
from calor.server.template.source import Faults, Path
from calor.server.template.trees import TreeParser
from calor.server.template.unread import AnyName
from calor.server.template.values import Plain, shape

_LONGEST_NAME = 255


def parse_resources(
    section: Mapping[Any, Any], dialect: Dialect, trees: TreeParser, faults: Faults
) -> dict[str, ResourceDefinition]:
    found = {}
    for name, body in section.items():
        path = (dialect.sections["resources"], name)
        _check_name(str(name), trees, path, faults)
        if not isinstance(body, Mapping):
            faults.add(f"A resource is defined by a map, not by {shape(body)}.", path, code="resource-definition")
            continue
        found[str(name)] = _Definition(body, dialect, trees, path, faults).parse(str(name))
    return found


def _check_name(name: str, trees: TreeParser, path: Path, faults: Faults) -> None:
    if not name or "/" in name or len(name) > _LONGEST_NAME:
        message = f"A resource's name has 1 to {_LONGEST_NAME} characters and no '/'; this is {name[:300]!r}."
        faults.add(message, path, code="resource-name")
    parameters = trees.site.names.parameters
    if name in parameters and not isinstance(parameters, AnyName):
        faults.add(f"There is a parameter of the same name {name!r}.", path, code="resource-name")


class _Definition:
    """Reads the keys of one resource."""

    def __init__(
        self, body: Mapping[Any, Any], dialect: Dialect, trees: TreeParser, path: Path, faults: Faults
    ) -> None:
        self.body = body
        self.dialect = dialect
        self.trees = trees
        self.path = path
        self.faults = faults

    def parse(self, name: str) -> ResourceDefinition:
        self._check_keys()
        return ResourceDefinition(
            name=name,
            type=self._type(),
            properties=self._map("properties"),
            metadata=self._map("metadata"),
            depends_on=self._depends_on(),
            update_policy=self._map("update_policy"),
            deletion_policy=self._deletion_policy(),
            external_id=self._external_id(),
            description=self._description(),
            condition=self._condition(),
        )

    def _word(self, key: str) -> str:
        return self.dialect.resource_keys.get(key, "")

    def _check_keys(self) -> None:
        if not self.dialect.refuses_unknown_keys:
            return
        known = self.dialect.resource_keys.values()
        for key in self.body:
            if key not in known:
                near = did_you_mean(str(key), known)
                self.faults.add(f"A resource has no key {key!r}{near}.", (*self.path, key), code="unknown-key")

    def _type(self) -> str:
        written = self.body.get(self._word("type"))
        if not isinstance(written, str) or not written:
            what = f"is text, not {shape(written)}" if written is not None else "is missing"
            self.faults.add(f"The type of the resource {what}.", self.path, code="resource-definition")
            return ""
        return written

    def _map(self, key: str) -> Mapping[str, Any]:
        word = self._word(key)
        written = self.body.get(word)
        if written is None and (key != "properties" or word not in self.body):
            return {}
        path = (*self.path, word)
        tree = self.trees.value_into(written, path, self.faults)
        if not isinstance(tree, dict if key == "update_policy" else dict | Function):
            what = "a call of a function" if isinstance(tree, Function) else shape(written)
            self.faults.add(f"{word} must be a map, not {what}.", path, code="resource-definition")
            return {}
        return tree  # a function that gives a map is evaluated when bound

    def _depends_on(self) -> tuple[str, ...]:
        word = self._word("depends_on")
        if word not in self.body:
            return ()
        written = self.body[word]
        path = (*self.path, word)
        names = written if isinstance(written, list) else [written]
        if not all(isinstance(name, str | Plain) for name in names):
            self.faults.add(f"{word} is a name or a list of names.", path, code="resource-definition")
            return ()
        texts = tuple(name.text if isinstance(name, Plain) else name for name in names)
        known = self.trees.site.names.resources
        for name in texts:
            if name not in known:
                self.faults.add(
                    f"There is no resource {name!r}{did_you_mean(name, known)}.", path, code="unknown-resource"
                )
        return tuple(name for name in dict.fromkeys(texts) if name in known)

    def _deletion_policy(self) -> Any:
        word = self._word("deletion_policy")
        written = self.body.get(word)
        if written is None:
            return DeletionPolicy.DELETE
        if isinstance(written, str):
            return self._policy(written, word)
        tree = self.trees.value_into(written, (*self.path, word), self.faults)
        if not isinstance(tree, Function):
            self.faults.add(
                f"{word} must be text, not {shape(written)}.", (*self.path, word), code="resource-definition"
            )
            return DeletionPolicy.DELETE
        return tree

    def _policy(self, written: str, word: str) -> DeletionPolicy:
        known = self.dialect.deletion_policies
        if written not in known:
            near = did_you_mean(written, known)
            self.faults.add(
                f"{word} is one of {', '.join(known)}, not {written!r}{near}.",
                (*self.path, word),
                code="deletion-policy",
            )
            return DeletionPolicy.DELETE
        return DeletionPolicy(known[written])

    def _external_id(self) -> Any:
        word = self._word("external_id")
        if not word or word not in self.body:
            return None
        written = self.body[word]
        tree = self.trees.value_into(written, (*self.path, word), self.faults)
        if not isinstance(tree, str | Plain | Function):
            self.faults.add(f"{word} must be text, not {shape(written)}.", (*self.path, word), code="external-id")
        return tree

    def _description(self) -> str:
        word = self._word("description")
        written = self.body.get(word)
        if isinstance(written, Mapping | list):
            self.faults.add(
                f"{word} must be text, not {shape(written)}.", (*self.path, word), code="resource-definition"
            )
        return "" if written is None else written.text if isinstance(written, Plain) else str(written)

    def _condition(self) -> Any:
        word = self._word("condition")
        if not word or word not in self.body:
            return None
        return self.trees.condition_into(self.body[word], (*self.path, word), self.faults, named=True)


def parse_outputs(
    section: Mapping[Any, Any], dialect: Dialect, trees: TreeParser, faults: Faults
) -> dict[str, OutputDefinition]:
    words = dialect.output_keys
    found = {}
    for name, body in section.items():
        path = (dialect.sections["outputs"], name)
        if not isinstance(body, Mapping):
            faults.add(f"An output is defined by a map, not by {shape(body)}.", path, code="output-definition")
            continue
        misspelt = _unknown_output_keys(body, dialect, path, faults)
        if words["value"] not in body:
            if words["value"] not in misspelt:
                faults.add(f"The output has no {words['value']!r}.", path, code="output-definition")
            continue
        condition = None
        word = words.get("condition", "")
        if word and body.get(word) is not None:
            condition = trees.condition_into(body[word], (*path, word), faults, named=True)
        place = (*path, words["value"])
        value = trees.output_into(body[words["value"]], place, faults, is_optional=condition is not None)
        written = body.get(words["description"])
        text = "" if written is None else written.text if isinstance(written, Plain) else str(written)
        found[str(name)] = OutputDefinition(name=str(name), value=value, description=text, condition=condition)
    return found


def _unknown_output_keys(body: Mapping[Any, Any], dialect: Dialect, path: Path, faults: Faults) -> set[str]:
    """Told, as warnings where the output has a value: Heat passes over them. Answers the keys that they may be meant
    as."""
    known, misspelt = dialect.output_keys.values(), set[str]()
    told = faults.warnings if dialect.output_keys["value"] in body else faults.problems
    for key in body if dialect.refuses_unknown_keys else ():
        if key not in known:
            near = did_you_mean(str(key), known)
            misspelt.update(meant(near))
            message = f"An output has no key {key!r}{near}."
            told.append(faults.source.problem(message, (*path, key), code="unknown-key"))
    return misspelt
