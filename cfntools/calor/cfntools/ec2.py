"""EC2 signature version 2, with which instances that have a key pair ask the CloudFormation API."""

import base64
import hashlib
import hmac
import time
from typing import Any, Dict, NamedTuple
from urllib.parse import quote, urlsplit

from calor.cfntools import cloudformation, httpclient, tls
from calor.cfntools.cloudformation import ApiRefused

__all__ = ["ApiRefused", "Endpoint", "asker", "describe_stack_resource", "signed_query"]


class Endpoint(NamedTuple):
    """Where the CloudFormation API is, and as whom to ask it."""

    url: str
    access_key: str
    secret_key: str
    trust: tls.Trust = tls.DEFAULT


def signed_query(method: str, url: str, params: Dict[str, str], secret_key: str) -> str:
    """The query string for ``params`` with its version 2 signature (HMAC-SHA256) at the end."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    default = {"http": ":80", "https": ":443"}[parts.scheme]
    if host.endswith(default):
        host = host[: -len(default)]
    query = "&".join("{}={}".format(_quoted(key), _quoted(value)) for key, value in sorted(params.items()))
    text = "\n".join((method, host, parts.path or "/", query))
    digest = hmac.new(secret_key.encode("utf-8"), text.encode("utf-8"), hashlib.sha256).digest()
    return query + "&Signature=" + _quoted(base64.b64encode(digest).decode("ascii"))


def asker(endpoint: Endpoint, timeout: float = 30.0) -> cloudformation.Ask:
    """The API at this address, asked with this key pair."""

    def ask(action: Dict[str, str]) -> bytes:
        params = {
            "AWSAccessKeyId": endpoint.access_key,
            "SignatureVersion": "2",
            "SignatureMethod": "HmacSHA256",
            "Version": "2010-05-15",
            "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        params.update(action)
        url = "{}?{}".format(endpoint.url, signed_query("GET", endpoint.url, params, endpoint.secret_key))
        return cloudformation.checked(httpclient.request("GET", url, timeout=timeout, trust=endpoint.trust))

    return ask


def describe_stack_resource(endpoint: Endpoint, stack: str, resource: str, timeout: float = 30.0) -> Dict[str, Any]:
    """The resource's metadata as the API has it now. Raises ApiRefused or httpclient.TransportError."""
    return cloudformation.describe_stack_resource(asker(endpoint, timeout), stack, resource).metadata


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
