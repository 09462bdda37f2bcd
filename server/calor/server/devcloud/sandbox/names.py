"""Names of devices and namespaces, made from ids. A device name has 15 characters at most."""

import hashlib


def device(kind: str, *ids: str) -> str:
    """``kind``: p (a server's port, on the bridge), r (a router's leg, on the bridge), l and x (its ends in the router)."""
    return kind + hashlib.sha256(" ".join(ids).encode()).hexdigest()[:12]


def chain(kind: str, port_id: str) -> str:
    return f"{kind}-{device('p', port_id)}"
