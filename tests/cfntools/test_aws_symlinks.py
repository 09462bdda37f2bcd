"""Links to the tools, from wherever an image has them."""

import os

import pytest

from calor.cfntools import aws_symlinks


@pytest.fixture
def places(tmp_path, monkeypatch):
    """(where packages put the tools, where the playbook puts them, where the links go)."""
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    first, second = tmp_path / "first", tmp_path / "second"
    for one in (first, second):
        one.mkdir()
        (one / "other").touch()
    monkeypatch.setattr(aws_symlinks, "SOURCES", (str(first), str(second), str(tmp_path / "none")))
    return first, second, tmp_path / "target"


def test_the_first_place_that_has_tools_is_linked(places, capsys):
    first, second, target = places
    assert aws_symlinks.main(["-t", str(target)]) == 0
    assert f"{first} holds no cfn-*: nothing is linked" in capsys.readouterr().err
    (second / "cfn-init").touch()
    assert aws_symlinks.main(["-t", str(target)]) == 0
    assert [(name, os.readlink(target / name)) for name in os.listdir(target)] == [
        ("cfn-init", str(second / "cfn-init"))
    ]
    (first / "cfn-init").touch()
    assert aws_symlinks.main(["-t", str(target)]) == 0
    assert "exists and stays as it is (--force replaces it)" in capsys.readouterr().err
    assert aws_symlinks.main(["-t", str(target), "--force"]) == 0
    assert os.readlink(target / "cfn-init") == str(first / "cfn-init")
    assert aws_symlinks.main(["-s", str(second), "-f", "-t", str(target)]) == 0
    assert os.readlink(target / "cfn-init") == str(second / "cfn-init")


def test_what_cannot_be_linked_is_an_error(places, capsys):
    first, _, target = places
    assert aws_symlinks.main(["-s", str(first), "-t", str(first)]) == 1
    assert aws_symlinks.main(["-s", "/no/such", "-t", str(target)]) == 1
    target.rmdir()
    target.touch()
    assert aws_symlinks.main(["-s", str(first), "-t", str(target)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 3
