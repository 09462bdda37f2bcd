"""Sources that OpenStack's os-collect-config knows: Heat's API, the CloudFormation API, a plain URL, a local file."""

import json
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote

from calor.agent import durable, keystone
from calor.agent.collecting import Collection, Collector
from calor.agent.deployments import parse_all
from calor.agent.identity import Refused
from calor.cfntools import ec2, httpclient, tls


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
    """POLL_TEMP_URL: a JSON document at an address."""

    name = "request"

    def __init__(self, url: str, trust: tls.Trust) -> None:
        super(Request, self).__init__()
        self._url, self._trust = url, trust

    def metadata(self) -> Dict[str, Any]:
        answer = httpclient.request("GET", self._url, None, None, 20.0, self._trust)
        if not answer.ok:
            raise Refused("metadata address", answer)
        return _map(answer)


class LocalFile(Polled):
    """The metadata that cloud-init left on disk at boot."""

    name = "heat_local"

    def __init__(self, path: str) -> None:
        super(LocalFile, self).__init__()
        self._path = path

    def metadata(self) -> Dict[str, Any]:
        return durable.read_map(self._path)


def _map(answer: httpclient.Answer) -> Dict[str, Any]:
    try:
        found = json.loads(answer.text() or "{}")
    except ValueError as exc:
        raise httpclient.TransportError("the metadata is not JSON: {}".format(exc)) from exc
    return found if isinstance(found, dict) else {}


def from_configuration(sections: Dict[str, Dict[str, Any]], trust: tls.Trust) -> List[Collector]:
    """The sources that os-collect-config's configuration (its metadata key or its file) describes."""
    found: List[Collector] = []
    heat, cfn, request = (sections.get(name) or {} for name in ("heat", "cfn", "request"))
    who = keystone.account(heat)
    if who and heat.get("stack_id") and heat.get("resource_name"):
        found.append(Heat(who, str(heat["stack_id"]), str(heat["resource_name"]), trust))
    keys = _pair(cfn)
    if keys and cfn.get("metadata_url") and cfn.get("stack_name") and cfn.get("path"):
        own = tls.Trust(str(cfn["ca_certificate"])) if cfn.get("ca_certificate") else trust
        paths = cfn["path"] if isinstance(cfn["path"], list) else str(cfn["path"]).split("\n")
        wanted = [str(path).strip() for path in paths if str(path).strip()]
        found.append(Cfn(ec2.Endpoint(str(cfn["metadata_url"]), keys[0], keys[1], own), str(cfn["stack_name"]), wanted))
    if request.get("metadata_url") not in (None, "", "null", "None"):
        found.append(Request(str(request["metadata_url"]), trust))
    return found


def _pair(cfn: Dict[str, Any]) -> Optional[Tuple[str, str]]:
    access, secret = cfn.get("access_key_id"), cfn.get("secret_access_key")
    return (str(access), str(secret)) if access and secret else None
