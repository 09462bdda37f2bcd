"""Names in a ``calor.conf`` that mean nothing here: oslo.config passes over them in silence, typing errors included."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_policy import opts as policy_options

from calor.server.config.declare import options_of

Known = Mapping[str, frozenset[str]]
"""{section: names of options, former ones too}"""


def unknown_names(files: Sequence[Path], sections: Sequence[tuple[str, type[Any]]]) -> tuple[str, ...]:
    """A sentence for each section or option that means nothing here, with the nearest one that does.

    Known are the options of ``sections`` and oslo.policy's. Raises `cfg.Error` for files that cannot be read.
    """
    known = _known(sections)
    return tuple(sentence for file in files for sentence in _unknown_in(file, known))


def _known(sections: Sequence[tuple[str, type[Any]]]) -> Known:
    found: dict[str, set[str]] = {}
    ours = [(group, options_of(section, group)) for group, section in sections]
    for group, options in [*ours, *policy_options.list_opts()]:
        names = found.setdefault(group, set())
        for option in options:
            names |= {option.name, option.dest, *(former.name for former in option.deprecated_opts if former.name)}
    return {group: frozenset(names) for group, names in found.items()}


def _unknown_in(file: Path, known: Known) -> Iterator[str]:
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(file), sections).parse()
    for section, options in sections.items():
        if section not in known:
            yield f"{file}: there is no section [{section}]{_nearest(section, known)}; it is ignored."
            continue
        for name in options:
            if name not in known[section]:
                near = _elsewhere(name, known) or _nearest(name, known[section])
                yield f"{file}: [{section}] has no option {name}{near}; it is ignored."


def _elsewhere(name: str, known: Known) -> str:
    """Where an option belongs that stands in another section."""
    homes = [f"[{section}]" for section, names in known.items() if name in names]
    return f" (it belongs to {' or '.join(homes)})" if homes else ""


def _nearest(name: str, known: "Mapping[str, object] | frozenset[str]") -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""
