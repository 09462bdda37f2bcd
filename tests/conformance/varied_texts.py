"""Changes of a template's text that no change of its tree makes: indentation, tabs, anchors, tags, odd scalars."""

import random
from collections.abc import Callable, Sequence

SCALARS = (
    *(
        "!!python/object:os.system x",
        "!!python/name:os.system",
        "!!str 5",
        "!!int '5'",
        "!!binary aGVsbG8=",
        "!!set {a}",
    ),
    *("!zz 5", "!Ref zz", "!!float 1", "!!timestamp 2001-01-01", "!!null ''", "!!map {}", "!!seq []", "!!omap [a: 1]"),
    *("2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-13-45", "010", "0o10", "0x1F", "1_000", "190:20:30", "0b11"),
    *(".nan", ".inf", "-.INF", "NaN", "~", "null", "Null", "yes", "No", "on", "y", "1e3", "1.e+3", ".5", "+1", "-0"),
    *("=", "<<", "? a", "- a", "*zz", "&a b", "|", ">-", "'", '"', '"\\x41"', "'a''b'", "a: b", "a #b", "a:b", "#", ""),
    *(
        "%x",
        "@x",
        "`x",
        "{",
        "[",
        "{a}",
        "[a, ]",
        "{a: 1, a: 2}",
        "'\\t'",
        '"\\ud800"',
        "\x85",
        "\u2028",
        "\x00",
        "\x07",
    ),
)


def changed(dice: random.Random, text: str) -> tuple[str, list[str]]:
    """The text with one to three changes, and their names."""
    names = []
    for _ in range(dice.choice((1, 1, 2, 3))):
        kind = dice.choice(CHANGES)
        text = kind(dice, text)
        names.append(kind.__name__)
    return text, names


def _lines(text: str) -> list[str]:
    return text.split("\n")


def indented(dice: random.Random, text: str) -> str:
    lines = _lines(text)
    place = dice.randrange(len(lines))
    line = lines[place]
    lines[place] = dice.choice((" " + line, "  " + line, line[1:], line.lstrip(), "\t" + line, "  \t" + line.lstrip()))
    return "\n".join(lines)


def tabbed(dice: random.Random, text: str) -> str:
    lines = _lines(text)
    place = dice.randrange(len(lines))
    lines[place] = dice.choice(
        (lines[place].replace("  ", "\t", 1), lines[place] + "\t", lines[place].replace(": ", ":\t", 1))
    )
    return "\n".join(lines)


def doubled(dice: random.Random, text: str) -> str:
    """A line that stands twice, mostly a key."""
    lines = _lines(text)
    place = dice.randrange(len(lines))
    return "\n".join([*lines[:place], lines[place], *lines[place:]])


def left_out(dice: random.Random, text: str) -> str:
    lines = _lines(text)
    place = dice.randrange(len(lines))
    return "\n".join(lines[:place] + lines[place + 1 :])


def scalar(dice: random.Random, text: str) -> str:
    """Another scalar behind a key."""
    lines = _lines(text)
    keys = [place for place, line in enumerate(lines) if ": " in line]
    if not keys:
        return text
    place = dice.choice(keys)
    lines[place] = lines[place].split(": ", 1)[0] + ": " + dice.choice(SCALARS)
    return "\n".join(lines)


def key(dice: random.Random, text: str) -> str:
    """Another scalar as a key."""
    lines = _lines(text)
    keys = [place for place, line in enumerate(lines) if ":" in line]
    if not keys:
        return text
    place = dice.choice(keys)
    line = lines[place]
    indent = line[: len(line) - len(line.lstrip())]
    keys_of = (
        "5",
        "1.5",
        "true",
        "null",
        "~",
        "2001-12-14",
        "<<",
        "? x",
        "[a]",
        "{a: b}",
        "''",
        "=",
        "!!int '5'",
        "010",
    )
    lines[place] = indent + dice.choice(keys_of) + ":" + line.split(":", 1)[1]
    return "\n".join(lines)


def anchored(dice: random.Random, text: str) -> str:
    """An anchor at one value, an alias in the place of another."""
    lines = _lines(text)
    keys = [place for place, line in enumerate(lines) if ": " in line or line.endswith(":")]
    if len(keys) < 2:
        return text
    first, second = sorted(dice.sample(keys, 2))
    if dice.random() < 0.1:
        first, second = second, first
    lines[first] = lines[first].replace(":", ": &anchor", 1)
    name, merge = lines[second].split(":", 1)[0], dice.random() < 0.3
    indent = name[: len(name) - len(name.lstrip())]
    lines[second] = f"{indent}<<: *anchor" if merge else f"{name}: *anchor"
    return "\n".join(lines)


def documents(dice: random.Random, text: str) -> str:
    more = (
        "---\n{}",
        "{}\n---\n",
        "%YAML 1.1\n---\n{}",
        "%YAML 1.2\n---\n{}",
        "{}\n...\n",
        "\ufeff{}",
        "{}\n---\na: 1\n",
        "%TAG ! x\n---\n{}",
    )
    return dice.choice((*more, "{}\n...\nx", "{}\n}", " {}", "[{}]")).replace("{}", text)


def cut(dice: random.Random, text: str) -> str:
    return dice.choice(
        (
            text[: dice.randrange(len(text) + 1)],
            "",
            "\n",
            text.replace("\n", "\r\n"),
            text.replace("\n", "\r"),
            "null",
            "[]",
            "5",
            "{}",
        )
    )


def character(dice: random.Random, text: str) -> str:
    place = dice.randrange(len(text) + 1)
    return text[:place] + dice.choice("{}[],:-#&*!|>'\"%@`\\ \n\t\x00ü\u2028~?=") + text[place:]


CHANGES: Sequence[Callable[[random.Random, str], str]] = (
    *(indented, tabbed, doubled, left_out, scalar, scalar, scalar, key, anchored, documents, cut, character),
)
