"""Two dev clouds on one machine, each with its state directory: the end of one leaves the other whole."""

from pathlib import Path
from typing import Any

import pytest

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples/01-hello-server.yaml")
pytestmark = [pytest.mark.slow, pytest.mark.root]


def hello(cloud: Any, whom: str) -> str:
    """A stack with a server that has said hello; the server's id."""
    cloud.openstack("stack", "create", "--wait", "-t", EXAMPLE, "--parameter", f"whom={whom}", "hello")
    return server_of(cloud)


def server_of(cloud: Any) -> str:
    return str(cloud.json("stack", "resource", "show", "hello", "server")["physical_resource_id"])


def test_the_end_of_one_dev_cloud_leaves_the_other_whole(dev_cloud: Any, traces: Any) -> None:
    ends, stays = dev_cloud(), dev_cloud()
    gone, kept = hello(ends, "one"), hello(stays, "other")
    for cloud, whom, server in ((ends, "one", gone), (stays, "other", kept)):
        assert [row["ID"] for row in cloud.json("server", "list")] == [server], "each knows its own only"
        cloud.eventually_said(server, f"hello, {whom}, from")
    left = traces(stays.state)
    before = (left.namespaces(), left.mounts(), left.sandboxes())
    ends.stop()
    assert traces(ends.state).anything() == []
    assert (left.namespaces(), left.mounts(), left.sandboxes()) == before
    assert stays.ready["pid"] in left.processes()
    assert stays.json("server", "show", kept)["status"] == "ACTIVE"
    assert stays.calor_dev("shell", kept, "--", "/bin/cat", "/etc/hostname")
    stays.openstack("stack", "update", "--wait", "-t", EXAMPLE, "--parameter", "whom=again", "hello")
    stays.eventually_said(server_of(stays), "hello, again, from")
    stays.openstack("stack", "delete", "--yes", "--wait", "hello")
    assert not left.sandboxes()
