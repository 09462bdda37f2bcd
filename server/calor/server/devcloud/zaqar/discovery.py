"""Where a client finds the version."""

from typing import Any

from calor.server.devcloud.calls import Answer, Call


def versions(call: Call) -> Answer:
    version: dict[str, Any] = {
        "id": "2",
        "status": "CURRENT",
        "updated": "2014-9-24T04:06:47Z",
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.messaging-v2+json"}],
        "links": [{"href": call.url("/messaging/v2/"), "rel": "self"}],
    }
    return Answer(status=300, body={"versions": [version]})


def home(call: Call) -> Any:
    return {"resources": {"rel/queues": {"href-template": "/v2/queues{?marker,limit,detailed}"}}}
