"""F058: every state file truncated at every position; the agent recovers, and runs nothing twice."""

import shutil

import pytest

FILES = ("secret", "enrolled", "status.json", "runs/run-a/deployment.json", "runs/run-a/attempt-1/started")
RESULTS = ("runs/run-a/attempt-1/result.json", "runs/run-a/attempt-1/hook", "outbox/run-a.json")


def positions(size):
    """Each of the first bytes, then some: what json makes of a cut does not depend on the middle of a text."""
    return sorted({0, 1, 2, size // 3, size // 2, size - 2, size - 1} & set(range(size)))


@pytest.fixture
def applied(server, guest, deployment):
    """A guest that has run one deployment and not been able to report it."""
    server.faults["results"] = 503
    count = guest.root / "count"
    server.deploy(deployment("a", f"#!/bin/sh\necho x >>{count}; echo out\n"))
    assert guest.run("once").returncode == 1
    assert count.read_text() == "x\n"
    del server.faults["results"]
    shutil.copytree(guest.state, guest.root / "good")
    return guest


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES + RESULTS)
def test_f058_truncated_file_is_recovered_and_nothing_runs_twice(applied, server, name):
    size = (applied.root / "good" / name).stat().st_size
    for length in positions(size):
        shutil.rmtree(applied.state)
        shutil.copytree(applied.root / "good", applied.state)
        server.results.clear()
        path = applied.state / name
        path.write_bytes(path.read_bytes()[:length])
        done = applied.run("once")
        assert done.returncode == 0, (length, done.stderr)
        assert [one["run_id"] for one in server.results] == ["run-a"], (length, done.stderr)
        assert (applied.root / "count").read_text() == "x\n", length


@pytest.mark.slow
def test_f058_all_files_truncated_at_once_still_run_nothing_twice(applied, server):
    for name in (*FILES[3:], *RESULTS):
        (applied.state / name).write_bytes(b"")
    assert applied.run("once").returncode == 0
    assert server.results[0]["outcome"] == "interrupted"
    assert (applied.root / "count").read_text() == "x\n"
