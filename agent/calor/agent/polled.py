"""Sources in the network that OpenStack's os-collect-config knows: Heat's API, CloudFormation's, a URL, a queue."""

import json
import os
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote

from calor.agent import keystone, queues
from calor.agent.collecting import Collection, Collector
from calor.agent.deployments import parse_all
from calor.agent.identity import Refused
from calor.cfntools import durable, ec2, httpclient, tls


class Polled(Collector):
    """A source that answers at once with everything; what has not changed is not given twice."""

    def __init__(self) -> None:
        self._last = ""

    def collect(self) -> Optional[Collection]:
        metadata = self.metadata()
        text = json.dumps(metadata, sort_keys=True)
        if text == self._last:
            return None
        self._last = text
        return Collection(parse_all(metadata.get("deployments")), [])

    def metadata(self) -> Dict[str, Any]:
        raise NotImplementedError


class Heat(Polled):
    """POLL_SERVER_HEAT: the resource's metadata from the orchestration API, with a Keystone password."""

    name = "heat"

    def __init__(self, who: keystone.Account, stack: str, resource: str, trust: tls.Trust) -> None:
        super(Heat, self).__init__()
        self._who, self._stack, self._resource, self._trust = who, stack, resource, trust
        self._session: Optional[keystone.Session] = None

    def metadata(self) -> Dict[str, Any]:
        answer = self._ask()
        if answer.status == 401:
            self._session = None
            answer = self._ask()
        if not answer.ok:
            raise Refused("resource metadata", answer)
        return _map(answer).get("metadata") or {}

    def _ask(self) -> httpclient.Answer:
        if self._session is None:
            self._session = keystone.log_in(self._who, self._trust)
        path = "/stacks/{}/resources/{}/metadata".format(quote(self._stack, safe="/"), quote(self._resource))
        return self._session.call("GET", path, None, self._trust)


class Cfn(Polled):
    """POLL_SERVER_CFN: DescribeStackResource with an EC2 key pair. ``path`` is RESOURCE.FIELD[.key…]."""

    name = "cfn"

    def __init__(self, endpoint: ec2.Endpoint, stack: str, paths: List[str]) -> None:
        super(Cfn, self).__init__()
        self._endpoint, self._stack, self._paths = endpoint, stack, paths

    def metadata(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        for path in self._paths:
            parts = path.split(".")
            value: Any = self._describe(parts[0])
            for key in parts[2:]:
                value = value.get(key, {}) if isinstance(value, dict) else {}
            if isinstance(value, dict):
                found.update(value)
        return found

    def _describe(self, resource: str) -> Any:
        try:
            return ec2.describe_stack_resource(self._endpoint, self._stack, resource)
        except ec2.ApiRefused as exc:
            raise Refused("DescribeStackResource", httpclient.Answer(exc.status, {}, str(exc).encode("utf-8"))) from exc


class Request(Polled):
    """POLL_TEMP_URL: a JSON document at an address, fetched again only when its ETag is another."""

    name = "request"

    def __init__(self, url: str, trust: tls.Trust) -> None:
        super(Request, self).__init__()
        self._url, self._trust = url, trust
        self._tag = ""
        self._known: Dict[str, Any] = {}

    def metadata(self) -> Dict[str, Any]:
        headers = {"If-None-Match": self._tag} if self._tag else {}
        answer = httpclient.request("GET", self._url, None, headers, 20.0, self._trust)
        if answer.status == 304:
            return self._known
        if not answer.ok:
            raise Refused("metadata address", answer)
        self._known = _map(answer)
        tag = answer.headers.get("etag", "")
        self._tag = tag if not tag or tag.startswith(('"', "W/")) else '"{}"'.format(tag)
        return self._known


class Zaqar(Polled):
    """ZAQAR_MESSAGE: each message is the whole metadata; the newest counts, kept on disk before it leaves the queue."""

    name = "zaqar"

    def __init__(self, queue: queues.Queue, path: str) -> None:
        super(Zaqar, self).__init__()
        self._queue, self._path = queue, path

    def metadata(self) -> Dict[str, Any]:
        messages = self._queue.messages()
        known = [one for one in messages if isinstance(one.body, dict)]
        if known:
            durable.write_json(self._path, known[-1].body)
        for message in messages:
            self._queue.remove(message)
        return durable.read_map(self._path)


def _map(answer: httpclient.Answer) -> Dict[str, Any]:
    try:
        found = json.loads(answer.text() or "{}")
    except ValueError as exc:
        raise httpclient.TransportError("the metadata is not JSON: {}".format(exc)) from exc
    return found if isinstance(found, dict) else {}


def from_configuration(sections: Dict[str, Dict[str, Any]], trust: tls.Trust, state: str) -> List["Polled"]:
    """The sources in the network that os-collect-config's configuration (its metadata key or its file) describes, in
    its order."""
    makers = (_cfn, _heat, _request, _zaqar)
    found = [make(sections.get(make.__name__[1:]) or {}, trust, state) for make in makers]
    return [one for one in found if one is not None]


def _heat(heat: Dict[str, Any], trust: tls.Trust, state: str) -> Optional[Polled]:
    who = keystone.account(heat)
    if not (who and heat.get("stack_id") and heat.get("resource_name")):
        return None
    return Heat(who, str(heat["stack_id"]), str(heat["resource_name"]), trust)


def _cfn(cfn: Dict[str, Any], trust: tls.Trust, state: str) -> Optional[Polled]:
    keys = _pair(cfn)
    if not (keys and cfn.get("metadata_url") and cfn.get("stack_name") and cfn.get("path")):
        return None
    own = tls.Trust(str(cfn["ca_certificate"])) if cfn.get("ca_certificate") else trust
    paths = cfn["path"] if isinstance(cfn["path"], list) else str(cfn["path"]).split("\n")
    wanted = [str(path).strip() for path in paths if str(path).strip()]
    return Cfn(ec2.Endpoint(str(cfn["metadata_url"]), keys[0], keys[1], own), str(cfn["stack_name"]), wanted)


def _request(request: Dict[str, Any], trust: tls.Trust, state: str) -> Optional[Polled]:
    url = request.get("metadata_url")
    return None if url in (None, "", "null", "None") else Request(str(url), trust)


def _zaqar(zaqar: Dict[str, Any], trust: tls.Trust, state: str) -> Optional[Polled]:
    who, queue = keystone.account(zaqar), zaqar.get("queue_id")
    if not (who and queue):
        return None
    own = tls.Trust(str(zaqar["ca_file"])) if zaqar.get("ca_file") else trust
    return Zaqar(queues.Queue(who, str(queue), own), os.path.join(state, "zaqar.json"))


def _pair(cfn: Dict[str, Any]) -> Optional[Tuple[str, str]]:
    access, secret = cfn.get("access_key_id"), cfn.get("secret_access_key")
    return (str(access), str(secret)) if access and secret else None
