"""What an idle agent costs, and how soon a hook starts."""

import statistics
import time
from pathlib import Path

import pytest


def pss(pid: int) -> float:
    """Megabytes of proportional memory."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no Pss line")


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.slow
def test_idle_agent_is_small_and_sleeps(server, guest, deployment, record_property):
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", wait=25, heartbeat=60)
    server.deploy(deployment("a", "true"), deployment("c", "", group="nosuch"))
    guest.start()
    server.result("run-c")
    time.sleep(1.0)
    begun = cpu_ticks(guest.process.pid)
    time.sleep(3.0)
    assert cpu_ticks(guest.process.pid) - begun <= 2
    size = pss(guest.process.pid)
    record_property("pss_mb", size)
    print(f"idle agent: {size:.1f} MB PSS")
    assert size < 15


@pytest.mark.slow
def test_hook_starts_soon_after_the_deployment_is_there(server, guest, deployment, record_property):
    guest.start()
    waits = []
    for number in range(12):
        time.sleep(0.2)
        begun = time.time()
        server.deploy(deployment(str(number), "#!/bin/sh\ndate +%s.%N\n"))
        waits.append(float(server.result(f"run-{number}")["outputs"]["deploy_stdout"]) - begun)
    middle = statistics.median(waits)
    record_property("p50_ms", middle * 1000)
    print(f"deployment to hook: p50 {middle * 1000:.0f} ms")
    assert middle < 0.6  # the budget is 200 ms on an idle machine; tests share theirs
