"""``cfn-init``: bring this machine to the state that ``AWS::CloudFormation::Init`` describes."""

import argparse
import json
import sys
from typing import Any, Dict, List, Optional

from calor.cfntools import access, authorities, configsets, metadata, options
from calor.cfntools.authentication import Authentication, AuthenticationRefused
from calor.cfntools.narration import Narrator
from calor.cfntools.sections import SECTIONS, Run, SectionFailed, packages, services

KEY = "AWS::CloudFormation::Init"
FAULTS = (metadata.NoMetadata, configsets.UnknownConfig, AuthenticationRefused, SectionFailed)


def main(arguments: Optional[List[str]] = None, native: access.Native = access.no_identity) -> int:
    """0 when everything was applied; 1 with what was wrong on stderr, and nothing after it was done; 2 for options that
    do not go together."""
    parser = options.parser(
        "cfn-init",
        "Bring this machine to the state that {} metadata describes.".format(KEY),
        "Without any option the metadata that Heat left on this machine is used.",
    )
    options.add_resource(parser, required=False)
    options.add_access(parser, ["-u", "--url"])
    parser.add_argument("-c", "--configsets", help="comma-separated names of the config sets to apply (default)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say of each entry whether it was changed")
    parser.add_argument("file", nargs="?", help="metadata file, or - for standard input")
    given = parser.parse_args(arguments)
    if bool(given.stack) != bool(given.resource):
        parser.error("--stack and --resource go together")
    narrator = Narrator("cfn-init", options.root(), given.verbose)
    names = [name.strip() for name in (given.configsets or "").split(",") if name.strip()]
    try:
        document = _read(given, native, narrator)
        metadata.show(options.root(), document, narrator)
        apply(document, names, narrator)
    except FAULTS as exc:
        return narrator.fail(exc)
    return 0


def _read(given: argparse.Namespace, native: access.Native, narrator: Narrator) -> Dict[str, Any]:
    try:
        if given.file == "-":
            found = json.load(sys.stdin)
            return found if isinstance(found, dict) else {}
        if given.file:
            return metadata.load(given.file)
    except (OSError, ValueError) as exc:
        raise metadata.NoMetadata("{}: {}".format(given.file, exc)) from exc
    return metadata.retrieve(options.wanted(given), native, narrator)


def apply(document: Dict[str, Any], names: List[str], narrator: Narrator) -> None:
    """Apply the chosen configs one after the other, each section in AWS's order (F078), and say what changed, also
    where it ends with an error. Raises one of FAULTS; a section that is not known is an error too."""
    init = document.get(KEY)
    if not isinstance(init, dict):
        raise metadata.NoMetadata("the metadata holds no {}".format(KEY))
    authentication = Authentication(document, authorities.override(options.root()))
    configs = configsets.resolve(init, names)
    for name, config in configs:
        _check(name, config)
    runs: List[Run] = []
    try:
        for _, config in configs:
            runs.append(Run(narrator, authentication))
            for section in SECTIONS:
                if config.get(section.NAME):
                    section.apply(config[section.NAME], runs[-1])
    finally:
        _tell(runs, narrator)


def _check(name: str, config: Dict[str, Any]) -> None:
    """Before anything is done."""
    known = [section.NAME for section in SECTIONS]
    unknown = sorted(set(config) - set(known))
    if unknown:
        raise SectionFailed("config {}: unknown section {}; known: {}".format(name, unknown[0], ", ".join(known)))
    for section in known:
        if config.get(section) and not isinstance(config[section], dict):
            raise SectionFailed("config {}: section {} must be a map".format(name, section))
    packages.check(config.get("packages") or {})
    services.check(config.get("services") or {})


def _tell(runs: List[Run], narrator: Narrator) -> None:
    """One line a section, like ``files: 2 changed, 3 unchanged``; commands are run or skipped by their tests."""
    total = 0
    for section in SECTIONS:
        counts = [run.count(section.NAME) for run in runs]
        changed, unchanged = (sum(column) for column in zip(*counts)) if counts else (0, 0)
        total += changed
        if changed or unchanged:
            words = ("run", "skipped") if section.NAME == "commands" else ("changed", "unchanged")
            narrator.say("{}: {} {}, {} {}".format(section.NAME, changed, words[0], unchanged, words[1]))
    if not total:
        narrator.say("nothing changed")


if __name__ == "__main__":
    sys.exit(main())
