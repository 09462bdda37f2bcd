"""From what a service or the SDK said to our errors: the one place that reads their words (house style 15)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
import urllib3.exceptions
from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk

from calor.server.cloud.errors import (
    CloudAmbiguous,
    CloudConflict,
    CloudError,
    CloudMissing,
    CloudQuota,
    CloudRefused,
    CloudUncertain,
)

SDK_ERRORS = (sdk.SDKException, keystone.ClientException, requests.RequestException)
"""All that the libraries below raise."""

IN_USE = re.compile(
    r"in[- ]use|status must be|must be available|is not available|vm_state|task_state|still (attached|has)|"
    r"currently (attached|being)|already attached|in the process",
    re.IGNORECASE,
)
QUOTA = re.compile(r"quota|overlimit", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to its end. ``headers`` have lower-case names."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def retry_after(self) -> float | None:
        """Seconds the service asks us to wait; None if it does not say (dates are not used by OpenStack)."""
        try:
            return max(0.0, float(self.headers["retry-after"]))
        except (KeyError, ValueError):
            return None


class ConnectionLost(CloudUncertain):
    """The connection broke, or no answer came in time."""


class NotSent(CloudError):
    """No connection was made: the call had no effect."""


def answer_of(response: requests.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    if "json" in headers.get("content-type", ""):
        try:
            return Answer(response.status_code, response.json(), headers)
        except ValueError:
            return Answer(response.status_code, response.text, headers)
    return Answer(response.status_code, response.text, headers)


def message_of(body: Any) -> str:
    """The service's own sentence: each service wraps it otherwise."""
    if isinstance(body, Mapping):
        for value in body.values():
            if isinstance(value, Mapping) and "message" in value:
                detail = value.get("detail") or ""
                return f"{value['message']} {detail}".strip()
        for key in ("message", "faultstring", "NeutronError"):
            if isinstance(body.get(key), str):
                return str(body[key])
        return str(dict(body)) if body else ""
    text = re.sub(r"<title>.*?</title>|<[^>]+>", " ", str(body or ""), flags=re.DOTALL)
    return " ".join(text.split())[:500]


def fault_of(answer: Answer, service: str) -> CloudError:
    """What a 4xx or 5xx means."""
    message = message_of(answer.body) or "no reason given"
    name = service.replace("_", " ")
    detail = f"{message} (HTTP {answer.status} from the {name} service)"
    return _kind(answer.status, message, answer.body)(detail, code=answer.status)


def _kind(status: int, message: str, body: Any) -> type[CloudError]:
    if status in {400, 403, 409, 413} and (QUOTA.search(message) or QUOTA.search(" ".join(_keys(body)))):
        return CloudQuota
    if status == 404:
        return CloudMissing
    if status == 409 or (status == 400 and IN_USE.search(message)):
        return CloudConflict
    return CloudRefused if 400 <= status < 500 else CloudError


def _keys(body: Any) -> list[str]:
    """Names in an error body that say what it is: its own keys and Neutron's ``type``."""
    if not isinstance(body, Mapping):
        return []
    return [*body, *(str(value.get("type", "")) for value in body.values() if isinstance(value, Mapping))]


def translated(exc: Exception, service: str) -> CloudError:
    """Any exception of the SDK, keystoneauth or requests as ours."""
    if isinstance(exc, keystone.HttpError):
        return login_fault(exc)
    response = getattr(exc, "response", None)
    if isinstance(response, requests.Response):
        return fault_of(answer_of(response), service)
    if isinstance(exc, keystone.EndpointNotFound | keystone.CatalogException):
        return CloudMissing(f"The cloud has no {service.replace('_', ' ')} service for this project: {exc}")
    if isinstance(exc, keystone.ConnectFailure | keystone.ConnectTimeout | keystone.ConnectionError):
        return NotSent(str(exc)) if _never_connected(exc) else ConnectionLost(str(exc))
    if isinstance(exc, sdk.DuplicateResource):
        return CloudAmbiguous(str(exc))
    return CloudError(f"{type(exc).__name__}: {exc}")


def login_fault(exc: keystone.HttpError) -> CloudError:
    """keystoneauth raises these only while it logs in: the call itself was not sent. A 404 is no missing object then,
    but a trust or user that is gone."""
    detail = f"Cannot log in to the cloud: {exc.message} (HTTP {exc.http_status} from the identity service)"
    if exc.http_status >= 500 or exc.http_status == 429:
        return NotSent(detail, code=exc.http_status)
    return CloudRefused(detail, code=401)


def _never_connected(exc: BaseException) -> bool:
    """Did the connection fail to open? keystoneauth hides requests' exception, which hides urllib3's."""
    seen: BaseException | None = exc
    for _ in range(6):
        if seen is None:
            return False
        if isinstance(seen, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
            return True
        reason = getattr(seen, "reason", None) or (seen.args[0] if seen.args else None)
        seen = seen.__cause__ or seen.__context__ or (reason if isinstance(reason, BaseException) else None)
    return False
