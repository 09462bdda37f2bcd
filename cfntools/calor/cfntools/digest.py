"""SHA-256 by the interpreter's own code: ``hashlib`` would load OpenSSL, some 4 MB that an idle agent must not cost."""

from typing import Any


def sha256_hex(data: bytes) -> str:
    return str(_algorithm()(data).hexdigest())


def _algorithm() -> Any:
    """Python 3.12 has it in ``_sha2``, older ones in ``_sha256``; one built without either has hashlib's."""
    for name in ("_sha2", "_sha256"):
        try:
            return __import__(name).sha256
        except ImportError:
            continue
    import hashlib

    return hashlib.sha256
