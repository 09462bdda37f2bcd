"""Secrets at rest: any JSON value sealed into text by the newest key, opened by whichever key sealed it."""

import base64
import json
from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from calor.server.identity.keys import Keys


class SealBroken(Exception):
    """Text that none of our keys sealed: a wrong key file, or a damaged row."""


class Vault:
    """Seals and opens with MultiFernet (AES-128-CBC and HMAC-SHA256)."""

    def __init__(self, sealing: Sequence[bytes]) -> None:
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in sealing])

    @classmethod
    def of(cls, keys: Keys) -> "Vault":
        return cls(keys.sealing)

    def seal(self, value: Any) -> str:
        """``value`` is what JSON can hold. The text differs each time."""
        return self.seal_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def seal_text(self, text: str) -> str:
        """``text`` is JSON already."""
        return self._fernet.encrypt(text.encode("utf-8", "surrogatepass")).decode("ascii")

    def open(self, sealed: str) -> Any:
        """The sealed value. Raises `SealBroken`."""
        try:
            plain = self._fernet.decrypt(sealed.encode("ascii"))
        except (InvalidToken, UnicodeEncodeError) as exc:
            raise SealBroken("A stored secret was not sealed by any key of this server's key file.") from exc
        return json.loads(plain.decode("utf-8", "surrogatepass"))

    def reseal(self, sealed: str) -> str:
        """The same secret under the newest key. Raises `SealBroken`."""
        try:
            return self._fernet.rotate(sealed.encode("ascii")).decode("ascii")
        except (InvalidToken, UnicodeEncodeError) as exc:
            raise SealBroken("A stored secret was not sealed by any key of this server's key file.") from exc
