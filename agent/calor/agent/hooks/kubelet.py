"""Group ``kubelet``: the config is a pod manifest, which the kubelet of this machine runs."""

import json
import os
import re
import sys
import time
from typing import Any, Callable, Dict, List, Set

from calor.agent import steps
from calor.agent.hooks import contract, working
from calor.agent.hooks.containers import Engine
from calor.cfntools import durable


class Kubelet(working.Working):
    """Heat's kubelet hook: puts the manifest where the kubelet reads it and waits for its images and containers."""

    group = "kubelet"
    leaves_something = True

    def check(self, job: contract.Job) -> None:
        contract.find_tool(
            contract.base_environment(job.environment), ["kubelet"], "package kubelet or kubernetes-node"
        )
        Engine(job)
        if job.deployment.action != "DELETE":
            _containers(job)
        for option, default in (("images_timeout", 600.0), ("containers_timeout", 120.0), ("poll_period", 5.0)):
            contract.number(job, option, default)

    def work(self, job: contract.Job) -> int:
        self.withdraw(job, False)
        if job.deployment.action == "DELETE":
            return 0
        path = _manifest(job)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        durable.write(path, json.dumps(contract.as_document(job, self.group), indent=2).encode("ascii"))
        engine = Engine(job)
        images = {str(one["image"]): _image_pattern(str(one["image"])) for one in _containers(job)}
        names = {str(one["name"]): _name_pattern(job, str(one["name"])) for one in _containers(job)}
        waits = (
            ("images", images, contract.number(job, "images_timeout", 600.0), lambda: _images(engine)),
            ("containers", names, contract.number(job, "containers_timeout", 120.0), lambda: _names(engine)),
        )
        return 0 if all(_wait(job, *wait) for wait in waits) else 1

    def withdraw(self, job: contract.Job, is_replaced: bool) -> None:
        durable.remove(_manifest(job))


def _manifest(job: contract.Job) -> str:
    folder = job.places.heat(
        job.environment, "HEAT_KUBELET_MANIFESTS", "/var/lib/heat-config/heat-config-kubelet/kubelet-manifests"
    )
    return os.path.join(folder, "{}.json".format(job.deployment.id))


def _containers(job: contract.Job) -> List[Dict[str, Any]]:
    """The containers of the pod: of today's manifests below ``spec``, of old ones at the top."""
    config = contract.as_document(job, "kubelet")
    found = config.get("containers") or (config.get("spec") or {}).get("containers") or []
    if not all(isinstance(one, dict) and one.get("image") and one.get("name") for one in found):
        raise contract.CannotRun("kubelet hook: each container needs name and image", 1)
    return list(found)


def _image_pattern(image: str) -> str:
    """An image without a tag is there with any."""
    tagged = ":" in image.rpartition("/")[2]
    return r"(.+/)?" + re.escape(image) + ("" if tagged else r"(:.*)?")


def _name_pattern(job: contract.Job, name: str) -> str:
    """What kubelets call a container: k8s_NAME.HASH_POD… the old ones, k8s_NAME_POD… those of today."""
    pod = ((contract.as_document(job, "kubelet").get("metadata") or {}).get("name")) or job.deployment.id
    old = re.escape(job.deployment.id.replace("-", "")[:15])
    return r"k8s_{0}(\.[0-9a-z]{{8}}_{1}.*|_{2}.*)".format(re.escape(name), old, re.escape(str(pod)))


def _images(engine: Engine) -> Set[str]:
    return set(engine.lines("images", "--format", "{{.Repository}}:{{.Tag}}"))


def _names(engine: Engine) -> Set[str]:
    return set(engine.lines("ps", "--format", "{{.Names}}"))


def _wait(job: contract.Job, what: str, wanted: Dict[str, str], patience: float, look: Callable[[], Set[str]]) -> bool:
    """Wait until there is something for each of the patterns."""
    pause, deadline = contract.number(job, "poll_period", 5.0), time.monotonic() + patience
    missing = dict(wanted)
    while True:
        there = look()
        missing = {name: one for name, one in missing.items() if not any(re.fullmatch(one, own) for own in there)}
        if not missing:
            sys.stdout.write("all {} are there: {}\n".format(what, ", ".join(sorted(wanted))))
            return True
        steps.note(job.directory, "waiting for {}: {}".format(what, ", ".join(sorted(missing))))
        if time.monotonic() > deadline:
            said = "timed out after {:g} seconds waiting for {}: {}\n"
            sys.stderr.write(said.format(patience, what, ", ".join(sorted(missing))))
            return False
        time.sleep(max(0.1, min(pause, deadline - time.monotonic())))
