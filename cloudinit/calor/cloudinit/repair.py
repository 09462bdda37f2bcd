"""Two kinds of parts that cloud-init damages or stumbles over, changed so that their bytes arrive (F100)."""

import base64
import zlib
from dataclasses import replace

from calor.cloudinit.content import GZIP_MAGIC, Kind, kind_of
from calor.cloudinit.mime import Part

LARGEST_UNPACKED = 4 << 20
WRAPPER = b"""#!/bin/sh
# The script inside is not UTF-8, which cloud-init cannot write down; it runs with the bytes that it has.
script=$(mktemp) || exit 1
base64 -d >"$script" <<'END-OF-SCRIPT'
%sEND-OF-SCRIPT
chmod 0700 "$script"
"$script" "$@"
status=$?
rm -f "$script"
exit $status
"""


def deliverable(part: Part) -> Part:
    """The part as cloud-init can take it."""
    return _wrapped(_unpacked(part))


def _unpacked(part: Part) -> Part:
    """cloud-init garbles what is not ASCII in a compressed part: unpacked here, then typed by how it begins."""
    if not part.content.startswith(GZIP_MAGIC):
        return part
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = unpacker.decompress(part.content, LARGEST_UNPACKED)
    except zlib.error:
        return part  # no gzip after all, only two bytes alike
    return replace(part, content=content, content_type=Kind.OTHER.value) if unpacker.eof else part


def _wrapped(part: Part) -> Part:
    if kind_of(part.content) is not Kind.SCRIPT or _is_utf8(part.content):
        return part
    return replace(part, content=WRAPPER % base64.encodebytes(part.content), content_type=Kind.SCRIPT.value)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
