"""The CFN listener: DescribeStackResource for agents with an EC2 pair, and signed signal URLs.

An agent's pair opens the metadata of its own resource and nothing else (F156).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from calor.server.api.bodies import as_map, read_bytes
from calor.server.api.calls import json_answer
from calor.server.api.cfn_answers import CfnFault, answer, read_content_type, wants_json
from calor.server.api.keys import ORCHESTRATOR
from calor.server.api.links import time_text
from calor.server.api.middlewares import WHO
from calor.server.engine.contract.views import InstanceIdentity, ResourceView
from calor.server.errors import Unauthorized
from calor.server.identity import ec2

ACTIONS = frozenset(
    {
        "CancelUpdateStack",
        "CreateStack",
        "DeleteStack",
        "DescribeStackEvents",
        "DescribeStackResource",
        "DescribeStackResources",
        "DescribeStacks",
        "EstimateTemplateCost",
        "GetTemplate",
        "ListStackResources",
        "ListStacks",
        "SignalResource",
        "UpdateStack",
        "ValidateTemplate",
    }
)


async def query(request: web.Request) -> web.Response:
    """One action of the Query API, parameters in the query or in a form."""
    body = await read_bytes(request)
    form = _form(request, body)
    params = {**request.query, **form}
    read_content_type(request, params)
    action = params.get("Action")
    if not action:
        raise CfnFault("MissingAction", "The request has no Action.")
    if action not in ACTIONS:
        raise CfnFault("InvalidAction", f"The action {action} is not known.")
    return await act(request, await _authenticated(request, form, body), action, params)


async def act(request: web.Request, who: InstanceIdentity, action: str, params: Mapping[str, str]) -> web.Response:
    """What an instance may do, however it has shown who it is."""
    allowed = FOR_INSTANCES.get(action)
    if allowed is None:
        raise CfnFault("AccessDenied", f"The credentials of an instance do not allow {action}.")
    return await allowed(request, who, params)


async def signal(request: web.Request) -> web.Response:
    """A signed URL. The body is JSON whatever its type; none is an empty signal."""
    details = as_map(await read_bytes(request))
    guests = request.app[ORCHESTRATOR].guests
    await guests.signed_signal(request.rel_url.raw_path, dict(request.query), request.method, details)
    return json_answer(None)


def _form(request: web.Request, body: bytes) -> Mapping[str, str]:
    if request.method != "POST" or request.content_type not in {"application/x-www-form-urlencoded", "text/plain"}:
        return {}
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


async def _authenticated(request: web.Request, form: Mapping[str, str], body: bytes) -> InstanceIdentity:
    """Raises `CfnFault` unless the signature is that of a pair we made."""
    signed = ec2.Ec2Request(
        method=request.method,
        host=request.headers.get("Host", ""),
        path=request.rel_url.raw_path,
        params=dict(request.query),
        headers={name.lower(): value for name, value in request.headers.items()},
        form=form,
        body=body,
    )
    try:
        signature = ec2.read(signed)
        who, secret = await request.app[ORCHESTRATOR].guests.instance_of_access_key(signature.access_key)
        ec2.check(signed, signature, secret, now=datetime.now(UTC))
    except ec2.Ec2Refused as exc:
        raise CfnFault(exc.code, exc.detail) from exc
    except Unauthorized as exc:
        raise CfnFault("InvalidClientTokenId", "The access key is not known.") from exc
    request[WHO] = f"instance {who.resource_id}"
    return who


async def _describe_stack_resource(
    request: web.Request, who: InstanceIdentity, params: Mapping[str, str]
) -> web.Response:
    _want(params, "StackName", "LogicalResourceId")
    stack, resource = _stack_name(params["StackName"]), params["LogicalResourceId"]
    guests = request.app[ORCHESTRATOR].guests
    view = await guests.describe(who, stack, resource)
    metadata = await guests.metadata(who, stack, resource)
    return answer(
        "DescribeStackResource", {"StackResourceDetail": _detail(view, metadata)}, as_json=wants_json(request)
    )


async def _signal_resource(request: web.Request, who: InstanceIdentity, params: Mapping[str, str]) -> web.Response:
    """SUCCESS or FAILURE for a handle, its condition or a deployment: what ``cfn-signal --stack --resource`` sends."""
    _want(params, "StackName", "LogicalResourceId", "UniqueId", "Status")
    if params["Status"] not in {"SUCCESS", "FAILURE"}:
        raise CfnFault("InvalidParameterValue", f"Status is SUCCESS or FAILURE, not {params['Status']!r}.")
    await request.app[ORCHESTRATOR].guests.signal_resource(
        who, _stack_name(params["StackName"]), params["LogicalResourceId"], params["UniqueId"], params["Status"]
    )
    return answer("SignalResource", {}, as_json=wants_json(request))


FOR_INSTANCES = {"DescribeStackResource": _describe_stack_resource, "SignalResource": _signal_resource}


def _want(params: Mapping[str, str], *names: str) -> None:
    for name in names:
        if not params.get(name):
            raise CfnFault("MissingParameter", f"{name} is missing.")


def _stack_name(sent: str) -> str:
    """The name in an ARN or in NAME/ID; else what was sent."""
    return sent.rpartition(":stacks/")[2].split("/")[0]


def _detail(view: ResourceView, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    stack = view.stack
    return {
        "Description": view.description,
        "LastUpdatedTimestamp": time_text(view.updated_at),
        "LogicalResourceId": view.name,
        "Metadata": metadata,
        "PhysicalResourceId": view.physical_id,
        "ResourceStatus": f"{view.action.value}_{view.status.value}",
        "ResourceStatusReason": view.status_reason,
        "ResourceType": view.type,
        "StackId": f"arn:openstack:heat::{stack.project_id}:stacks/{stack.name}/{stack.id}",
        "StackName": stack.name,
    }
