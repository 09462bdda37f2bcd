"""``cfn-get-metadata``: print a resource's metadata, or the value at a key of it."""

import argparse
import json
import os
import sys
from typing import List, Optional

from calor.cfntools import metadata, options


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="cfn-get-metadata", description="Print a resource's metadata as JSON.")
    options.add(parser, required=True)
    parser.add_argument("-k", "--key", help="dotted key; quote a part that holds dots with single quotes")
    given = parser.parse_args(arguments)
    if not (given.stack.strip() and given.resource.strip()):
        sys.stderr.write("cfn-get-metadata: stack and resource must have a name\n")
        return 1
    try:
        found = metadata.retrieve(options.wanted(given, os.environ.get("CALOR_ROOT", "/")))
    except metadata.NoMetadata as exc:
        sys.stderr.write("cfn-get-metadata: {}\n".format(exc))
        return 1
    value = metadata.lookup(found, given.key) if given.key else found
    if value is not None:
        sys.stdout.write(json.dumps(value, indent=4, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
