"""An instance whose way to the server opens late: what stands in until then is not disturbed by it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from faulty_proxy import FaultyProxy

pytestmark = pytest.mark.slow
NOBODY = "http://127.0.0.1:9"


def test_a_run_that_came_by_the_metadatas_transport_goes_on_when_the_server_is_reached_at_last(
    desk: Any, config: Any, server_properties: dict[str, Any], tmp_path: Path, stopped: list[Any]
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    waits = f"#!/bin/sh\ntouch {begun}\nwhile [ ! -e {go} ]; do sleep 0.1; done\n"
    config["properties"]["config"] = f"{waits}printf 'to its end' >$heat_outputs_path.said\n"
    resources = {"server": {"type": "OS::Nova::Server", "properties": server_properties}, "config": config}
    desk.create("late", resources, wait=True)
    metadata = tmp_path / "guest/var/lib/heat-cfntools/cfn-init-data"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(json.dumps({"os-collect-config": desk.collected("late", "server")}))
    target = [NOBODY]
    proxy = FaultyProxy(lambda: target[0], seed=1, rate=0)
    try:
        stopped.append(desk.agent(tmp_path, "late", proxy.url, standby_after=0.5))
        used = {"config": {"get_resource": "config"}, "server": {"get_resource": "server"}}
        deployment = {"type": "OS::Heat::SoftwareDeployment", "properties": used}
        outputs = {"said": {"value": {"get_attr": ["deployment", "said"]}}}
        desk.update("late", {**resources, "deployment": deployment}, outputs=outputs)
        desk.until(begun.exists)
        target[0] = str(desk.cloud.ready["orchestration"])
        path = f"/stacks/late/{desk.show('late')['id']}/progress"
        heat = desk.api("orchestration")
        desk.until(lambda: [one for one in heat.get(path).json()["guests"] if one["state"] == "running"])
        time.sleep(2)  # the answer to the heartbeat has been acted upon
        go.touch()
        assert desk.reached("late", "UPDATE_COMPLETE") == {"said": "to its end"}
    finally:
        proxy.close()
