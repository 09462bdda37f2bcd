"""Messages: posted, listed, shown, deleted and popped."""

import time
import uuid
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.zaqar.queues import QUEUE, ensured, messages_of, queue_id

LONGEST = 1209600
LARGEST_PAGE = 20


def client_id(call: Call) -> str:
    """Who writes; a reader does not see his own messages unless he asks for the echo."""
    given = call.request.headers.get("Client-ID", "")
    try:
        return str(uuid.UUID(given))
    except ValueError as exc:
        raise ApiError(400, "The Client-ID header must be a UUID.", "Invalid API request") from exc


def message_json(call: Call, doc: Doc) -> Doc:
    href = f"/v2/queues/{call.path['queue']}/messages/{doc['id']}"
    claim = f"?claim_id={doc['claim']}" if doc["claimed_until"] > time.time() else ""
    shown = {"id": doc["id"], "href": href + claim, "ttl": doc["ttl"], "age": int(time.time() - doc["created"])}
    return {**shown, "body": doc["body"]}


def create(call: Call) -> Answer:
    sender = client_id(call)
    given = call.body.get("messages") if isinstance(call.body, dict) else None
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) and "body" in one for one in given):
        raise ApiError(400, "No messages were found in the request body.", "Invalid API request")
    if len(given) > LARGEST_PAGE:
        raise ApiError(400, "Message count may not exceed 20.", "Invalid API request")
    queue = ensured(call)
    hrefs = []
    for one in given:
        ttl = int(one.get("ttl", 3600))
        if not 60 <= ttl <= LONGEST:
            raise ApiError(
                400, "The TTL for a message may not exceed 1209600 seconds, and must be at least 60.", "Invalid API"
            )
        known = call.docs.get("queue", queue) or {}
        number = int(known["next"])
        call.docs.put("queue", {**known, "next": number + 1})
        doc = {
            "id": uuid.uuid4().hex,
            "queue": queue,
            "number": number,
            "client": sender,
            "ttl": ttl,
            "body": one["body"],
        }
        now = time.time()
        call.docs.put("message", {**doc, "created": now, "expires": now + ttl, "claim": "", "claimed_until": 0})
        hrefs.append(f"/v2/queues/{call.path['queue']}/messages/{doc['id']}")
    return Answer(status=201, body={"resources": hrefs}, headers={"Location": hrefs[0]})


def listing(call: Call) -> Any:
    reader = client_id(call)
    echo, claimed = call.query.get("echo") == "true", call.query.get("include_claimed") == "true"
    limit = min(int(call.query.get("limit", 10)), LARGEST_PAGE)
    after = int(call.query.get("marker") or 0)
    found = [
        one
        for one in messages_of(call, queue_id(call))
        if one["number"] > after
        and (echo or one["client"] != reader)
        and (claimed or one["claimed_until"] <= time.time())
    ][:limit]
    marker = found[-1]["number"] if found else after
    href = f"/v2/queues/{call.path['queue']}/messages?marker={marker}&limit={limit}"
    more = f"&echo={str(echo).lower()}&include_claimed={str(claimed).lower()}"
    return {"messages": [message_json(call, one) for one in found], "links": [{"rel": "next", "href": href + more}]}


def pop_or_delete(call: Call) -> Any:
    """``pop=N``: take the oldest; ``ids=``: delete these."""
    client_id(call)
    found = messages_of(call, queue_id(call))
    if "pop" in call.query:
        count = int(call.query["pop"])
        if not 1 <= count <= LARGEST_PAGE:
            raise ApiError(400, "Pop value must be at least 1 and may not be greater than 20.", "Invalid API request")
        taken = [one for one in found if one["claimed_until"] <= time.time()][:count]
        for one in taken:
            call.docs.drop("message", one["id"])
        return {"messages": [message_json(call, one) for one in taken]}
    wanted = set(call.query.get("ids", "").split(",")) - {""}
    if not wanted:
        raise ApiError(400, 'The request should have either "ids" or "pop" parameter in the request.', "Invalid API")
    for one in found:
        if one["id"] in wanted:
            call.docs.drop("message", one["id"])
    return Answer(status=204)


def _one(call: Call) -> Doc | None:
    known = {one["id"]: one for one in messages_of(call, queue_id(call))}
    return known.get(call.path["message"])


def show(call: Call) -> Any:
    client_id(call)
    doc = _one(call)
    if doc is None:
        raise ApiError(404, "Message could not be retrieved.", "Not Found")
    return message_json(call, doc)


def remove(call: Call) -> Answer:
    """A claimed message is deleted with its claim only."""
    client_id(call)
    doc = _one(call)
    if doc is not None and doc["claimed_until"] > time.time() and call.query.get("claim_id") != doc["claim"]:
        raise ApiError(403, "Message could not be deleted: it is claimed.", "Forbidden")
    if doc is not None:
        call.docs.drop("message", doc["id"])
    return Answer(status=204)


ROUTES = (
    post(QUEUE + "/messages", create),
    get(QUEUE + "/messages", listing),
    delete(QUEUE + "/messages", pop_or_delete),
    get(QUEUE + "/messages/{message}", show),
    delete(QUEUE + "/messages/{message}", remove),
)
