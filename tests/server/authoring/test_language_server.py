"""`calor lsp`, driven by a real client over its pipes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

NESTED = """heat_template_version: 2021-04-16
description: Something nested.
parameters:
  size: {type: number, description: How much.}
outputs:
  answer: {value: 42, description: What it says.}
"""
TEXT = """heat_template_version: 2021-04-16
parameters:
  flavor:
    type: string
    description: Which flavor.
  größe: {type: number, default: 8}
conditions:
  big: {equals: [{get_param: größe}, 9]}
resources:
  server:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      image: cirros
      networks:
        - network: private
      user_data: {get_file: boot.sh}
  inner:
    type: nested.yaml
    properties:
      size: {get_param: größe}
  text:
    type: OS::Heat::RandomString
    depends_on: server
    properties:
      length: 8
outputs:
  address: {value: {get_attr: [server, first_address]}}
"""


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "calor.server", "lsp"]))
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri="file:///")
    )
    yield
    await lsp_client.shutdown_session()


class Editor:
    """One file, open in an editor."""

    def __init__(self, client: LanguageClient, path: Path, text: str) -> None:
        self.client, self.path, self.uri, self.version = client, path, path.as_uri(), 0
        path.write_text(text)
        self.text = text
        document = types.TextDocumentItem(uri=self.uri, language_id="yaml", version=0, text=text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, text: str) -> None:
        """The whole text anew."""
        self.version, self.text = self.version + 1, text
        whole = types.TextDocumentContentChangeWholeDocument(text)
        named = types.VersionedTextDocumentIdentifier(version=self.version, uri=self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [whole]))

    async def told(self, wanted: set[str], uri: str = "") -> list[types.Diagnostic]:
        """The diagnostics, once their codes are these."""
        async with asyncio.timeout(30):
            while True:
                found = self.client.diagnostics.get(uri or self.uri)
                if found is not None and {str(one.code) for one in found} == wanted:
                    return list(found)
                await asyncio.sleep(0.05)

    def at(self, mark: str) -> dict[str, Any]:
        """The place just behind a piece of the text."""
        before = self.text[: self.text.index(mark) + len(mark)]
        line, column = before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
        return {"text_document": types.TextDocumentIdentifier(self.uri), "position": types.Position(line, column)}

    async def words(self, mark: str) -> set[str]:
        answer = await self.client.text_document_completion_async(types.CompletionParams(**self.at(mark)))
        items = answer.items if isinstance(answer, types.CompletionList) else answer or []
        return {item.label for item in items}

    async def hovered(self, mark: str) -> str:
        answer = await self.client.text_document_hover_async(types.HoverParams(**self.at(mark)))
        return "" if answer is None else str(answer.contents.value)  # type: ignore[union-attr]

    async def defined(self, mark: str) -> tuple[str, int] | None:
        answer = await self.client.text_document_definition_async(types.DefinitionParams(**self.at(mark)))
        return None if answer is None else (Path(answer.uri).name, answer.range.start.line)  # type: ignore[union-attr]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nested.yaml").write_text(NESTED)
    (tmp_path / "boot.sh").write_text("#!/bin/sh\n")
    return tmp_path


async def test_diagnostics_come_while_typing_and_go_again(client: LanguageClient, folder: Path) -> None:
    editor = Editor(client, folder / "root.yaml", TEXT)
    await editor.told(set())
    editor.type(
        TEXT.replace("      length: 8", "      lenght: 8").replace(
            "flavor: {get_param: flavor}", "flavor: {get_param: flavour}"
        )
    )
    found = await editor.told({"unknown-parameter", "unknown-property"})
    assert (found[0].range.start.line, found[0].severity) == (12, types.DiagnosticSeverity.Error)
    editor.type(TEXT.replace("      length: 8", "      lenght: 8"))
    (problem,) = await editor.told({"unknown-property"})
    assert (problem.range.start.line, problem.range.start.character) == (25, 6)
    assert problem.range.end.character == 12
    editor.type(TEXT + "  broken: [\n")
    await editor.told({"not-yaml"})
    editor.type(TEXT)
    await editor.told(set())


async def test_a_fault_of_a_nested_template_is_told_in_its_file(client: LanguageClient, folder: Path) -> None:
    nested = Editor(client, folder / "nested.yaml", NESTED)
    editor = Editor(client, folder / "root.yaml", TEXT)
    await editor.told(set())
    nested.type(NESTED + "resources:\n  r: {type: OS::Heat::Nope}\n")  # not saved
    editor.type(TEXT + "\n")
    await editor.told({"unknown-type"}, nested.uri)
    await editor.told(set())


async def test_completion_knows_types_properties_functions_and_parameters(client: LanguageClient, folder: Path) -> None:
    editor = Editor(client, folder / "root.yaml", TEXT)
    assert {"OS::Nova::Server", "OS::Heat::Value", "nested.yaml"} <= await editor.words("    type: OS::")
    assert {"image", "flavor", "key_name"} <= await editor.words("    properties:\n      ")
    assert {"flavor", "größe", "OS::stack_name"} <= await editor.words("flavor: {get_param: ")
    assert {"get_param", "get_attr", "str_replace"} <= await editor.words("user_data: {")
    assert {"server", "inner", "text"} == await editor.words("{get_attr: [")
    assert {"first_address", "name"} <= await editor.words("{get_attr: [server, ")
    assert {"boot.sh", "nested.yaml"} == await editor.words("{get_file: ")
    assert {"network", "port", "fixed_ip"} <= await editor.words("        - ")
    assert {"server", "inner", "text"} == await editor.words("depends_on: ")
    assert {"string", "number", "json"} <= await editor.words("  flavor:\n    type: ")
    editor.type(TEXT.replace("    depends_on: server\n", "    \n"))
    assert {"type", "properties", "depends_on", "condition"} <= await editor.words("OS::Heat::RandomString\n    ")
    editor.type("heat_template_version: ")
    assert {"2021-04-16", "wallaby"} <= await editor.words("heat_template_version: ")
    editor.type("heat_template_version: 2021-04-16\n")
    assert {"parameters", "resources", "outputs"} <= await editor.words("2021-04-16\n")


async def test_hover_explains_and_definitions_are_found(client: LanguageClient, folder: Path) -> None:
    editor = Editor(client, folder / "root.yaml", TEXT)
    assert "first_address" in await editor.hovered("type: OS::Nova::Ser")
    assert "A change replaces" in await editor.hovered("      leng")
    assert "Which flavor." in await editor.hovered("{get_param: fla")
    assert "**get_file**" in await editor.hovered("{get_fi")
    assert "Something nested." in await editor.hovered("type: nest")
    assert "OS::Nova::Server" in await editor.hovered("{get_attr: [ser")
    assert await editor.hovered("image: cir") == ""
    assert await editor.defined("{get_param: fla") == ("root.yaml", 2)
    assert await editor.defined("größe: {type: number, default: 8}\nconditions:\n  big: {equals: [{get_param: gr") == (
        "root.yaml",
        5,
    )
    assert await editor.defined("{get_attr: [ser") == ("root.yaml", 9)
    assert await editor.defined("depends_on: ser") == ("root.yaml", 9)
    assert await editor.defined("{get_file: boo") == ("boot.sh", 0)
    assert await editor.defined("type: nest") == ("nested.yaml", 0)
    assert await editor.defined("image: cir") is None
