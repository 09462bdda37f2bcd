"""Results by a deployment's own transport, as Heat's heat-config-notify sends them."""

import json
from typing import Any, Dict, Optional
from urllib.parse import quote

from calor.agent import keystone, queues
from calor.agent.identity import Refused
from calor.cfntools import httpclient, tls

MESSAGE_LIVES = 1209600
"""Seconds: as long as the messaging service lets a message lie; the server may be away for a while."""


def send(inputs: Dict[str, Any], outputs: Dict[str, Any], trust: tls.Trust) -> Optional[str]:
    """Signal the outputs by what the inputs have for it. None once the server has taken them; a text says why there is
    nobody to signal to. Raises Refused or httpclient.TransportError."""
    if inputs.get("deploy_signal_id"):
        _by_url(inputs, outputs, trust)
        return None
    who = keystone.account(inputs, prefix="deploy_")
    if who is not None and inputs.get("deploy_queue_id"):
        queues.Queue(who, str(inputs["deploy_queue_id"]), trust).post(outputs, MESSAGE_LIVES)
        return None
    if who is not None:
        _by_api(who, inputs, outputs, trust)
        return None
    transport = str(inputs.get("deploy_signal_transport") or "NO_SIGNAL")
    if transport == "NO_SIGNAL":
        return "the deployment asks for no signal"
    return "the deployment's inputs have nothing to signal with by {}".format(transport)


def _by_url(inputs: Dict[str, Any], outputs: Dict[str, Any], trust: tls.Trust) -> None:
    verb = "PUT" if str(inputs.get("deploy_signal_verb") or "POST").upper() == "PUT" else "POST"
    data = json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json"}
    answer = httpclient.request(verb, str(inputs["deploy_signal_id"]), data, headers, 30.0, trust)
    if not answer.ok:
        raise Refused("signal", answer)


def _by_api(who: keystone.Account, inputs: Dict[str, Any], outputs: Dict[str, Any], trust: tls.Trust) -> None:
    session = keystone.log_in(who, trust)
    stack, resource = str(inputs.get("deploy_stack_id")), str(inputs.get("deploy_resource_name"))
    path = "/stacks/{}/resources/{}/signal".format(quote(stack, safe="/"), quote(resource))
    answer = session.call("POST", path, outputs, trust)
    if not answer.ok:
        raise Refused("signal", answer)
