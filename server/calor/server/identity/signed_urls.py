"""Signed URLs of signals and wait conditions, with Heat's query parameters (agents.json, ``signed_url``).

    http://host:8000/v1/signal/arn%3Aopenstack%3Aheat%3A%3APROJECT%3Astacks/NAME/ID/resources/RES?AWSAccessKeyId=…

The URL of one resource is the same each time. ``AWSAccessKeyId`` is the id of the resource's row, so a URL never
reaches the resource's replacement. Neither clock nor host takes part in the check: a guest may know us by another name,
and a URL lives as long as its resource (F037). What is signed has the layout of EC2 version 2 with an empty host line.
"""

import base64
import enum
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlencode

from calor.server.errors import Forbidden
from calor.server.identity.keys import Keys

_ARN = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<name>[^/]+)/(?P<stack>[^/]+)/resources/(?P<resource>[^/]+)"
)
_FIXED = {"SignatureMethod": "HmacSHA256", "SignatureVersion": "2"}
_REFUSED = "The signature of this URL is not valid."


class UrlKind(enum.Enum):
    """What a signed URL is for; the value is its place in the path."""

    SIGNAL = "signal"
    WAIT_CONDITION = "waitcondition"


_VERB = {UrlKind.SIGNAL: "POST", UrlKind.WAIT_CONDITION: "PUT"}


@dataclass(frozen=True, kw_only=True)
class SignedTarget:
    """The resource that a signed URL reaches. ``resource_id`` is its row's id."""

    kind: UrlKind
    project_id: str
    stack_name: str
    stack_id: str
    resource_name: str
    resource_id: str

    @property
    def arn(self) -> str:
        stack = f"{self.stack_name}/{self.stack_id}"
        return f"arn:openstack:heat::{self.project_id}:stacks/{stack}/resources/{self.resource_name}"

    @property
    def path(self) -> str:
        """Not quoted."""
        return f"/v1/{self.kind.value}/{self.arn}"


class UrlSigner:
    """Makes and checks signed URLs with the keys of one purpose, newest first."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    @classmethod
    def of(cls, keys: Keys) -> "UrlSigner":
        return cls(keys.derived("signed-url"))

    def sign(self, base: str, target: SignedTarget, *, at: datetime | None) -> str:
        """The URL below ``base`` (``http://host:8000``). ``at``: when the resource was made; None: no Timestamp."""
        params = {**_FIXED, "AWSAccessKeyId": target.resource_id}
        if at is not None:
            params["Timestamp"] = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        signature = _signature(self._keys[0], target.kind, target.path, params)
        query = urlencode([*sorted(params.items()), ("Signature", signature)])
        return f"{base.rstrip('/')}{quote(target.path)}?{query}"

    def secret(self, purpose: str) -> str:
        """A secret of a purpose, derived from the newest key."""
        return hmac.new(self._keys[0], f"secret/{purpose}".encode(), hashlib.sha256).hexdigest()

    def read(self, path: str, query: Mapping[str, str]) -> SignedTarget:
        """The target of a URL that we signed. ``path`` is as on the wire. Raises `Forbidden`."""
        plain = unquote(path)
        target = _target(plain, query.get("AWSAccessKeyId", ""))
        given = query.get("Signature", "").encode("utf-8", "replace")
        params = {name: value for name, value in query.items() if name != "Signature"}
        expected = [_signature(key, target.kind, plain, params).encode() for key in self._keys]
        if not any([hmac.compare_digest(given, one) for one in expected]):  # a list: every key is tried
            raise Forbidden(_REFUSED)
        return target


def _target(path: str, access_key: str) -> SignedTarget:
    _, _, rest = path.partition("/v1/")
    kind, _, arn = rest.partition("/")
    found = _ARN.fullmatch(arn)
    if kind not in {one.value for one in UrlKind} or found is None or not access_key:
        raise Forbidden(_REFUSED)
    return SignedTarget(
        kind=UrlKind(kind),
        project_id=found["project"],
        stack_name=found["name"],
        stack_id=found["stack"],
        resource_name=found["resource"],
        resource_id=access_key,
    )


def _signature(key: bytes, kind: UrlKind, path: str, params: Mapping[str, str]) -> str:
    query = "&".join(f"{quote(name, '-_~')}={quote(params[name], '-_~', errors='replace')}" for name in sorted(params))
    text = "\n".join((_VERB[kind], "", path, query))
    return base64.b64encode(hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)).decode()
