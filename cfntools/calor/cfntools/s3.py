"""GET from S3 and what speaks its protocol (Ceph, Swift's s3api, MinIO), signed by AWS's signature version 4.

Rules: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" in Amazon's S3 API Reference.
The region is that of Amazon's own host names, elsewhere ``us-east-1``; a server that expects another, or another time
than this machine's, says so in its refusal and is asked again as it wishes.
"""

import hashlib
import hmac
import re
import time
from email.utils import mktime_tz, parsedate_tz
from typing import Dict, NamedTuple, Optional
from urllib.parse import parse_qsl, quote, unquote, urljoin, urlsplit, urlunsplit

from calor.cfntools import httpclient, tls

REGION = "us-east-1"
ATTEMPTS = 5
NOTHING = hashlib.sha256(b"").hexdigest()
SIGNED = "host;x-amz-content-sha256;x-amz-date"
AMAZON = re.compile(r"(?:(?P<bucket>.+)\.)?s3(?:[.-]dualstack)?(?:[.-](?P<region>[a-z0-9-]+))?\.amazonaws\.com(\.cn)?$")
EXPECTED = re.compile(r"<Region>([a-z0-9-]+)</Region>")
CODE = re.compile(r"<Code>([A-Za-z0-9.]+)</Code>")


class Key(NamedTuple):
    """As whom S3 is asked."""

    access_key: str
    secret_key: str


class _Manner(NamedTuple):
    """How the next request is signed: for which region, and how far the server's clock is ahead of ours."""

    region: str
    ahead: float = 0.0


def get(key: Key, url: str, timeout: float, sink: httpclient.Sink, trust: tls.Trust = tls.DEFAULT) -> httpclient.Answer:
    """The object at this address. A redirection is followed with a signature of its own. Raises TransportError."""
    url, manner = normal(url), _Manner(_region(url))
    answer = _ask(key, url, manner, timeout, sink, trust)
    for _ in range(ATTEMPTS - 1):
        target = answer.headers.get("location")
        if answer.status in httpclient.REDIRECTS and target:
            url = normal(urljoin(url, target))
            manner = _Manner(answer.headers.get("x-amz-bucket-region") or _region(url), manner.ahead)
        else:
            wished = _wished(answer, manner)
            if wished == manner:
                break
            manner = wished
        answer = _ask(key, url, manner, timeout, sink, trust)
    return answer


def reason(answer: httpclient.Answer) -> str:
    """S3's own word for a refusal, such as ``NoSuchKey``; empty where there is none."""
    found = CODE.search(answer.text())
    return found.group(1) if found else ""


def is_in(bucket: str, url: str) -> bool:
    """Whether the address is one within the bucket: by path (``host/BUCKET/key``), at Amazon also by host
    (``BUCKET.s3.amazonaws.com/key``). One that carries a signature already is nobody's."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or re.search(r"(^|&)(X-Amz-)?Signature=", parts.query):
        return False
    amazon = AMAZON.match(str(parts.hostname))
    named = amazon.group("bucket") if amazon else None
    return (named or unquote(parts.path).lstrip("/").partition("/")[0]) == bucket


def normal(url: str) -> str:
    """The address escaped exactly as the signature has it, whatever was escaped before."""
    parts = urlsplit(url)
    pairs = (_escaped(name) + "=" + _escaped(value) for name, value in parse_qsl(parts.query, True))
    path = _escaped(unquote(parts.path), "/") or "/"
    return urlunsplit((parts.scheme, parts.netloc, path, "&".join(pairs), ""))


def headers(key: Key, url: str, region: str, seconds: float) -> Dict[str, str]:
    """What a GET of this (normal) address is sent with at this time."""
    parts = urlsplit(url)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))
    sent = {"host": parts.netloc.rpartition("@")[2], "x-amz-content-sha256": NOTHING, "x-amz-date": moment}
    query = sorted(pair.split("=") for pair in parts.query.split("&"))
    request = "\n".join(
        ["GET", parts.path, "&".join("=".join(pair) for pair in query)]
        + ["{}:{}".format(name, sent[name]) for name in SIGNED.split(";")]
        + ["", SIGNED, NOTHING]
    )
    scope = "{}/{}/s3/aws4_request".format(moment[:8], region)
    digest = hashlib.sha256(request.encode("utf-8")).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, digest))
    signature = hmac.new(_derived(key.secret_key, scope), text.encode("utf-8"), hashlib.sha256).hexdigest()
    credential = "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}"
    del sent["host"]
    return dict(sent, Authorization=credential.format(key.access_key, scope, SIGNED, signature))


def _ask(
    key: Key, url: str, manner: _Manner, timeout: float, sink: httpclient.Sink, trust: tls.Trust
) -> httpclient.Answer:
    signed = headers(key, url, manner.region, time.time() + manner.ahead)
    return httpclient.request("GET", url, None, signed, timeout, trust, sink, follow=False)


def _wished(answer: httpclient.Answer, manner: _Manner) -> _Manner:
    """The manner that a refusal asks for; the same where it asks for none."""
    if answer.status not in (301, 400, 403):
        return manner
    expected = EXPECTED.search(answer.text())
    region = answer.headers.get("x-amz-bucket-region") or (expected.group(1) if expected else "")
    if region and region != manner.region:
        return _Manner(region, manner.ahead)
    if reason(answer) == "RequestTimeTooSkewed" and not manner.ahead:
        return _Manner(manner.region, _ahead(answer.headers.get("date")))
    return manner


def _ahead(date: Optional[str]) -> float:
    found = parsedate_tz(date or "")
    return mktime_tz(found) - time.time() if found else 0.0


def _region(url: str) -> str:
    found = AMAZON.match(str(urlsplit(url).hostname))
    return (found.group("region") if found else None) or REGION


def _derived(secret: str, scope: str) -> bytes:
    made = ("AWS4" + secret).encode("utf-8")
    for word in scope.split("/"):
        made = hmac.new(made, word.encode("utf-8"), hashlib.sha256).digest()
    return made


def _escaped(text: str, safe: str = "") -> str:
    return quote(text, safe=safe + "-_.~")
