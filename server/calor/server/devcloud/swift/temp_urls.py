"""TempURL: who holds the account's or container's key may hand out single requests. Pure but for the clock given."""

import calendar
import hmac
import time
from collections.abc import Iterable, Mapping

DIGESTS = {40: "sha1", 64: "sha256", 128: "sha512"}
ALSO = {
    "PUT": ("PUT",),
    "GET": ("GET",),
    "POST": ("POST",),
    "DELETE": ("DELETE",),
    "HEAD": ("HEAD", "GET", "PUT", "POST"),
}


def signature(key: str, method: str, expires: int, path: str, digest: str) -> str:
    return hmac.new(key.encode(), f"{method}\n{expires}\n{path}".encode(), digest).hexdigest()


def expiry(text: str) -> int | None:
    """Seconds since the epoch, from a number or an ISO 8601 time; None for neither."""
    if text.isdecimal() and len(text) < 20:
        return int(text)
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"):
        try:
            return calendar.timegm(time.strptime(text, form))
        except ValueError:
            continue
    return None


def is_allowed(
    method: str, paths: Iterable[str], query: Mapping[str, str], keys: Iterable[str], present: float
) -> bool:
    """``paths``: how the object may have been named when it was signed (with and without our prefix)."""
    given, expires = query.get("temp_url_sig", ""), expiry(query.get("temp_url_expires", ""))
    digest = DIGESTS.get(len(given))
    if ":" in given:
        digest, _, given = given.partition(":")
    if expires is None or expires < present or digest not in DIGESTS.values():
        return False
    paths = tuple(paths)
    return any(
        hmac.compare_digest(signature(key, signed, expires, path, str(digest)), given.lower())
        for key in keys
        if key
        for signed in ALSO.get(method, ())
        for path in paths
    )
