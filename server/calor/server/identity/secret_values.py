"""Random ids and secrets, and how secrets are stored and compared.

All secrets here have 256 bits of their own (never a password that a person chose), so one SHA-256 is a sound way to
store them: there is nothing to guess.
"""

import hashlib
import hmac
import secrets
import uuid


def random_id() -> str:
    """A UUID as Heat writes them."""
    return str(uuid.uuid4())


def random_access_key() -> str:
    """The public half of an EC2 pair: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def random_secret() -> str:
    """256 bits in letters and digits: templates put it into command lines, where a dash in front makes an option."""
    return secrets.token_hex(32)


def hash_secret(secret: str) -> str:
    """SHA-256 in hexadecimal, as an instance enrols it (guest protocol)."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret_of(secret: str, secret_hash: str) -> bool:
    """In constant time: does ``secret`` have this hash?"""
    return same(hash_secret(secret), secret_hash.lower())


def same(one: str, other: str) -> bool:
    """Compare two secret texts in constant time; unlike `hmac.compare_digest` it takes any text."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
