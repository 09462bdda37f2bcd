"""The CloudFormation Query API's answers: AWS XML or JSON, and AWS errors (api-routes.json, ``cfn``)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from aiohttp import web

from calor.server.errors import CalorError

_STATUS = {
    "AccessDenied": 403,
    "AlreadyExists": 400,
    "IncompleteSignature": 400,
    "InternalFailure": 500,
    "InvalidAction": 400,
    "InvalidClientTokenId": 403,
    "InvalidParameterValue": 400,
    "MissingAction": 400,
    "MissingAuthenticationToken": 403,
    "MissingParameter": 400,
    "RequestExpired": 400,
    "RequestLimitExceeded": 400,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
}
_AS_JSON = web.RequestKey("cfn_as_json", bool)
_CODE_OF_STATUS = {
    400: "InvalidParameterValue",
    401: "InvalidClientTokenId",
    403: "AccessDenied",
    404: "InvalidParameterValue",
}
_CODE_OF_NAME = {
    "StackExists": "AlreadyExists",
    "ActionInProgress": "InvalidAction",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "HTTPMethodNotAllowed": "InvalidAction",
    "ServiceUnavailable": "ServiceUnavailable",
}


class CfnFault(CalorError):
    """A fault with AWS's own name for it."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.status = _STATUS[code]


def answer(action: str, result: Mapping[str, Any], *, as_json: bool) -> web.Response:
    """``ActionResponse`` holding ``ActionResult``."""
    return _answer({f"{action}Response": {f"{action}Result": result}}, as_json=as_json)


def error_answer(request: web.Request, error: CalorError) -> web.StreamResponse:
    """AWS's error body. What is not found by a signed URL or a method keeps its status."""
    if isinstance(error, CfnFault):
        code = error.code
    else:
        code = _CODE_OF_NAME.get(error.type_name) or _CODE_OF_STATUS.get(error.status, "InternalFailure")
    status = _STATUS[code] if is_query(request) else error.status
    kind = "Server" if status >= 500 else "Sender"
    body = {"ErrorResponse": {"Error": {"Type": kind, "Code": code, "Message": error.detail}}}
    return _answer(body, as_json=wants_json(request), status=status)


def is_query(request: web.Request) -> bool:
    """Whether it is an action of the Query API rather than a signal's URL."""
    return request.path.rstrip("/") in {"", "/v1"}


def read_content_type(request: web.Request, params: Mapping[str, str]) -> None:
    """Note what the parameters of the query or of a form say of the answer's form, errors included."""
    request[_AS_JSON] = params.get("ContentType") == "JSON"


def wants_json(request: web.Request) -> bool:
    return request[_AS_JSON] if _AS_JSON in request else request.query.get("ContentType") == "JSON"


def _answer(body: Mapping[str, Any], *, as_json: bool, status: int = 200) -> web.Response:
    if as_json:
        return web.json_response(body, status=status)
    ((name, content),) = body.items()
    root = ElementTree.Element(name)
    _fill(root, content)
    return web.Response(
        body=ElementTree.tostring(root, encoding="utf-8"), content_type="application/xml", status=status
    )


def _fill(element: ElementTree.Element, value: Any) -> None:
    """Lists become ``member`` elements; metadata is JSON text, as the agents expect it."""
    if element.tag in {"Metadata", "TemplateBody"}:
        element.text = json.dumps(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            _fill(ElementTree.SubElement(element, name), inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            _fill(ElementTree.SubElement(element, "member"), inner)
    elif value is not None:
        element.text = str(value)
