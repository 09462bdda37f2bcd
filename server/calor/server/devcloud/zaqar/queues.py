"""Queues. One is made by its first message, too."""

import re
import time
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, put
from calor.server.devcloud.documents import Doc

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def queue_id(call: Call) -> str:
    name = call.path["queue"]
    if not NAME.fullmatch(name):
        raise ApiError(
            400,
            "Queue names may only contain ASCII letters, digits, underscores, and dashes, 64 at most.",
            "Invalid API",
        )
    return f"{call.project_id}/{name}"


def ensured(call: Call, metadata: Doc | None = None) -> str:
    """Its id; made where it is missing. Like the real service, a name is all that a queue needs."""
    ident = queue_id(call)
    if call.docs.get("queue", ident) is None:
        doc = {"id": ident, "name": call.path["queue"], "project_id": call.project_id, "metadata": metadata or {}}
        call.docs.put("queue", {**doc, "next": 1})
    return ident


def messages_of(call: Call, queue: str) -> list[Doc]:
    """Those that live, oldest first; what has expired goes."""
    found = []
    for message in call.docs.where("message", queue=queue):
        if message["expires"] <= time.time():
            call.docs.drop("message", message["id"])
        else:
            found.append(message)
    return sorted(found, key=lambda one: int(one["number"]))


def create(call: Call) -> Answer:
    made = call.docs.get("queue", queue_id(call)) is None
    ensured(call, call.body if isinstance(call.body, dict) else {})
    return Answer(status=201 if made else 204, headers={"Location": f"/v2/queues/{call.path['queue']}"})


def show(call: Call) -> Any:
    doc = call.docs.get("queue", queue_id(call))
    known = {"_max_messages_post_size": 262144, "_default_message_ttl": 3600}
    return {**known, **(doc["metadata"] if doc is not None else {})}


def listing(call: Call) -> Any:
    names = sorted(one["name"] for one in call.docs.where("queue", project_id=call.project_id))
    rows = [{"name": name, "href": f"/v2/queues/{name}"} for name in names]
    return {"queues": rows, "links": []}


def remove(call: Call) -> Answer:
    ident = queue_id(call)
    for message in call.docs.where("message", queue=ident):
        call.docs.drop("message", message["id"])
    call.docs.drop("queue", ident)
    return Answer(status=204)


def stats(call: Call) -> Any:
    found = messages_of(call, queue_id(call))
    claimed = sum(1 for one in found if one["claimed_until"] > time.time())
    return {"messages": {"free": len(found) - claimed, "claimed": claimed, "total": len(found)}}


QUEUE = "/v2/queues/{queue}"
ROUTES = (
    get("/v2/queues", listing),
    put(QUEUE, create),
    get(QUEUE, show),
    delete(QUEUE, remove),
    get(QUEUE + "/stats", stats),
)
