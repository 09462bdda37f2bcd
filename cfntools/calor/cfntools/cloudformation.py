"""The two calls that instances make of the CloudFormation API, whoever answers for it and however they are let in."""

import json
from typing import Any, Callable, Dict, NamedTuple, Optional

from calor.cfntools import httpclient, retrying

Ask = Callable[[Dict[str, str]], bytes]
"""Parameters of an action (``Action`` and its own) -> the XML of a success. Raises ApiRefused or TransportError."""


UNKNOWN_NAME = ("InvalidParameterValue", "ValidationError")


class ApiRefused(Exception):
    """The CloudFormation API answered with an error; ``status`` is the HTTP status, ``code`` AWS's name of the error
    where it gave one."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        words = "{}: {}".format(code, message) if code else message
        super(ApiRefused, self).__init__("the CloudFormation API answered {}: {}".format(status, words))
        self.status = status
        self.code = code

    @property
    def is_gone(self) -> bool:
        """Whether it says that there is no such resource, as Heat, AWS and our guests' own API do. Much else is a 400,
        too: a clock that is wrong, calls that are too many."""
        return self.status == 404 or (self.status == 400 and self.code in UNKNOWN_NAME)


class Description(NamedTuple):
    """A resource as DescribeStackResource shows it."""

    metadata: Dict[str, Any]
    status: str = ""
    physical_id: str = ""
    last_updated: str = ""

    @property
    def is_in_progress(self) -> bool:
        return self.status.endswith("_IN_PROGRESS")


def describe_stack_resource(ask: Ask, stack: str, resource: str) -> Description:
    return _description(ask({"Action": "DescribeStackResource", "StackName": stack, "LogicalResourceId": resource}))


def signal_resource(ask: Ask, stack: str, resource: str, unique_id: str, status: str) -> None:
    """``status`` is SUCCESS or FAILURE."""
    ask(
        {
            "Action": "SignalResource",
            "StackName": stack,
            "LogicalResourceId": resource,
            "UniqueId": unique_id,
            "Status": status,
        }
    )


def checked(answer: httpclient.Answer) -> bytes:
    """The body of a success. Raises ApiRefused with the API's own message, TransportError where it is worth another
    try."""
    if not retrying.check(answer).ok:
        raise _refusal(answer)
    return answer.body


def _refusal(answer: httpclient.Answer) -> ApiRefused:
    try:
        found = _texts(answer.body, ("Code", "Message"))
    except httpclient.TransportError:
        found = {}
    plain = " ".join(answer.text()[:500].split())
    return ApiRefused(answer.status, found.get("Message") or plain, found.get("Code", ""))


def _description(document: bytes) -> Description:
    found = _texts(document, ("Metadata", "ResourceStatus", "PhysicalResourceId", "LastUpdatedTimestamp"))
    try:
        metadata = json.loads(found.get("Metadata") or "{}")
    except ValueError as exc:
        raise httpclient.TransportError("DescribeStackResource: unreadable metadata: {}".format(exc)) from exc
    return Description(
        metadata if isinstance(metadata, dict) else {},
        found.get("ResourceStatus", ""),
        found.get("PhysicalResourceId", ""),
        found.get("LastUpdatedTimestamp", ""),
    )


def _texts(document: bytes, names: Any) -> Dict[str, str]:
    """The text of the first element of each name, whatever its namespace."""
    import xml.etree.ElementTree as ElementTree  # only guests that ask this API pay for expat

    try:
        root: Optional[Any] = ElementTree.fromstring(document)
    except ElementTree.ParseError as exc:
        raise httpclient.TransportError("the CloudFormation API: unreadable answer: {}".format(exc)) from exc
    found: Dict[str, str] = {}
    for node in root.iter() if root is not None else ():
        name = node.tag.rpartition("}")[2]
        if name in names and name not in found:
            found[name] = node.text or ""
    return found
