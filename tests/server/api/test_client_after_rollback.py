"""`calor stack create` over the real API and engine: a template that is refused, and one that is rolled back."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from calor.server.cli import client as client_module
from calor.server.cli import main
from calor.server.cli.stack import watch

HOT = "heat_template_version: 2021-04-16\n"
FAILING = "{type: OS::Heat::TestResource, properties: {fail: true, value: x}}"


def calor(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


async def test_a_creation_that_was_rolled_back_shows_its_cause_and_ends_with_1(
    app_of: Callable[[Any], Any], real_engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "in.yaml").write_text(f"{HOT}resources:\n  deep: {FAILING}\n")
    (tmp_path / "t.yaml").write_text(f"{HOT}resources:\n  group: {{type: in.yaml}}\n")
    monkeypatch.setattr(watch, "PERIOD", 0.05)
    async with TestServer(app_of(real_engine)) as server:
        url = str(server.make_url("/v1/proj1"))
        own = Adapter(Session(Token(url, "member:proj1")), endpoint_override=url)
        monkeypatch.setattr(client_module.Client, "_connected", lambda _: own)
        words = ("stack", "create", "--wait", "--enable-rollback", "-t", str(tmp_path / "t.yaml"), "rb")
        made = await asyncio.to_thread(calor, *words)
        told = await asyncio.to_thread(calor, "stack", "failures", "rb")
    for done in (made, told):
        assert "group/deep  CREATE_FAILED" in done.output, done.output
        assert "Test Resource failed deep" in done.output
    assert made.exit_code == 1
    assert "rb is ROLLBACK_COMPLETE: Stack ROLLBACK completed successfully (Resource CREATE failed: " in made.output


async def test_a_refusal_names_the_users_file_and_shows_its_line(
    app_of: Callable[[Any], Any], real_engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = tmp_path / "t.yaml"
    template.write_text(f"{HOT}resources:\n  a:\n    type: OS::Heat::Value\n    properties: {{valeu: 1}}\n")
    async with TestServer(app_of(real_engine)) as server:
        url = str(server.make_url("/v1/proj1"))
        own = Adapter(Session(Token(url, "member:proj1")), endpoint_override=url)
        monkeypatch.setattr(client_module.Client, "_connected", lambda _: own)
        done = await asyncio.to_thread(calor, "stack", "create", "-t", str(template), "x")
    assert done.exit_code == 1
    assert f"{template}:5:18: error: resources.a.properties.valeu: " in done.output
    assert "\n    5 |     properties: {valeu: 1}\n" in done.output
