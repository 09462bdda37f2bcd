"""Names of devices and namespaces, made from ids. A device name has 15 characters at most."""

import hashlib


def device(kind: str, *ids: str) -> str:
    """``kind``: a server's port (p) or router's leg (r) on a bridge, legs inside (l, x). n, s, t: namespaces."""
    return kind + hashlib.sha256(" ".join(ids).encode()).hexdigest()[:12]


def chain(kind: str, port_id: str) -> str:
    return f"{kind}-{device('p', port_id)}"
