"""EC2 request signatures, version 2 (parameters) and version 4 (header or parameters): reading and checking.

who = read(request)                                  # whose key, which version
check(request, who, secret_key, now=…, tolerance=…)  # raises Ec2Refused
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

_V4 = "AWS4-HMAC-SHA256"
_V2_DIGESTS = {"HmacSHA256": hashlib.sha256, "HmacSHA1": hashlib.sha1}
_UNSIGNED = "UNSIGNED-PAYLOAD"


class Ec2Refused(Exception):
    """Refused, with the name AWS gives to the fault (api-routes.json, ``cfn.errors``)."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, kw_only=True)
class Ec2Request:
    """What a signature covers. ``path`` is as on the wire; header names are in lower case.

    ``params`` are the decoded query parameters, ``form`` those of an urlencoded body.
    """

    method: str
    host: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Ec2Signature:
    """A signature as read from a request. ``scope`` is date/region/service/aws4_request (version 4)."""

    version: int
    access_key: str
    signature: str
    timestamp: str
    algorithm: str
    scope: str = ""
    signed_headers: tuple[str, ...] = ()
    in_query: bool = False


def read(request: Ec2Request) -> Ec2Signature:
    """Find the signature, wherever it is. Raises `Ec2Refused`."""
    authorization = request.headers.get("authorization", "")
    if authorization.startswith(_V4):
        return _read_v4_header(request, authorization)
    if request.params.get("X-Amz-Algorithm") == _V4:
        return _read_v4_query(request)
    params = {**request.params, **request.form}
    if "AWSAccessKeyId" not in params:
        raise Ec2Refused("MissingAuthenticationToken", "The request carries no AWS signature.")
    if "Signature" not in params or params.get("SignatureVersion", "2") != "2":
        raise Ec2Refused("IncompleteSignature", "Only signatures of version 2 and 4 are understood.")
    return Ec2Signature(
        version=2,
        access_key=params["AWSAccessKeyId"],
        signature=params["Signature"],
        timestamp=params.get("Timestamp", ""),
        algorithm=params.get("SignatureMethod", "HmacSHA256"),
    )


def check(
    request: Ec2Request,
    who: Ec2Signature,
    secret_key: str,
    *,
    now: datetime,
    tolerance: timedelta = timedelta(minutes=15),
) -> None:
    """Raise `Ec2Refused` unless ``secret_key`` made the signature, lately where it says when."""
    hosts = _hosts(request.host)
    expected = (
        _expected_v2(request, who, secret_key, hosts)
        if who.version == 2
        else _expected_v4(request, who, secret_key, hosts)
    )
    given = who.signature.encode("utf-8", "replace")
    if not any([hmac.compare_digest(given, one.encode()) for one in expected]):
        raise Ec2Refused("SignatureDoesNotMatch", "The signature was not made with this access key's secret.")
    _check_time(who.timestamp, now, tolerance)


def _hosts(host: str) -> tuple[str, ...]:
    """A client may sign the host with its port or, as old boto does, without."""
    lower = host.lower()
    bare = lower.rsplit(":", 1)[0] if not lower.endswith("]") else lower
    return tuple(dict.fromkeys((lower, bare)))


def _check_time(timestamp: str, now: datetime, tolerance: timedelta) -> None:
    if not timestamp:
        return
    for form in ("%Y%m%dT%H%M%SZ", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S"):
        try:
            at = datetime.strptime(timestamp, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        if abs(now - at) > tolerance:
            raise Ec2Refused(
                "RequestExpired",
                f"The request was signed at {timestamp}, the server's clock says {now:%Y-%m-%dT%H:%M:%SZ}.",
            )
        return
    raise Ec2Refused("IncompleteSignature", f"The time stamp '{timestamp}' cannot be read.")


def _pairs(params: Mapping[str, str]) -> str:
    encoded = sorted((quote(name, "-_.~"), quote(value, "-_.~")) for name, value in params.items())
    return "&".join(f"{name}={value}" for name, value in encoded)


def _expected_v2(request: Ec2Request, who: Ec2Signature, secret: str, hosts: tuple[str, ...]) -> list[str]:
    digest = _V2_DIGESTS.get(who.algorithm)
    if digest is None:
        raise Ec2Refused("IncompleteSignature", f"The signature method '{who.algorithm}' is not known.")
    params = {name: value for name, value in {**request.params, **request.form}.items() if name != "Signature"}
    texts = ("\n".join((request.method, host, request.path or "/", _pairs(params))) for host in hosts)
    return [base64.b64encode(hmac.digest(secret.encode(), text.encode(), digest)).decode() for text in texts]


def _read_v4_header(request: Ec2Request, authorization: str) -> Ec2Signature:
    parts: dict[str, str] = {}
    for part in authorization[len(_V4) :].split(","):
        name, _, value = part.strip().partition("=")
        parts[name] = value
    timestamp = request.headers.get("x-amz-date", "")
    return _v4(parts.get("Credential", ""), parts.get("SignedHeaders", ""), parts.get("Signature", ""), timestamp)


def _read_v4_query(request: Ec2Request) -> Ec2Signature:
    get = request.params.get
    return _v4(
        get("X-Amz-Credential", ""),
        get("X-Amz-SignedHeaders", ""),
        get("X-Amz-Signature", ""),
        get("X-Amz-Date", ""),
        in_query=True,
    )


def _v4(credential: str, signed: str, signature: str, timestamp: str, *, in_query: bool = False) -> Ec2Signature:
    access_key, _, scope = credential.partition("/")
    if not (access_key and scope.count("/") == 3 and signed and signature and timestamp):
        raise Ec2Refused("IncompleteSignature", "The version 4 signature lacks a part.")
    return Ec2Signature(
        version=4,
        access_key=access_key,
        signature=signature,
        timestamp=timestamp,
        algorithm=_V4,
        scope=scope,
        signed_headers=tuple(signed.lower().split(";")),
        in_query=in_query,
    )


def _expected_v4(request: Ec2Request, who: Ec2Signature, secret: str, hosts: tuple[str, ...]) -> list[str]:
    payload = _payload_hash(request, who)
    params = {name: value for name, value in request.params.items() if name != "X-Amz-Signature"}
    key = f"AWS4{secret}".encode()
    for part in who.scope.split("/"):
        key = hmac.digest(key, part.encode("utf-8", "replace"), hashlib.sha256)
    expected = []
    for host in hosts:
        headers = {**request.headers, "host": host}
        lines = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in who.signed_headers)
        canonical = "\n".join(
            (request.method, request.path or "/", _pairs(params), lines, ";".join(who.signed_headers), payload)
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = "\n".join((_V4, who.timestamp, who.scope, digest))
        expected.append(hmac.digest(key, text.encode(), hashlib.sha256).hex())
    return expected


def _payload_hash(request: Ec2Request, who: Ec2Signature) -> str:
    real = hashlib.sha256(request.body).hexdigest()
    stated = request.headers.get("x-amz-content-sha256", real)
    if stated == _UNSIGNED or (who.in_query and not request.body):
        return stated
    return real  # a stated hash that differs from the body's makes the signature wrong, as it should
