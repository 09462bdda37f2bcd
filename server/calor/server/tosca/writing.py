"""What the translator made, written as HOT.

Its own writer takes every apostrophe out of the text, folds lines, and leaves out defaults that are 0, false or empty;
this one keeps each value as it is.
"""

import json
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml
from translator.hot import translate_inputs
from translator.hot.syntax.hot_template import HotTemplate

from calor.server.tosca.swapping import swapped

WIDTH = 120
_TYPES = {
    **translate_inputs.TOSCA_TO_HOT_INPUT_TYPES,
    "list": "comma_delimited_list",
    "map": "json",
    "range": "json",
    "scalar-unit.time": "string",
    "scalar-unit.frequency": "string",
}
"""Types of inputs as types of parameters; the translator's own table lacks maps, and has a type that HOT has not."""
_MAPS = {"extra_specs"}
"""Properties whose maps the translator makes as text, since its own writer takes the apostrophes away."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_multi_representer(dict, lambda dumper, value: dumper.represent_dict(value.items()))
_Dumper.add_multi_representer(str, lambda dumper, value: dumper.represent_str(str(value)))


def plain_copy(tree: Any) -> Any:
    """Maps and lists of one's own, which may be changed."""
    if isinstance(tree, Mapping):
        return {key: plain_copy(value) for key, value in tree.items()}
    return [plain_copy(value) for value in tree] if isinstance(tree, list) else tree


@contextmanager
def faithful() -> Iterator[None]:
    """While this lasts, the translator's nested templates are written by us, too, and it knows all types."""

    def write(template: Any, version: str = HotTemplate.LATEST, embed: bool = True) -> str:
        return _text(_tree(template, version))

    types = (translate_inputs, "TOSCA_TO_HOT_INPUT_TYPES", _TYPES)
    with swapped((HotTemplate, "output_to_yaml", write), types):
        yield


def main_text(template: Any, version: str | None, inputs: Mapping[str, Any], files: Mapping[str, str]) -> str:
    tree = _tree(template, version or HotTemplate.LATEST)
    for name, entry in tree.get("parameters", {}).items():
        _set_default(entry, name, template, inputs)
    _mend(tree, files)
    return _text(tree)


def _tree(template: Any, version: str) -> dict[str, Any]:
    sections = {"parameters": template.parameters, "resources": template.resources, "outputs": template.outputs}
    tree: dict[str, Any] = {"heat_template_version": version}
    if template.description:
        tree["description"] = str(template.description)
    for section, parts in sections.items():
        written: dict[str, Any] = {}
        for part in parts:
            if getattr(part, "hide_resource", False):
                continue
            for name, entry in part.get_dict_output().items():
                written.setdefault(name, entry)  # the translator has an input named key_name twice, the right one first
        if written or section == "resources":
            tree[section] = written
    return tree


def _set_default(entry: dict[str, Any], name: str, template: Any, inputs: Mapping[str, Any]) -> None:
    """An input's own default, never a value that was given or that stood in for one."""
    own = inputs.get(name, {}).get("default")
    entry.pop("default", None)
    if own is None:
        return
    made = next(parameter for parameter in template.parameters if parameter.name == name)
    entry["default"] = made.default if inputs[name].get("type") == "scalar-unit.size" else own


def _mend(tree: Any, files: Mapping[str, str]) -> None:
    """What the translator leaves behind: inputs in TOSCA's words, maps as text, and files that the request names in
    another way."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        if not isinstance(node, dict):
            continue
        name = node.get("get_file")
        if isinstance(name, str) and name not in files and posixpath.normpath(name) in files:
            node["get_file"] = posixpath.normpath(name)
        if list(node) == ["get_input"]:
            node["get_param"] = node.pop("get_input")
        for key in _MAPS & node.keys():
            node[key] = _map_of(node[key])
        waiting.extend(node.values())


def _map_of(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _text(tree: Mapping[str, Any]) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False)
