"""The demo: `calor dev`, one stack through the unmodified `openstack` client, its outputs, and nothing left behind."""

import argparse
import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openstack

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SANDBOX = """\
The server was a sandbox: Linux namespaces on this machine, with a network, disk layer, metadata service and cloud-init
of its own. It is no virtual machine, and no boundary against a hostile root inside it; it has no systemd and mounts no
file systems. The APIs, the user data, the agent and what you saw it do are the same on a real cloud."""
GO_ON = """\
How to go on:
  .venv/bin/calor dev                        the same cloud, kept in a folder until you end it
  eval "$(.venv/bin/calor dev env)"          points the openstack client at it
  .venv/bin/openstack stack create --wait -t examples/05-web-page.yaml web
  .venv/bin/calor dev shell SERVER           into an instance
The tour is in examples/README.md, the way onto a cloud that you have in README.md."""


class DemoFailed(Exception):
    """What went wrong, with what the dev cloud said last."""


class Demo:
    """One run. ``state`` is thrown away at the end."""

    def __init__(self, state: Path, prepared: float) -> None:
        self.state = state
        self.log = state.with_suffix(".log")
        self.stages: list[tuple[str, float]] = [("packages", prepared)]
        self.cloud: subprocess.Popen[bytes] | None = None

    @contextmanager
    def stage(self, name: str, sentence: str) -> Iterator[None]:
        print(f"\n\033[1m{sentence}\033[0m" if sys.stdout.isatty() else f"\n{sentence}", flush=True)
        begin = time.monotonic()
        yield
        self.stages.append((name, time.monotonic() - begin))

    def start_cloud(self) -> dict[str, Any]:
        """`calor dev` on free ports; its ready file says where everything is."""
        ready = self.state.with_suffix(".ready")
        ports = ["--port", "0", "--orchestration-port", "0", "--cfn-port", "0"]
        command = [str(BIN / "calor"), "dev", "--state-dir", str(self.state), "--remove-servers", *ports]
        command += ["--ready-file", str(ready)]
        with self.log.open("wb") as log:
            self.cloud = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        shown = 0
        while not ready.exists():
            shown = self._show_log(shown)
            if self.cloud.poll() is not None:
                raise DemoFailed(f"calor dev ended with {self.cloud.returncode}")
            time.sleep(0.1)
        found: dict[str, Any] = json.loads(ready.read_text())
        os.environ.update(OS_CLIENT_CONFIG_FILE=str(found["clouds_yaml"]), OS_CLOUD="calor")
        return found

    def _show_log(self, shown: int) -> int:
        """What `calor dev` says of its own start, from byte ``shown`` on."""
        text = self.log.read_bytes()[shown:]
        whole = text[: text.rfind(b"\n") + 1]
        for line in whole.decode(errors="replace").splitlines():
            if line and not line.startswith("{"):
                print(f"  {line}", flush=True)
        return shown + len(whole)

    def client(self, *arguments: str) -> str:
        """What the client prints; it is not shown, but what follows from it."""
        print(f"  $ openstack {' '.join(arguments)}", flush=True)
        done = subprocess.run([str(BIN / "openstack"), *arguments], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise DemoFailed(f"openstack {arguments[0]} {arguments[1]}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def follow(self, name: str) -> None:
        """Print the stack's events as they come, until it is no longer in progress."""
        print("  its events, as the API lists them while it is made (`calor stack watch` shows more):", flush=True)
        heat = openstack.connect().orchestration
        begin, seen = time.monotonic(), set[str]()
        while True:
            stack = heat.find_stack(name, ignore_missing=False)
            events = heat.get(f"/stacks/{name}/{stack.id}/events").json()["events"]
            for event in events:
                if event["id"] not in seen:
                    seen.add(event["id"])
                    what = f"{event['resource_name']:14} {event['resource_status']}"
                    print(f"  {time.monotonic() - begin:5.1f} s  {what}", flush=True)
            if not str(stack.status).endswith("IN_PROGRESS"):
                break
            time.sleep(0.3)
        if stack.status != "CREATE_COMPLETE":
            raise DemoFailed(f"the stack is {stack.status}: {stack.status_reason}")

    def outputs(self, name: str) -> dict[str, Any]:
        found = json.loads(self.client("stack", "show", name, "-f", "json"))["outputs"]
        return {output["output_key"]: output["output_value"] for output in found}

    def stop_cloud(self) -> None:
        if self.cloud is not None and self.cloud.poll() is None:
            self.cloud.send_signal(signal.SIGTERM)
            self.cloud.wait(60)

    def run(self) -> None:
        word = secrets.token_hex(6)
        with self.stage("cloud", "1. A cloud on this machine (the first time, its image is made from Debian packages)"):
            ready = self.start_cloud()
            print(f"  identity {ready['identity']}   orchestration {ready['orchestration']}")
        with self.stage("stack", f"2. A stack: one server, a script, a playbook, and the word '{word}'"):
            self.client("stack", "create", "-t", "examples/demo.yaml", "--parameter", f"word={word}", "demo")
            self.follow("demo")
        with self.stage("outputs", "3. What the server made of the word"):
            outputs = self.outputs("demo")
            print("  the outputs in that JSON:")
            for name, value in outputs.items():
                print(f"  {name:14} {str(value).strip()}")
            if outputs["digest"] != hashlib.sha256(word.encode()).hexdigest():
                raise DemoFailed("the digest is not that of the word")
            print("  The digest is right: it was computed inside the server, from a word that is new in each run.")
        with self.stage("delete", "4. Delete the stack"):
            self.client("stack", "delete", "--yes", "--wait", "demo")
        with self.stage(
            "stop",
            "5. End the cloud; all that it made goes (.venv and the image in ~/.cache/calor stay for the next run)",
        ):
            self.stop_cloud()

    def summary(self) -> None:
        total = sum(seconds for _, seconds in self.stages)
        each = "   ".join(f"{name} {seconds:.1f}" for name, seconds in self.stages)
        print(f"\nSeconds: {each}   in all {total:.1f}\n\n{SANDBOX}\n\n{GO_ON}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("prepared", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="calor-demo-"))
    demo = Demo(place / "state", options.prepared)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        demo.run()
        demo.summary()
    except DemoFailed as failed:
        tail = "\n".join(demo.log.read_text(errors="replace").splitlines()[-15:])
        print(f"\nThe demo failed: {failed}\nThe cloud said last:\n{tail}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; cleaning up.", file=sys.stderr)
        return 130
    finally:
        demo.stop_cloud()
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
