"""Keeps user-data within what the compute service takes, before it is asked."""

import gzip
from collections.abc import Mapping

MAX_ENCODED = 65_535
"""Nova's limit on the base64 text, in characters."""
MAX_USER_DATA = MAX_ENCODED // 4 * 3
"""The same before encoding, in bytes: 49,149."""


class UserDataTooLarge(ValueError):
    """The user-data does not fit, compressed neither. ``sizes`` are the bytes of each part, largest first."""

    def __init__(self, size: int, limit: int, sizes: Mapping[str, int]) -> None:
        self.size, self.limit = size, limit
        self.sizes = dict(sorted(sizes.items(), key=lambda item: -item[1]))
        listing = ", ".join(f"{name} {size:,}" for name, size in self.sizes.items())
        super().__init__(
            f"The user data takes {size:,} bytes, compressed where possible; the compute service accepts {limit:,}"
            f" ({MAX_ENCODED:,} characters in base64). Bytes of each part: {listing}. Move the largest into a software"
            " deployment, or let the instance fetch it."
        )


def fitted(data: bytes, sizes: Mapping[str, int], *, limit: int = MAX_USER_DATA, compressible: bool = True) -> bytes:
    """The data itself if it fits into ``limit`` bytes (and Nova's limit), else gzip of it, which cloud-init unpacks.

    Raises `UserDataTooLarge`.
    """
    limit = min(limit, MAX_USER_DATA)
    if len(data) <= limit:
        return data
    packed = gzip.compress(data, mtime=0) if compressible else data
    if len(packed) > limit:
        raise UserDataTooLarge(len(packed), limit, sizes)
    return packed
