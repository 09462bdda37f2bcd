"""Writes cloud-config text: YAML in block style, of plain values only, so that no YAML library is needed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
WORDS_WITH_A_MEANING = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
NOT_PRINTABLE = re.compile("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029\x85\ufeff]")


def cloud_config(config: Mapping[str, Any] | None) -> str:
    """The config text of an OS::Heat::CloudConfig. Keys keep their order."""
    return "\n".join(["#cloud-config", *(_block(config, "") if config else ["{}"]), ""])


def _block(value: Any, indent: str) -> Iterator[str]:
    """Lines of a non-empty mapping or list."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", item, indent + "  ")
    else:
        for item in value:
            yield from _entry(f"{indent}-", item, indent + "  ")


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping | Sequence) and not isinstance(item, str) and item:
        yield head
        yield from _block(item, indent)
    else:
        yield f"{head} {_scalar(item)}"


def _scalar(value: Any) -> str:
    """Plain where nobody can misread it, else JSON, which YAML reads too."""
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS_WITH_A_MEANING:
        return value
    text = json.dumps(value, ensure_ascii=False, default=str)
    return NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
