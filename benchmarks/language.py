"""The language alone, in this process: all that a create call does with a template before it writes anything."""

import time
from collections.abc import AsyncIterator
from typing import Any

import yaml

from benchmarks.harness import client, dev
from benchmarks.stacks import chain
from calor.server.engine.revision.blueprint import draw, validate
from calor.server.resources.registry import installed
from calor.server.template import Limits, bind, parse_template, resolve

Row = dict[str, Any]
NO_LIMIT = Limits(size=1 << 26, nodes=10_000_000)
KNOWN = installed()


async def validate_1000() -> AsyncIterator[Row]:
    """A 1,000-resource template through `POST /validate`, as text, as a client sends it."""
    text = yaml.safe_dump(chain(1000), sort_keys=False)
    async with dev("--driver", "record") as cloud, client(cloud.ready) as heat:
        for repeat in range(5):
            began = time.perf_counter()
            await heat.call("POST", "/validate", json={"template": text})
            yield {"bench": "validate-1000", "repeat": repeat, "wall_s": round(time.perf_counter() - began, 3)}


def servers(size: int) -> dict[str, Any]:
    """Resources with some twenty values each: texts put together, lists, maps, each referring to the one before."""
    resources: dict[str, Any] = {}
    for n in range(size):
        name = {"str_replace": {"template": "$prefix-$n", "params": {"$prefix": {"get_param": "prefix"}, "$n": n}}}
        networks = [{"port": {"get_resource": f"r{n - 1}"}}] if n else []
        properties = {"name": name, "image": "i", "flavor": "m1", "networks": networks, "metadata": {"a": [1, 2, 3]}}
        resources[f"r{n}"] = {"type": "OS::Nova::Server", "properties": properties}
    parameters = {"prefix": {"type": "string", "default": "web"}}
    return {"heat_template_version": "2021-04-16", "parameters": parameters, "resources": resources}


class _Answers:
    """A scope in which every resource is there."""

    def reference(self, name: str) -> str:
        return f"id-of-{name}"

    def attribute(self, name: str, path: Any) -> str:
        return f"{name}-{path[0]}"


def _values(size: int) -> str:
    join = {"str_replace": {"template": "a $x b $y", "params": {"$x": {"get_attr": ["r", "one"]}, "$y": "c"}}}
    resource = {"type": "OS::Heat::Value", "properties": {"value": {f"k{n}": join for n in range(size)}}}
    other = {"type": "OS::Heat::Value"}
    body = {"heat_template_version": "2021-04-16", "resources": {"r": other, "v": resource}}
    return yaml.dump(body, Dumper=_NoAliases, sort_keys=False)


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


async def in_process() -> AsyncIterator[Row]:
    """Large templates read, and 1,000 values resolved: seconds of CPU, the best of three."""
    for name, make in (("chain", chain), ("servers", servers)):
        for size in (1_000, 10_000):
            text = yaml.dump(make(size), Dumper=yaml.CSafeDumper, sort_keys=False)
            took = [cpu_to_read(text) for _ in range(3)]
            yield {"bench": "language-in-process", "template": name, "resources": size, "cpu_s": min(took)}
    model = bind(parse_template(_values(1_000)))
    took = []
    for _ in range(3):
        began = time.process_time()
        resolve(model.resources["v"].properties, _Answers())
        took.append(round(time.process_time() - began, 4))
    yield {"bench": "language-in-process", "resolved_values": 1_000, "cpu_s": min(took)}


def cpu_to_read(text: str) -> float:
    """Seconds to parse a template, resolve its parameters, order its resources and check every property."""
    began = time.process_time()
    validate(draw(bind(parse_template(text, limits=NO_LIMIT)), KNOWN, {}))
    return round(time.process_time() - began, 4)
