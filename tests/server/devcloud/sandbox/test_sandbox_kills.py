"""The cloud's process dies by ``kill -9`` while servers are being started."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.root, pytest.mark.slow]

COUNT = 4
VICTIM = """
import asyncio, importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("sandbox_bench", sys.argv[1])
bench_module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_module)
from calor.server.devcloud.images.catalog import load

async def main():
    bench = bench_module.Bench(Path(sys.argv[2]), load(Path(sys.argv[3])))
    await bench.start()
    await bench.driver.ensure_network("net-a", external=False, mtu=1450)
    print("begins", flush=True)
    specs = [bench.spec(f"box-{n}", bench.port(20 + n)) for n in range(int(sys.argv[4]))]
    await asyncio.gather(*(bench.driver.spawn(each) for each in specs))
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("seconds", [0.03, 0.12, 0.25, 0.5])
async def test_servers_are_whole_or_not_there_and_start_afterwards(bench: Any, seconds: float) -> None:
    await bench.driver.stop(keep=True)
    arguments = [str(Path(__file__).with_name("conftest.py")), str(bench.state), str(bench.image.path), str(COUNT)]
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", VICTIM, *arguments, stdout=subprocess.PIPE)
    assert victim.stdout is not None
    await victim.stdout.readline()
    await asyncio.sleep(seconds)
    victim.kill()
    await victim.communicate()
    await asyncio.sleep(0.3)
    await bench.restart()
    await bench.driver.ensure_network("net-a", external=False, mtu=1450)
    specs = [bench.spec(f"box-{number}", bench.port(20 + number)) for number in range(COUNT)]
    await asyncio.gather(*(bench.driver.spawn(each) for each in specs))
    assert all([await bench.driver.is_running(each.id) for each in specs])
    status, output = await bench.inside("box-0", f"ping -c1 -W1 10.7.0.{20 + COUNT - 1}")
    assert status == 0, output
