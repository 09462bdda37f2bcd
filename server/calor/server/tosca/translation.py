"""TOSCA text → HOT text. Runs in a closed process only (`closing`): it hands a template to the libraries."""

from collections.abc import Mapping
from typing import Any

from toscaparser.common.exception import ExceptionCollector
from toscaparser.tosca_template import ToscaTemplate
from translator.hot.tosca_translator import TOSCATranslator

from calor.server.errors import CalorError, InvalidInput, Problem
from calor.server.template.reader import Limits, read
from calor.server.template.source import Source
from calor.server.tosca import doors, inputs, writing
from calor.server.tosca.answer import Translation
from calor.server.tosca.files import ROOT, RequestFiles, tree_of
from calor.server.tosca.placing import place, quoted

_WARM_UP = """
tosca_definitions_version: tosca_simple_yaml_1_0
topology_template:
  inputs: {size: {type: scalar-unit.size, default: 1 GB}}
  node_templates:
    server:
      type: tosca.nodes.Compute
      capabilities: {host: {properties: {num_cpus: 1, mem_size: 1 GB}}}
      interfaces: {Standard: {create: a.sh}}
  outputs: {address: {value: {get_attribute: [server, private_address]}}}
"""


def prepare() -> None:
    """Load all that translating needs, since nothing can be opened later on."""
    translate(_WARM_UP, {}, {}, file="template", limits=Limits())


def translate(
    template: Mapping[str, Any] | str, files: Mapping[str, str], given: Mapping[str, Any], *, file: str, limits: Limits
) -> Translation:
    """``files`` are all that imports can lead to. Raises `InvalidInput` with all that is wrong."""
    if isinstance(template, str):
        source = read(template, file=file, limits=limits).source(file)
        tree = tree_of(template, file, limits)
    else:
        source, tree = Source(file, template), writing.plain_copy(template)
    if not isinstance(tree, dict) or not isinstance(tree.get("topology_template"), dict):
        raise InvalidInput(
            [source.problem("There is no topology_template: nothing would be made.", code="tosca-template")]
        )
    known = RequestFiles(tree, files, limits)
    try:
        with doors.only(known), writing.faithful():
            return _translated(tree, files, given, known)
    except (CalorError, MemoryError):
        raise
    except Exception as error:  # the outermost frame of the libraries, which raise whatever a template brings about
        raise InvalidInput(_problems(error, known, source)) from None


def _translated(
    tree: Mapping[str, Any], files: Mapping[str, str], given: Mapping[str, Any], known: RequestFiles
) -> Translation:
    declared = inputs.declared(tree)
    values = inputs.values(declared, given)
    parsed = ToscaTemplate(ROOT, values, True)
    if known.absent:
        raise ImportError
    translator = _Translator(parsed, values)
    made: dict[str, str] = translator.translate_to_yaml_files_dict(ROOT)
    main = writing.main_text(translator.hot_template, translator.node_translator.hot_template_version, declared, files)
    rest = {name: text for name, text in files.items() if name not in known.imported}
    nested = {name: text for name, text in made.items() if name != ROOT}
    return Translation(main, rest | nested)


class _Translator(TOSCATranslator):  # type: ignore[misc]  # the library has no types
    def _resolve_input(self) -> None:
        """Values may come with the stack: unlike the library, nothing is missing before it is created."""


def _problems(error: Exception, known: RequestFiles, source: Source) -> list[Problem]:
    """What is wrong, each fault once. What follows from files that are not there says no more than they do."""
    if known.absent:
        return [_absent(name, source) for name in dict.fromkeys(known.absent)]
    texts = [_words(one) for one in ExceptionCollector.getExceptions() or [error]]
    return [_fault(text, source) for text in dict.fromkeys(texts)]


def _absent(name: str, source: Source) -> Problem:
    path, at_value = place(source.root, [name])
    message = f"The import {name!r} is not among the files of the request; nothing is fetched from elsewhere."
    return source.problem(message, path, value=at_value, code="tosca-import")


def _fault(text: str, source: Source) -> Problem:
    path, at_value = place(source.root, quoted(text))
    return source.problem(text, path, value=at_value, code="tosca-template")


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "This is nested too deeply; do files import each other?"
    text = " ".join(str(error).split())
    is_told = " " in text and not isinstance(error, AttributeError | KeyError | TypeError)
    return text if is_told else f"The TOSCA tools cannot translate this: {type(error).__name__}: {text}"
