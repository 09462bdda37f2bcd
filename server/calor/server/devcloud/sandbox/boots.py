"""Starting the first process of a server: the launch plan, and the talk with the launcher around it."""

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from calor.server.devcloud.driver import DriverError, ServerSpec
from calor.server.devcloud.images.catalog import ImageError, load
from calor.server.devcloud.sandbox import processes
from calor.server.devcloud.sandbox.launch_plan import Device, LaunchPlan, Overlay
from calor.server.devcloud.sandbox.processes import Process

_SOURCES = Path(__file__).resolve().parents[4]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from calor.server.devcloud.sandbox.launcher import main; main()"
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "linux",
    "container": "calor",
    "product_name": "OpenStack Nova",  # cloud-init knows OpenStack's containers by it
}


def plan(server: ServerSpec, folder: Path, devices: Sequence[Device]) -> LaunchPlan:
    """The plan of one boot; makes the folders that the overlays need. Raises `DriverError` for a foreign image."""
    if server.image_path is None:
        raise DriverError("A sandbox boots from an image; it cannot boot from a volume.")
    try:
        image = load(server.image_path)
    except ImageError as exc:
        raise DriverError(str(exc)) from exc
    overlays = []
    for target, lowers in sorted(image.layers.items()):
        own = folder / "disk" / (target.strip("/") or "root")
        for each in ("upper", "work"):
            (own / each).mkdir(parents=True, exist_ok=True)
        (own / "upper").chmod(0o755)
        overlays.append(
            Overlay(
                target=target, lowers=[str(each) for each in lowers], upper=str(own / "upper"), work=str(own / "work")
            )
        )
    (folder / "mnt").mkdir(exist_ok=True)
    return LaunchPlan(
        hostname=server.hostname,
        root=str(folder / "mnt"),
        console=str(folder / "console.log"),
        overlays=overlays,
        devices=devices,
        guest_files={"init.py": Path(__file__).with_name("guest_init.py").read_text(), "boot.json": _boot(server)},
        argv=["/usr/bin/python3", "-I", "-S", "/run/calor/init.py"],
        environment=_ENVIRONMENT,
    )


async def boot(plan_path: Path, wire: Callable[[Process], Awaitable[None]]) -> None:
    """Start a server's first process; ``wire`` connects it before it runs. After a `DriverError` nothing is left."""
    launcher = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _START, str(_SOURCES), str(plan_path),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True, cwd="/", env={"PATH": _ENVIRONMENT["PATH"]},
    )  # fmt: skip
    assert launcher.stdin is not None
    assert launcher.stdout is not None
    answer = b""
    try:
        first = await launcher.stdout.readline()
        process = processes.of_pid(json.loads(first)["pid"]) if first else None
        if process is not None:
            await wire(process)
            answer = b"go\n"
    finally:
        _output, complaint = await launcher.communicate(answer)  # without "go" the launcher undoes its work
    if launcher.returncode:
        raise DriverError(f"The sandbox could not be started: {complaint.decode(errors='replace').strip()[-500:]}")


def _boot(server: ServerSpec) -> str:
    dns = dict.fromkeys(each for port in server.ports for fixed in port.fixed_ips for each in fixed.dns)
    files = [(path, base64.b64encode(content).decode()) for path, content in server.files]
    return json.dumps({"hostname": server.hostname, "dns": list(dns), "files": files})
