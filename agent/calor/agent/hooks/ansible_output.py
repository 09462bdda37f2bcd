"""Which tasks failed, by what ansible-playbook prints: for an Ansible that did not load our callback plug-in."""

import json
import re
from typing import Any, List, NamedTuple, Tuple

TASK = re.compile(r"^(?:TASK|RUNNING HANDLER) \[(?P<name>.*)\](?: \**)?$")
FAILED = re.compile(
    r"^(?:fatal|failed): \[(?P<host>[^\]]+)\](?:: (?:FAILED|UNREACHABLE)!| \(item=.*\)) => ?", re.MULTILINE
)
MESSAGE = re.compile(r"^\s+msg: ?(?P<text>.*)$")
IGNORED = "...ignoring"


class Failure(NamedTuple):
    """A task that failed on a host; ``message`` may have several lines."""

    task: str
    host: str
    message: str


def failures(text: str) -> List[Failure]:
    """In their order, without those that were ignored. ``text`` has no colours; its beginning may be cut off."""
    found: List[Failure] = []
    task, at = "", 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].rstrip()
        named, failed = TASK.match(line), FAILED.match(text, at)
        if named:
            task = named.group("name")
        elif failed:
            message, end = _told(text, failed.end())
            found.append(Failure(task, failed.group("host").split(" -> ")[0], message))
        elif line == IGNORED:
            found = _without_last(found)
        at = max(end, at) + 1
    return found


def _without_last(found: List[Failure]) -> List[Failure]:
    """Ignored is the task on its host with all items of its loop."""
    last = found[-1:]
    return [one for one in found if (one.task, one.host) != (last[0].task, last[0].host)] if last else found


def _told(text: str, at: int) -> Tuple[str, int]:
    """The message of a result that begins there, and where the result ends: JSON in one line or several, or YAML."""
    try:
        result, end = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        return _told_by_lines(text, at)
    return (_message(result), end) if isinstance(result, dict) else (str(result), end)


def _message(result: Any) -> str:
    message = str(result.get("msg") or result.get("censored") or "")
    more = str(result.get("stderr") or result.get("module_stderr") or "").strip()
    return message + (": " + more if message and more else more)


def _told_by_lines(text: str, at: int) -> Tuple[str, int]:
    """YAML, as ``callback_result_format = yaml`` prints it: lines further in; of a block, all its lines."""
    first, _, rest = text[at:].partition("\n")
    if first.strip():
        return first.strip(), at + len(first)
    found: List[str] = []
    end, depth = at + len(first), 0
    for line in rest.split("\n"):
        if not line.startswith(" "):
            break
        end += len(line) + 1
        inside = len(line) - len(line.lstrip())
        begins = MESSAGE.match(line)
        if begins and not depth:
            depth = inside
            found = [begins.group("text").strip("'\"")]
        elif depth and inside > depth:
            found.append(line.strip())
        elif depth:
            depth = 1 << 30
    return "\n".join(part for part in found if part not in ("|-", "|", ">-", ">")), end
