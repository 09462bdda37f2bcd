"""``cfn-get-metadata``: print a resource's metadata, or the value at a key of it."""

import json
import sys
from typing import List, Optional

from calor.cfntools import access, metadata, options
from calor.cfntools.narration import Narrator


def main(arguments: Optional[List[str]] = None, native: access.Native = access.no_identity) -> int:
    parser = options.parser("cfn-get-metadata", "Print a resource's metadata as JSON.")
    options.add_resource(parser, required=True)
    options.add_access(parser, ["-u", "--url"])
    parser.add_argument("-k", "--key", help="dotted key; quote a part that holds dots with single quotes")
    parser.add_argument("-v", "--verbose", action="store_true", help="accepted; warnings are shown in any case")
    given = parser.parse_args(arguments)
    narrator = Narrator("cfn-get-metadata", options.root())
    if not (given.stack.strip() and given.resource.strip()):
        return narrator.fail("stack and resource must have a name")
    try:
        found = metadata.retrieve(options.wanted(given), native, narrator)
    except metadata.NoMetadata as exc:
        return narrator.fail(exc)
    value = metadata.lookup(found, given.key) if given.key else found
    if value is not None:
        sys.stdout.write(json.dumps(value, indent=4, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
