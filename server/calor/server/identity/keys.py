"""The server's own keys: one file of mode 0600 with a key that signs and the keys that seal secrets.

The file has one key a line, ``signing KEY`` or ``sealing KEY`` (URL-safe base64 of 32 bytes). The first of each kind is
used for new work, the others still check and open what was made with them: rotation is a new line on top. Every server
process of one database needs the same file.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

_KEY_BYTES = 32


class KeyFileFault(Exception):
    """The key file is missing, open to others or broken; the message says which and what to do."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Keys:
    """Key material, newest first. It has no ``repr`` that could reach a log."""

    signing: tuple[bytes, ...]
    sealing: tuple[bytes, ...]

    def derived(self, purpose: str) -> tuple[bytes, ...]:
        """Signing keys of one purpose, newest first, so that what is signed for one use never passes for another."""
        return tuple(hmac.digest(key, f"calor/{purpose}".encode(), hashlib.sha256) for key in self.signing)

    @classmethod
    def generate(cls) -> "Keys":
        return cls(signing=(secrets.token_bytes(_KEY_BYTES),), sealing=(secrets.token_bytes(_KEY_BYTES),))


def load(path: Path) -> Keys:
    """Read the key file. Raises `KeyFileFault`."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("ascii")
    except FileNotFoundError as exc:
        raise KeyFileFault(f"The key file {path} does not exist. Without it no stored secret can be read.") from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise KeyFileFault(f"The key file {path} cannot be read: {exc}.") from exc
    if stat.S_IMODE(mode) & stat.S_IRWXO:
        raise KeyFileFault(f"The key file {path} is open to every user of this machine; run: chmod 600 {path}")
    return _parse(path, text)


def load_or_create(path: Path) -> Keys:
    """Read the key file, or make it with fresh keys. Two processes that start together agree on one file."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path, Keys.generate())
    except OSError as exc:
        raise KeyFileFault(f"The key file {path} cannot be made: {exc.strerror or exc}.") from exc
    return load(path)


def rotate(path: Path) -> Keys:
    """Put a new sealing key on top. What older keys sealed still opens; `Vault.reseal` moves it to the new key."""
    keys = load(path)
    fresh = Keys(signing=keys.signing, sealing=(secrets.token_bytes(_KEY_BYTES), *keys.sealing))
    draft = _draft(path, fresh)
    draft.replace(path)
    return fresh


def _create(path: Path, keys: Keys) -> None:
    draft = _draft(path, keys)
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # another process was first: its keys hold
    finally:
        draft.unlink()


def _draft(path: Path, keys: Keys) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        for kind, values in (("signing", keys.signing), ("sealing", keys.sealing)):
            file.writelines(f"{kind} {base64.urlsafe_b64encode(value).decode()}\n" for value in values)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _parse(path: Path, text: str) -> Keys:
    found: dict[str, list[bytes]] = {"signing": [], "sealing": []}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, _, encoded = line.partition(" ")
        try:
            value = base64.urlsafe_b64decode(encoded.strip())
        except (ValueError, binascii.Error) as exc:
            raise KeyFileFault(f"Line {number} of the key file {path} is not base64.") from exc
        if kind not in found or len(value) != _KEY_BYTES:
            raise KeyFileFault(
                f"Line {number} of the key file {path} is not 'signing KEY' or 'sealing KEY' with a key of 32 bytes."
            )
        found[kind].append(value)
    if not found["signing"] or not found["sealing"]:
        raise KeyFileFault(f"The key file {path} lacks a signing or a sealing key; restore it from your backup.")
    return Keys(signing=tuple(found["signing"]), sealing=tuple(found["sealing"]))
