"""The language server of templates: what `knowledge` and `checking` know, spoken to editors by pygls."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from calor.server import __version__
from calor.server.authoring.checking import Report, Wanted, check
from calor.server.authoring.files import Reader
from calor.server.authoring.knowledge import Knowledge, Word
from calor.server.authoring.texts import Text, load
from calor.server.errors import Problem
from calor.server.resources.registry import installed

log = logging.getLogger(__name__)

PAUSE = 0.25
"""Seconds without a keystroke before a text is checked."""
LANGUAGES = ("heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion")
_SEVERITY = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


class TemplateServer(LanguageServer):
    """``environments`` are the environment files that the editor names in its initialization options."""

    def __init__(self) -> None:
        super().__init__("calor", __version__)
        self.registry = installed()
        self.environments: Sequence[Path] = ()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, set[str]] = {}

    def knowledge(self, uri: str) -> tuple[TextDocument, Knowledge]:
        document = self.workspace.get_text_document(uri)
        return document, Knowledge(_path(uri), document.source, self.registry)

    def changed(self, uri: str) -> None:
        """Check a text once its user pauses."""
        self.forget(uri)
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._later(uri))

    def forget(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

    def closed(self, uri: str) -> None:
        self.forget(uri)
        for other in self._told.pop(uri, set()):
            self._publish(other, [])

    async def _later(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        try:
            await self._check(uri)
        except Exception:  # the outermost frame of a check: the next keystroke starts another one
            log.exception("a check broke off", extra={"uri": uri})

    async def _check(self, uri: str) -> None:
        document = self.workspace.get_text_document(uri)
        if not any(word in document.source for word in LANGUAGES):
            self._tell(uri, {uri: []})
            return
        opened = {_path(name): one.source for name, one in self.workspace.text_documents.items()}
        wanted = Wanted(template=_path(uri), environments=self.environments, read=_overlay(opened))
        try:
            report = await asyncio.to_thread(check, wanted)
        except OSError as error:
            log.warning("a template cannot be checked", extra={"uri": uri, "error": str(error)})
            return
        self._tell(uri, self._by_uri(uri, report))

    def _by_uri(self, uri: str, report: Report) -> dict[str, list[types.Diagnostic]]:
        found: dict[str, list[types.Diagnostic]] = {uri: []}
        folder = _path(uri).parent
        for severity, problems in (("error", report.problems), ("warning", report.warnings)):
            for problem in problems:
                own = (folder / problem.file).resolve() if problem.file in report.texts else _path(uri)
                where = uri if own == _path(uri).resolve() else uris.from_fs_path(str(own)) or uri
                found.setdefault(where, []).append(_diagnostic(problem, severity, report.texts.get(problem.file, "")))
        return found

    def _tell(self, uri: str, found: dict[str, list[types.Diagnostic]]) -> None:
        """Publish, and take back what was told of files that are right now."""
        for other in self._told.get(uri, set()) - set(found):
            self._publish(other, [])
        self._told[uri] = set(found)
        for where, diagnostics in found.items():
            self._publish(where, diagnostics)

    def _publish(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics))


def _path(uri: str) -> Path:
    return Path(uris.to_fs_path(uri) or uri)


def _overlay(opened: dict[Path, str]) -> Reader:
    """Files as the editor has them, where it has them open."""

    def read(path: Path) -> Text:
        return Text(path, opened[path]) if path in opened else load(path)

    return read


def _diagnostic(problem: Problem, severity: str, text: str) -> types.Diagnostic:
    lines = text.splitlines()
    line, column = max(problem.line - 1, 0), max(problem.column - 1, 0)
    written = lines[line] if line < len(lines) else ""
    rest = written[column:].split()
    end = column + max(len(rest[0].rstrip(":,}]")) if rest else 1, 1)
    start, stop = (types.Position(line, _units(written[:place])) for place in (column, end))
    message = f"{problem.path}: {problem.message}" if problem.path else problem.message
    return types.Diagnostic(
        range=types.Range(start, stop),
        message=message,
        severity=_SEVERITY[severity],
        source="calor",
        code=problem.code or None,
    )


def _units(text: str) -> int:
    """The protocol counts columns in UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def _cursor(document: TextDocument, position: types.Position) -> types.Position:
    """In characters. Behind the last line break there is a line, too."""
    lines = document.lines
    if position.line >= len(lines):
        return position
    here = document.position_codec.position_from_client_units(lines, position)
    return types.Position(line=here.line, character=here.character)


def _item(word: Word) -> types.CompletionItem:
    return types.CompletionItem(
        label=word.label,
        kind=types.CompletionItemKind[word.kind],
        detail=word.detail or None,
        documentation=word.about or None,
    )


def made() -> TemplateServer:
    """The server with its features; ``start_io`` runs it."""
    server = TemplateServer()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        given = options.get("environments", []) if isinstance(options, dict) else getattr(options, "environments", [])
        root = Path(uris.to_fs_path(params.root_uri) or ".") if params.root_uri else Path()
        server.environments = tuple(root / str(name) for name in given or ())

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def edited(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[":", "{", "[", ",", " "])
    )
    def complete(params: types.CompletionParams) -> types.CompletionList:
        document, known = server.knowledge(params.text_document.uri)
        at = _cursor(document, params.position)
        words = known.words(known.outline.place(at.line, at.character))
        return types.CompletionList(is_incomplete=False, items=[_item(word) for word in words])

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document, known = server.knowledge(params.text_document.uri)
        at = _cursor(document, params.position)
        place = known.outline.place(at.line, at.character)
        text = known.meaning(place, place.word)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        document, known = server.knowledge(params.text_document.uri)
        at = _cursor(document, params.position)
        place = known.outline.place(at.line, at.character)
        target = known.definition(place, place.word)
        if target is None:
            return None
        start = types.Position(target.line, target.column)
        uri = params.text_document.uri if target.path == known.path else uris.from_fs_path(str(target.path))
        return types.Location(uri or params.text_document.uri, types.Range(start, start))

    return server
