"""Keeps user-data within what the compute service takes, before it is asked."""

import gzip
from collections.abc import Mapping

MAX_USER_DATA = 65_535
"""Nova's limit on the base64 text, in characters: 49,149 bytes before encoding."""


class UserDataTooLarge(ValueError):
    """The user-data does not fit, compressed neither. ``sizes`` are the bytes of each part, largest first."""

    def __init__(self, encoded: int, limit: int, sizes: Mapping[str, int]) -> None:
        self.encoded, self.limit = encoded, limit
        self.sizes = dict(sorted(sizes.items(), key=lambda item: -item[1]))
        listing = ", ".join(f"{name} {size:,}" for name, size in self.sizes.items())
        super().__init__(
            f"The user data takes {encoded:,} characters in base64, compressed where possible; the compute service"
            f" accepts {limit:,}. Bytes of each part: {listing}. Move the largest into a software deployment, or"
            " let the instance fetch it."
        )


def encoded_size(data: bytes) -> int:
    """Characters of the base64 text."""
    return (len(data) + 2) // 3 * 4


def fitted(data: bytes, sizes: Mapping[str, int], *, limit: int = MAX_USER_DATA, compressible: bool = True) -> bytes:
    """The data itself if it fits, else gzip of it (cloud-init unpacks that), else `UserDataTooLarge`."""
    if encoded_size(data) <= limit:
        return data
    packed = gzip.compress(data, mtime=0) if compressible else data
    if encoded_size(packed) > limit:
        raise UserDataTooLarge(encoded_size(packed), limit, sizes)
    return packed
