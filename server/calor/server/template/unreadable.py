"""Text that is no YAML or JSON: what is said of it, and where it breaks."""

import json

import yaml

from calor.server.errors import Problem

_OF_TABS = ("cannot start any token", "tab character that violates indentation")


def fault_of(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """Of a text that YAML does not read. Where it was meant as JSON, the place is where JSON breaks."""
    return _json_fault(text, file) or _yaml_fault(error, text, file)


def _json_fault(text: str, file: str) -> Problem | None:
    """None where the text is rather a flow mapping of YAML: its keys need no quotes."""
    if text.lstrip()[:1] != "{" or text.lstrip()[1:].lstrip()[:1] not in ('"', ""):
        return None
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        message = f"This is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}."
        is_end = _is_behind_all(text, error.lineno, error.colno)
        line, column = _end(text) if is_end else (error.lineno, error.colno)
        return Problem(message=message, file=file, line=line, column=column, code="not-yaml")
    except (ValueError, RecursionError):
        return None
    return None


def _yaml_fault(error: yaml.YAMLError, text: str, file: str) -> Problem:
    mark, words = None, str(error).splitlines()[0]
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        words = ", ".join(part for part in (error.context, error.problem) if part)
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    if mark is not None and _is_behind_all(text, line, column):
        line, column = _end(text)
        words += _begun(error, line)
    if any(part in words for part in _OF_TABS) and _character(text, line, column) == "\t":
        words = "a tab; YAML is indented with spaces"
    return Problem(message=f"This is not valid YAML: {words}.", file=file, line=line, column=column, code="not-yaml")


def _is_behind_all(text: str, line: int, column: int) -> bool:
    """Whether nothing but blanks stands at a place and after it."""
    rest = text.splitlines()[line - 1 :]
    return not "".join([rest[0][column - 1 :], *rest[1:]]).strip() if rest else True


def _end(text: str) -> tuple[int, int]:
    """The place right after the last character that is no blank."""
    lines = text.rstrip().splitlines() or [""]
    return len(lines), len(lines[-1]) + 1


def _begun(error: yaml.YAMLError, line: int) -> str:
    """Where what has no end began, if that is in another line."""
    mark = error.context_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f", which begins in line {mark.line + 1}" if mark is not None and mark.line + 1 < line else ""


def _character(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line - 1][column - 1 : column] if 0 < line <= len(lines) else ""
