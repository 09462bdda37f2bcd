"""Secrets at rest and the key file."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.identity import KeyFileFault, Keys, SealBroken, Vault, hash_secret, is_secret_of, keys, random_secret

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
VAULT = Vault.of(Keys.generate())


@given(JSON)
def test_every_json_value_comes_back(value: object) -> None:
    assert VAULT.open(VAULT.seal(value)) == value


def test_sealed_text_shows_nothing_and_differs_each_time() -> None:
    assert "geheim" not in VAULT.seal("geheim")
    assert VAULT.seal("x") != VAULT.seal("x")


@pytest.mark.parametrize("text", ["", "gAAAA", "é", "no seal"])
def test_what_we_did_not_seal_is_broken(text: str) -> None:
    with pytest.raises(SealBroken):
        VAULT.open(text)


def test_rotation_keeps_old_secrets_readable_and_signatures_valid(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    before = keys.load_or_create(path)
    sealed = Vault.of(before).seal({"password": "x"})
    after = keys.rotate(path)
    assert after.signing == before.signing
    assert keys.load(path) == after
    moved = Vault.of(after).reseal(sealed)
    newest_only = Vault(after.sealing[:1])
    assert newest_only.open(moved) == {"password": "x"}
    with pytest.raises(SealBroken):
        newest_only.open(sealed)


def test_the_key_file_is_private_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "keys"
    made = keys.load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys.load_or_create(path) == made
    assert os.listdir(path.parent) == ["keys"]


@pytest.mark.slow
def test_processes_that_start_together_agree_on_one_key_file(tmp_path: Path) -> None:
    code = (
        "import sys, hashlib; from pathlib import Path; from calor.server.identity import keys;"
        "print(hashlib.sha256(keys.load_or_create(Path(sys.argv[1])).signing[0]).hexdigest())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "keys")], stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert len({one.communicate()[0] for one in running}) == 1


def test_a_key_file_open_to_others_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    keys.load_or_create(path)
    path.chmod(0o644)
    with pytest.raises(KeyFileFault, match="chmod 600"):
        keys.load(path)


@pytest.mark.parametrize("text", ["", "signing !!!\n", "sealing AAAA\n", "other " + "A" * 43 + "=\n"])
def test_a_broken_key_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileFault, match=str(path)):
        keys.load(path)


def test_keys_do_not_show_in_repr() -> None:
    made = Keys.generate()
    assert made.signing[0].hex() not in repr(made)
    assert repr(made.signing[0]) not in repr(made)


def test_a_hashed_secret_is_recognised() -> None:
    secret = random_secret()
    assert secret.isalnum(), "it may be an option's value in a command line"
    assert is_secret_of(secret, hash_secret(secret).upper())
    assert not is_secret_of(secret + "x", hash_secret(secret))
    assert not is_secret_of("é\ud800", "é")
    assert json.dumps(secret)
