"""`calor` against an API that answers what a test says."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "played"))  # tests are no packages: this is how they share code

from played_api import Api

from calor.server.cli import client as client_module
from calor.server.cli.stack import watch


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    found = Api()
    monkeypatch.setattr(client_module, "Client", found)
    monkeypatch.setattr(watch, "PERIOD", 0)
    return found
