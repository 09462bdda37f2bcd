"""SSH key pairs, each user's own."""

import base64
import hashlib
import re

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, now_micro, post
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.nova.microversions import asked

NAME = re.compile(r"[ -~]{1,255}")


def generate() -> tuple[str, str]:
    """(private key as PEM, public key as OpenSSH writes it)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode() + " Generated-by-Nova"


def fingerprint(public_key: str) -> str:
    """MD5 of the key as colon-separated hex, as Nova shows it. Raises ValueError for what is no key."""
    parts = public_key.split()
    if len(parts) < 2:
        raise ValueError("no OpenSSH public key")
    blob = base64.b64decode(parts[1], validate=True)
    serialization.load_ssh_public_key(" ".join(parts[:2]).encode())
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    return ":".join(digest[at : at + 2] for at in range(0, 32, 2))


def key_id(user_id: str, name: str) -> str:
    return f"{user_id}/{name}"


def make(docs: Documents, user_id: str, name: str, public_key: str) -> Doc:
    return docs.put(
        "keypair",
        {
            "id": key_id(user_id, name),
            "number": len(docs.all("keypair")) + 1,
            "name": name,
            "user_id": user_id,
            "public_key": public_key,
            "fingerprint": fingerprint(public_key),
            "created_at": now_micro(),
            "type": "ssh",
        },
    )


def _user(call: Call) -> str:
    return call.query.get("user_id", call.token.user_id) if call.token.is_admin else call.token.user_id


def find(call: Call, name: str, user_id: str | None = None) -> Doc:
    user = user_id or _user(call)
    doc = call.docs.get("keypair", key_id(user, name))
    if doc is None:
        raise ApiError(404, f"Keypair {name} not found for user {user}")
    return doc


def _brief(call: Call, doc: Doc) -> Doc:
    kind = {"type": doc["type"]} if asked(call) >= (2, 2) else {}
    return {"name": doc["name"], "public_key": doc["public_key"], "fingerprint": doc["fingerprint"], **kind}


def create(call: Call) -> Answer:
    part = call.part("keypair")
    name = part.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ApiError(400, f"Invalid input for field/attribute name. Value: {name}.")
    user = call.token.user_id
    if call.token.is_admin and part.get("user_id"):
        user = str(part["user_id"])
    if call.docs.get("keypair", key_id(user, name)):
        raise ApiError(409, f"Key pair '{name}' already exists.")
    public, private = part.get("public_key"), None
    if public is None:
        private, public = generate()
    try:
        doc = make(call.docs, user, name, str(public).strip())
    except ValueError as exc:
        raise ApiError(400, "Keypair data is invalid: failed to generate fingerprint") from exc
    body = {**_brief(call, doc), "user_id": user}
    if private is not None:
        body["private_key"] = private
    return Answer(body={"keypair": body}, status=200 if asked(call) < (2, 2) else 201)


def list_keypairs(call: Call) -> Doc:
    return {"keypairs": [{"keypair": _brief(call, doc)} for doc in call.docs.where("keypair", user_id=_user(call))]}


def show_keypair(call: Call) -> Doc:
    doc = find(call, call.path["name"])
    rest = {
        "user_id": doc["user_id"],
        "created_at": doc["created_at"],
        "deleted": False,
        "deleted_at": None,
        "id": doc["number"],
        "updated_at": None,
    }
    return {"keypair": {**_brief(call, doc), **rest}}


def remove(call: Call) -> Answer:
    call.docs.drop("keypair", find(call, call.path["name"])["id"])
    return Answer(status=202 if asked(call) < (2, 2) else 204)


ROUTES = (
    get("/v2.1/os-keypairs", list_keypairs),
    post("/v2.1/os-keypairs", create),
    get("/v2.1/os-keypairs/{name:.+}", show_keypair),
    delete("/v2.1/os-keypairs/{name:.+}", remove),
)
