"""The first process of a sandbox. Runs inside it with Debian's Python; standard library only.

Prepares the files that belong to this boot, runs cloud-init's stages and sshd, takes in orphans, and ends everything
in order: SIGTERM is power-off, SIGINT (what `reboot` inside sends) starts over.
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NoReturn

BOOT = Path("/run/calor/boot.json")
DONE = Path("/var/lib/calor-sandbox/files-injected")
WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
STAGES = (("init",), ("modules", "--mode=config"), ("modules", "--mode=final"))


def main() -> NoReturn:
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    say(f"sandbox boots, {time.strftime('%Y-%m-%d %H:%M:%S')} UTC")
    boot = json.loads(BOOT.read_text())
    prepare(boot)
    console = open_console()
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os._exit(start_services(boot))
    threading.Thread(target=copy_console, args=(console,), daemon=True).start()
    asked = signal.SIGCHLD
    while asked == signal.SIGCHLD:
        reap()
        asked = signal.Signals(signal.sigwaitinfo(WATCHED).si_signo)
    end_everything()
    if asked == signal.SIGINT:
        start_over()
    say("power off")
    sys.exit(0)


def say(text: str) -> None:
    sys.stdout.write(f"[calor] {text}\n")
    sys.stdout.flush()


def open_console() -> int:
    """/dev/console, which anything inside may write to: a pipe into the console's log."""
    with contextlib.suppress(FileExistsError):  # of an earlier boot of this sandbox
        os.mkfifo("/dev/console", 0o620)
    return os.open("/dev/console", os.O_RDWR)  # by both ends, so that it never comes to an end


def copy_console(console: int) -> None:
    while data := os.read(console, 65536):
        os.write(sys.stdout.fileno(), data)


def reap() -> bool:
    """Take in all that has ended. False: no process is left."""
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def prepare(boot: dict[str, Any]) -> None:
    """Files of this boot: names, resolver, folders that a real boot would make."""
    clear(Path("/tmp"))  # noqa: S108 - a boot empties it
    for folder, mode in (("/run/lock", 0o1777), ("/run/sshd", 0o755), ("/run/user", 0o755), ("/tmp", 0o1777)):  # noqa: S108
        Path(folder).mkdir(exist_ok=True)
        Path(folder).chmod(mode)
    name = boot["hostname"]
    write("/etc/hostname", f"{name.split('.')[0]}\n")
    write("/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {name} {name.split('.')[0]}\n::1 localhost ip6-localhost\n")
    # cloud-init's first stage asks for names that do not exist: with a name server that never answers it waits 18 s
    write("/etc/resolv.conf", "")
    if not Path("/etc/machine-id").exists():
        write("/etc/machine-id", f"{uuid.uuid4().hex}\n")
    if not DONE.exists():
        for path, content in boot["files"]:
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(content))
        DONE.parent.mkdir(parents=True, exist_ok=True)
        DONE.touch()


def write(path: str, text: str) -> None:
    """Replace a file or whatever link stands in its place."""
    target = Path(path)
    if target.is_symlink():
        target.unlink()
    target.write_text(text)


def resolver(servers: list[str]) -> str:
    """resolv.conf with short patience: most dev clouds have no way to a name server."""
    lines = [f"nameserver {each}" for each in servers]
    return "\n".join([*lines, "options timeout:1 attempts:2", ""]) if lines else ""


def clear(folder: Path) -> None:
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink()


def start_services(boot: dict[str, Any]) -> int:
    """cloud-init's stages in order, sshd as soon as the first has made host keys. Exit status of the last."""
    status = 0
    for stage in STAGES:
        status = subprocess.call(["/usr/bin/cloud-init", *stage])
        if status:
            say(f"cloud-init {' '.join(stage)} ended with status {status}")
        if stage == STAGES[0]:
            write("/etc/resolv.conf", resolver(boot["dns"]))
            start_sshd()
    say("boot finished")
    return status


def start_sshd() -> None:
    if not Path("/usr/sbin/sshd").exists():
        return
    if not any(Path("/etc/ssh").glob("ssh_host_*_key")):  # a user turned cloud-init's off
        subprocess.call(["/usr/bin/ssh-keygen", "-A"], stdout=subprocess.DEVNULL)
    subprocess.call(["/usr/sbin/sshd"])


def end_everything() -> None:
    """SIGTERM to all, then SIGKILL to what stays."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 1.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        end = time.monotonic() + patience
        while reap() and time.monotonic() < end:
            signal.sigtimedwait({signal.SIGCHLD}, max(end - time.monotonic(), 0))
        if not reap():
            return


def start_over() -> NoReturn:
    """A reboot from inside: the same namespaces and address, a new boot id, an empty /run."""
    say("reboot")
    for each in Path("/run").iterdir():
        if each.name != "calor":
            clear(each) if each.is_dir() else each.unlink()
    Path("/run/calor/boot_id").write_text(f"{uuid.uuid4()}\n")
    os.execv(sys.executable, [sys.executable, "-I", "-S", *sys.argv])  # noqa: S606


if __name__ == "__main__":
    main()
