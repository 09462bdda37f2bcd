"""Password hashes of the dev cloud's users."""

import hashlib
import hmac
import secrets


def hash_password(password: str) -> str:
    salt = secrets.token_bytes(16)
    return salt.hex() + ":" + _derive(password, salt)


def is_password(password: str, stored: str) -> bool:
    salt, _, digest = stored.partition(":")
    return bool(digest) and hmac.compare_digest(_derive(password, bytes.fromhex(salt)), digest)


def _derive(password: str, salt: bytes) -> str:
    # Few rounds: the passwords are random or a developer's own on loopback, and clients log in at every command.
    return hashlib.scrypt(password.encode(), salt=salt, n=1024, r=8, p=1).hex()
