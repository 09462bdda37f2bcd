"""An instance with a real agent, a disk of its own that can be filled, and a clock that can be set."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

AGENT = Path(__file__).with_name("shifted_agent.py")
DISK = "size=24m"


class Clock:
    """The wall clock of the processes whose CALOR_SHIFT names the file; steady clocks go on as they do."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)

    def set(self, seconds: int) -> None:
        """So many seconds ahead of the machine's."""
        draft = self.file.with_suffix(".new")
        draft.write_text(str(seconds))
        draft.replace(self.file)


class TorturedGuest:
    """``stop`` it at the end: it holds a mount."""

    def __init__(self, root: Path, settings: dict[str, Any]) -> None:
        self.root, self.kills, self.was_full = root, 0, False
        self.state = root / "var/lib/calor"
        self.state.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(self.state)], check=True)
        (root / "etc/calor").mkdir(parents=True)
        (root / "etc/calor/agent.json").write_text(json.dumps(settings))
        (root / "boot_id").write_text("boot-1")
        self.clock = Clock(root / "clock")
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        places = {"CALOR_ROOT": str(root), "CALOR_BOOT_ID_FILE": str(root / "boot_id")}
        self.environment = {**kept, **places, "CALOR_SHIFT": str(self.clock.file)}
        self.process: subprocess.Popen[bytes] | None = None

    def revive(self) -> None:
        """What an init system does: start the agent if it does not run."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-I", "-S", str(AGENT), "run"]
            with (self.root / "console").open("ab") as console:
                self.process = subprocess.Popen(command, env=self.environment, stdout=console, stderr=console)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(30)
            self.kills += 1

    def fill(self) -> None:
        """No byte more fits on the disk."""
        self.was_full = True
        with contextlib.suppress(OSError), (self.state / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(b"x" * 4096)

    def release(self) -> None:
        (self.state / "ballast").unlink(missing_ok=True)

    def others(self) -> list[str]:
        """The command lines of this guest's processes but for its agent: supervisors, hooks and what they started."""
        found = []
        own = 0 if self.process is None else self.process.pid
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != own:
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    if f"CALOR_ROOT={self.root}\0".encode() in (folder / "environ").read_bytes():
                        found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found

    def stop(self) -> None:
        self.kill()
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    if f"CALOR_ROOT={self.root}\0".encode() in (folder / "environ").read_bytes():
                        os.kill(int(folder.name), signal.SIGKILL)
        subprocess.run(["umount", "--lazy", str(self.state)], check=True)
