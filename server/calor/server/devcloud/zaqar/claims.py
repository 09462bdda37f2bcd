"""Claims: messages that one worker has taken for a while."""

import time
import uuid

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, patch, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.zaqar.messages import client_id, message_json
from calor.server.devcloud.zaqar.queues import QUEUE, messages_of, queue_id


def create(call: Call) -> Answer:
    client_id(call)
    given = call.body if isinstance(call.body, dict) else {}
    until = time.time() + int(given.get("ttl", 300))
    limit = min(int(call.query.get("limit", 10)), 20)
    free = [one for one in messages_of(call, queue_id(call)) if one["claimed_until"] <= time.time()][:limit]
    if not free:
        return Answer(status=204)
    ident = uuid.uuid4().hex
    taken = [call.docs.put("message", {**one, "claim": ident, "claimed_until": until}) for one in free]
    href = f"/v2/queues/{call.path['queue']}/claims/{ident}"
    return Answer(status=201, body={"messages": [message_json(call, one) for one in taken]}, headers={"Location": href})


def _held(call: Call) -> list[Doc]:
    client_id(call)
    now, claim = time.time(), call.path["claim"]
    found = [one for one in messages_of(call, queue_id(call)) if one["claim"] == claim and one["claimed_until"] > now]
    if not found:
        raise ApiError(404, "Claim does not exist or has expired.", "Not Found")
    return found


def show(call: Call) -> Doc:
    found = _held(call)
    ttl = int(found[0]["claimed_until"] - time.time())
    return {"age": 0, "ttl": ttl, "messages": [message_json(call, one) for one in found]}


def renew(call: Call) -> Answer:
    until = time.time() + int((call.body or {}).get("ttl", 300))
    for one in _held(call):
        call.docs.put("message", {**one, "claimed_until": until})
    return Answer(status=204)


def release(call: Call) -> Answer:
    client_id(call)
    for one in messages_of(call, queue_id(call)):
        if one["claim"] == call.path["claim"]:
            call.docs.put("message", {**one, "claim": "", "claimed_until": 0})
    return Answer(status=204)


ROUTES = (
    post(QUEUE + "/claims", create),
    get(QUEUE + "/claims/{claim}", show),
    patch(QUEUE + "/claims/{claim}", renew),
    delete(QUEUE + "/claims/{claim}", release),
)
