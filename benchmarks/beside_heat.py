"""Parse, validate and graph of the same files by Heat's own code and by ours, one after the other in one run."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks import heat_package
from benchmarks.language import cpu_to_read
from benchmarks.stacks import chain, flat

Row = dict[str, Any]
INSIDE = Path(__file__).with_name("inside_heat.py")
PATIENCE = 90.0
"""Seconds that Heat has for a file; it is ended then, and the ratio is a lower bound."""
REPEATS = 3


def tens(size: int) -> dict[str, Any]:
    """Groups of ten, as templates in use have them: a random string, and nine values made of texts, lists and
    references to the one before and to the first."""
    resources: dict[str, Any] = {}
    for n in range(size):
        place = n % 10
        if place == 0:
            resources[f"r{n}"] = {"type": "OS::Heat::RandomString", "properties": {"length": 16}}
            continue
        before = {"get_attr": [f"r{n - 1}", "value"]}
        params = {"$p": {"get_param": "prefix"}, "$n": n, "$before": before}
        value = {
            "name": {"str_replace": {"template": "$p-$n of $before", "params": params}},
            "first": {"get_resource": f"r{n - place}"},
            "list": [1, 2, {"list_join": [",", ["a", {"get_param": "prefix"}]]}],
        }
        properties = {"type": "json", "value": value}
        resources[f"r{n}"] = {"type": "OS::Heat::Value", "depends_on": f"r{n - 1}", "properties": properties}
    return {
        "heat_template_version": "2021-04-16",
        "parameters": {"prefix": {"type": "string", "default": "web"}},
        "resources": resources,
        "outputs": {"last": {"value": {"get_attr": [f"r{size - 1}", "value"]}}},
    }


async def language_beside_heat() -> AsyncIterator[Row]:
    """Seconds of CPU, the best of three; Heat's of 10,000 resources once, and no longer than `PATIENCE`."""
    python = heat_package.interpreter()
    with tempfile.TemporaryDirectory() as folder:
        for size in (1_000, 10_000):
            for name, make in (("flat", flat), ("chain", chain), ("tens", tens)):
                file = Path(folder, f"{name}-{size}.yaml")
                file.write_text(yaml.dump(make(size), Dumper=_NoAliases, sort_keys=False))
                ours = min(cpu_to_read(file.read_text()) for _ in range(REPEATS))
                heats = await _of_heat(python, file, REPEATS if size == 1_000 else 1)
                yield {"bench": "language-beside-heat", "template": name, "resources": size, "cpu_s": ours} | (
                    {"heat_cpu_s": heats, "ratio": round(heats / ours, 1)}
                    if heats is not None
                    else {"heat_cpu_s_above": PATIENCE, "ratio_above": round(PATIENCE / ours, 1)}
                )


async def _of_heat(python: Path, file: Path, repeats: int) -> float | None:
    """The best of Heat's times; None where it was not done in time."""
    command = [str(python), "-W", "ignore", str(INSIDE), str(repeats), str(file)]
    quiet = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.DEVNULL}
    process = await asyncio.create_subprocess_exec(*command, **quiet)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), repeats * PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    if process.returncode:
        raise RuntimeError(f"Heat ended with {process.returncode}: {' '.join(command)}")
    return min(float(json.loads(line)["cpu_s"]) for line in output.decode().splitlines())


class _NoAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True
