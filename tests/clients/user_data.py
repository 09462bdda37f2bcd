"""What user-data carries."""

import base64
import email
import gzip
import json
from typing import Any


def identity_in(data: bytes) -> dict[str, str]:
    """The agent's identity in user-data."""
    message = email.message_from_bytes(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    for part in message.walk():
        text = part.get_payload(decode=True) or b""
        start = text.find(b'"bootstrap_token"') if isinstance(text, bytes) else -1
        if start >= 0:
            found = json.loads(text[text.rfind(b"{", 0, start) : text.find(b"}", start) + 1])
            return {"instance_id": found["instance_id"], "bootstrap_token": found["bootstrap_token"]}
    raise AssertionError("the user-data holds no identity of an agent")


def identity_of(compute: Any, server_id: str) -> dict[str, str]:
    """That of a server, as an administrator sees its user-data in the compute API."""
    shown = compute.get(f"/servers/{server_id}", microversion="2.3").json()["server"]
    return identity_in(base64.b64decode(shown["OS-EXT-SRV-ATTR:user_data"]))
