"""How values rest in columns: JSON text where nothing in them is secret, sealed by the vault where something is."""

import json
from typing import Any

from calor.server.identity import Vault
from calor.server.template import Plain, Secret, has_secret, plain

_MARK, _PARTS = "$calor:secret", "parts"
_CLEAR, _SEALED = "j", "s"


class Sealing:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def text(self, value: Any) -> str:
        """A `Secret` anywhere in the value seals the whole; it is a `Secret` again when read."""
        if has_secret(value):
            return self.secret(value)
        return _CLEAR + _CLEARLY.encode(value)

    def secret(self, value: Any) -> str:
        return _SEALED + self._vault.seal_text(_MARKING.encode(plain(value)))

    def value(self, text: str | None) -> Any:
        """None for no text. Raises `SealBroken`."""
        if text is None:
            return None
        if text[0] == _CLEAR:
            return json.loads(text[1:])
        return _unmarked(self._vault.open(text[1:]))


def _read(value: Any) -> Any:
    return value.value if isinstance(value, Plain) else str(value)


def _marked(value: Any) -> Any:
    if not isinstance(value, Secret):
        return str(value)
    return {_MARK: value.value, _PARTS: value.parts} if value.parts else {_MARK: value.value}


_CLEARLY = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_read)
_MARKING = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_marked)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        if _MARK in value:
            return Secret(_unmarked(value[_MARK]), value.get(_PARTS, ()))
        return {key: _unmarked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return value
