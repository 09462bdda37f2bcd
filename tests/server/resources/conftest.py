"""A workshop in memory: an imagined stack on an imagined cloud."""

from collections.abc import Callable
from typing import Any

import pytest

from calor.server.cloud.memory import MemoryCloud
from calor.server.resources.memory import MemoryContext, Workshop
from calor.server.resources.registry import Types


@pytest.fixture
def cloud() -> MemoryCloud:
    return MemoryCloud()


@pytest.fixture
def workshop(cloud: MemoryCloud) -> Workshop:
    return Workshop(cloud)


@pytest.fixture
def bench(workshop: Workshop) -> Callable[..., MemoryContext]:
    """``bench("OS::Nova::Server", "web")``: the context of a resource of that type."""
    types = Types()

    def place(type_name: str, name: str = "thing", **metadata: Any) -> MemoryContext:
        kind = types.get(type_name)
        assert kind is not None
        return workshop.bench(kind, name, **metadata)

    return place
