"""Configuration files as OpenStack's programs read them (oslo.config): a key may stand there several times."""

from typing import Dict

SEVERAL = ("collectors", "path", "deployment_key")
"""Keys of which each line counts; of all others it is the last."""


def read(text: str) -> Dict[str, Dict[str, str]]:
    """Section to key to value; of several values each has a line."""
    found: Dict[str, Dict[str, str]] = {}
    section, key = found.setdefault("DEFAULT", {}), ""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            key = key if bare else ""
        elif line[0].isspace() and key:
            section[key] += "\n" + bare
        elif bare[0] == "[" and bare[-1] == "]":
            section, key = found.setdefault(bare[1:-1].strip(), {}), ""
        else:
            key = _take(section, bare)
    return found


def _take(section: Dict[str, str], line: str) -> str:
    """The key that was set; "" for a line that sets none."""
    at = min((line.find(mark) for mark in "=:" if mark in line), default=-1)
    if at < 0:
        return ""
    key, value = line[:at].strip().lower(), line[at + 1 :].strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    section[key] = section[key] + "\n" + value if key in SEVERAL and key in section else value
    return key
