"""``cfn-init``: bring this machine to the state that ``AWS::CloudFormation::Init`` describes."""

import argparse
import json
import os
import sys
from typing import Any, Dict, List, Optional

from calor.cfntools import configsets, metadata, options
from calor.cfntools.sections import SECTIONS, Changes, SectionFailed

KEY = "AWS::CloudFormation::Init"


def main(arguments: Optional[List[str]] = None) -> int:
    """0 when everything was applied; 1 with what was wrong on stderr, and nothing after it was done."""
    parser = argparse.ArgumentParser(prog="cfn-init", description="Apply " + KEY + " metadata to this machine.")
    options.add(parser, required=False)
    parser.add_argument("-c", "--configsets", help="comma-separated names of the config sets to apply")
    parser.add_argument("file", nargs="?", help="metadata file, or - for standard input")
    given = parser.parse_args(arguments)
    try:
        apply(_read(given), [name.strip() for name in (given.configsets or "").split(",") if name.strip()])
    except (metadata.NoMetadata, configsets.UnknownConfig, SectionFailed) as exc:
        sys.stderr.write("cfn-init: {}\n".format(exc))
        return 1
    return 0


def _read(given: argparse.Namespace) -> Dict[str, Any]:
    try:
        if given.file == "-":
            found = json.load(sys.stdin)
            return found if isinstance(found, dict) else {}
        if given.file:
            return metadata.load(given.file)
    except (OSError, ValueError) as exc:
        raise metadata.NoMetadata("{}: {}".format(given.file, exc)) from exc
    return metadata.retrieve(options.wanted(given, os.environ.get("CALOR_ROOT", "/")))


def apply(document: Dict[str, Any], names: List[str]) -> None:
    """Apply the chosen configs one after the other, each section in AWS's order (F078). Raises SectionFailed or
    configsets.UnknownConfig; a section that is not known is an error too."""
    init = document.get(KEY)
    if not isinstance(init, dict):
        raise metadata.NoMetadata("the metadata holds no {}".format(KEY))
    known = [section.NAME for section in SECTIONS]
    for name, config in configsets.resolve(init, names):
        unknown = sorted(set(config) - set(known))
        if unknown:
            raise SectionFailed("config {}: unknown section {}; known: {}".format(name, unknown[0], ", ".join(known)))
        changes = Changes()
        for section in SECTIONS:
            wanted = config.get(section.NAME)
            if not wanted:
                continue
            if not isinstance(wanted, dict):
                raise SectionFailed("config {}: section {} must be a map".format(name, section.NAME))
            section.apply(wanted, changes)


if __name__ == "__main__":
    sys.exit(main())
