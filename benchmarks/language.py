"""The language alone, in this process: parse, bind and graph."""

import time
from collections.abc import AsyncIterator
from typing import Any

import yaml

from benchmarks.harness import client, dev
from benchmarks.stacks import chain

Row = dict[str, Any]


async def validate_1000() -> AsyncIterator[Row]:
    """A 1,000-resource template through `POST /validate`, as text, as a client sends it."""
    text = yaml.safe_dump(chain(1000), sort_keys=False)
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for repeat in range(5):
            began = time.perf_counter()
            await heat.call("POST", "/validate", json={"template": text})
            yield {"bench": "validate-1000", "repeat": repeat, "wall_s": round(time.perf_counter() - began, 3)}
