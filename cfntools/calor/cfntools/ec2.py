"""EC2 signature version 2 and the one CloudFormation call that instances make: DescribeStackResource."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Dict, NamedTuple
from urllib.parse import quote, urlsplit

from calor.cfntools import httpclient, tls


class ApiRefused(Exception):
    """The CloudFormation API answered with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super(ApiRefused, self).__init__("the CloudFormation API answered {}: {}".format(status, message))
        self.status = status


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


def describe_stack_resource(endpoint: Endpoint, stack: str, resource: str, timeout: float = 30.0) -> Dict[str, Any]:
    """The resource's metadata as the API has it now. Raises ApiRefused or httpclient.TransportError."""
    params = {
        "Action": "DescribeStackResource",
        "StackName": stack,
        "LogicalResourceId": resource,
        "AWSAccessKeyId": endpoint.access_key,
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Version": "2010-05-15",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    url = "{}?{}".format(endpoint.url, signed_query("GET", endpoint.url, params, endpoint.secret_key))
    answer = httpclient.request("GET", url, timeout=timeout, trust=endpoint.trust)
    if not answer.ok:
        raise ApiRefused(answer.status, answer.text()[:500])
    return _metadata_of(answer.body)


def _metadata_of(document: bytes) -> Dict[str, Any]:
    import xml.etree.ElementTree as ElementTree  # only guests that poll this API pay for expat

    try:
        root = ElementTree.fromstring(document)
        found = next((node for node in root.iter() if node.tag.rpartition("}")[2] == "Metadata"), None)
        metadata = json.loads(found.text or "{}") if found is not None else {}
    except (ElementTree.ParseError, ValueError) as exc:
        raise httpclient.TransportError("DescribeStackResource: unreadable answer: {}".format(exc)) from exc
    return metadata if isinstance(metadata, dict) else {}


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
