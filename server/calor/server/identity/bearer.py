"""Tokens that carry their own meaning: short bearer tokens of instances, and bootstrap tokens.

A bearer token says whose it is and until when, and is checked without a database.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from calor.server.errors import Unauthorized
from calor.server.identity.keys import Keys

_VERSION = "calor1"
_REFUSED = "The instance token is not valid or has expired; ask for a new one."


@dataclass(frozen=True, kw_only=True)
class InstanceClaims:
    """What a bearer token opens: one server resource. ``expires_at`` is in seconds since the epoch."""

    resource_id: str
    stack_id: str
    project_id: str
    expires_at: int


def is_instance_token(token: str) -> bool:
    """Whether a token has our form: who it belongs to is `BearerTokens.read`'s to say."""
    return token.startswith(f"{_VERSION}.")


class BearerTokens:
    """Mints and reads bearer tokens with the keys of one purpose, newest first."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    @classmethod
    def of(cls, keys: Keys) -> "BearerTokens":
        return cls(keys.derived("instance-bearer"))

    def mint(self, claims: InstanceClaims) -> str:
        body = _encode(
            json.dumps([claims.resource_id, claims.stack_id, claims.project_id, claims.expires_at]).encode("ascii")
        )
        return f"{_VERSION}.{body}.{_sign(self._keys[0], body)}"

    def read(self, token: str, *, now: float) -> InstanceClaims:
        """Raises `Unauthorized` for whatever is not a live token of ours."""
        version, _, rest = token.partition(".")
        body, _, signature = rest.partition(".")
        given = signature.encode("utf-8", "replace")
        signed = any([hmac.compare_digest(given, _sign(key, body).encode()) for key in self._keys])
        if version != _VERSION or not signed:
            raise Unauthorized(_REFUSED)
        resource_id, stack_id, project_id, expires_at = json.loads(_decode(body))
        if expires_at <= now:
            raise Unauthorized(_REFUSED)
        return InstanceClaims(resource_id=resource_id, stack_id=stack_id, project_id=project_id, expires_at=expires_at)


class BootstrapTokens:
    """Tokens that open an instance's enrolment. ``generation`` grows with each re-arming, which ends the former one."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    @classmethod
    def of(cls, keys: Keys) -> "BootstrapTokens":
        return cls(keys.derived("instance-bootstrap"))

    def mint(self, resource_id: str, generation: int = 0) -> str:
        """The same each time for the same resource and generation."""
        return _sign(self._keys[0], f"{resource_id}.{generation}")

    def is_valid(self, token: str, resource_id: str, generation: int = 0) -> bool:
        given = token.encode("utf-8", "replace")
        text = f"{resource_id}.{generation}"
        return any([hmac.compare_digest(given, _sign(key, text).encode()) for key in self._keys])


def _sign(key: bytes, text: str) -> str:
    return _encode(hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error) as exc:
        raise Unauthorized(_REFUSED) from exc
