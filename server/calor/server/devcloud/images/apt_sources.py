"""This machine's package sources for a Debian release: its mirror is the one that works here."""

from collections.abc import Iterator
from pathlib import Path


def lines(suite: str, root: Path = Path("/etc/apt")) -> str:
    """One-line entries of the release and its updates; empty where this machine has none (mmdebstrap has a default)."""
    found: list[str] = []
    for file in (root / "sources.list", *sorted((root / "sources.list.d").glob("*"))):
        if not file.is_file():
            continue
        text = file.read_text(errors="replace")
        entries = _stanzas(text, suite) if file.suffix == ".sources" else _one_liners(text, suite)
        found += [each for each in entries if each not in found]
    return "".join(f"{each}\n" for each in found)


def _one_liners(text: str, suite: str) -> Iterator[str]:
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["deb"] and any(_belongs(word, suite) for word in words[2:]):
            yield " ".join(words)


def _stanzas(text: str, suite: str) -> Iterator[str]:
    for stanza in text.split("\n\n"):
        rows = (line for line in stanza.splitlines() if not line.startswith("#") and ":" in line)
        fields = {name.strip().lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        key = fields.get("signed-by", "")
        options = f"[signed-by={key}] " if key.startswith("/") else ""
        for uri in fields.get("uris", "").split():
            for each in fields.get("suites", "").split():
                if _belongs(each, suite):
                    yield f"deb {options}{uri} {each} {fields.get('components', 'main')}"


def _belongs(word: str, suite: str) -> bool:
    return word in (suite, f"{suite}-updates", f"{suite}-security")
