"""``calor dev stop`` and ``calor dev remove``: ending what runs, taking away what was left on this machine."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calor.server.cli.dev import files
from calor.server.cli.dev.state import known_state, state_dir_option

if TYPE_CHECKING:
    from calor.server.devcloud.state import DevState

STOP_SECONDS = 30.0
_KILL_SECONDS = 5.0


@click.command()
@state_dir_option
def stop(directory: Path) -> None:
    """End the dev cloud and its server; state and sandboxes stay."""
    pids = processes(known_state(directory))
    _signal(pids, signal.SIGTERM)
    if left := _await_end(pids, STOP_SECONDS):
        raise click.ClickException(f"Processes {left} have not ended after {STOP_SECONDS:.0f} s.")
    click.echo("The dev cloud has ended." if pids else "The dev cloud was not running.")


@click.command(short_help="End what runs and remove it from this machine.")
@state_dir_option
@click.option("--purge", is_flag=True, help="Remove the state directory too: volumes, images, passwords, stacks.")
def remove(directory: Path, purge: bool) -> None:
    """End what runs and remove sandboxes, namespaces and mounts, also of a dev cloud that was killed."""
    from calor.server.devcloud.sandbox import leftovers

    known = known_state(directory)
    pids, running = processes(known), leftovers.servers_in(directory)
    _signal(pids, signal.SIGTERM)
    if left := _await_end(pids, STOP_SECONDS):
        _signal(left, signal.SIGKILL)
        _await_end(left, _KILL_SECONDS)
    with _held(directory):
        removed = max(running, _remove_servers(directory, known))  # with --remove-servers its end removes them
        if purge:
            shutil.rmtree(directory)
    click.echo(
        f"Removed {removed} server{'' if removed == 1 else 's'}{f' and the folder {directory}' if purge else ''}."
    )


@contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Nobody starts a dev cloud there meanwhile."""
    from calor.server.cli.dev.claim import claimed
    from calor.server.devcloud.state import StateError

    try:
        with claimed(directory):
            yield
    except StateError as exc:
        raise click.ClickException(str(exc)) from exc


def processes(known: "DevState") -> list[int]:
    """The processes of a dev cloud that run. An id that another program has got since is none of them."""
    return [pid for pid in dict.fromkeys(known.pids.values()) if files.is_alive(pid) and _is_calor(pid)]


def _is_calor(pid: int) -> bool:
    try:
        return b"calor" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def _remove_servers(directory: Path, known: "DevState") -> int:
    from calor.server.devcloud.driver import DriverError
    from calor.server.devcloud.sandbox import leftovers

    if known.driver == "record" and not leftovers.any_in(directory):
        return 0
    try:
        return asyncio.run(leftovers.remove(directory))
    except DriverError as exc:
        raise click.ClickException(str(exc)) from exc


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError as exc:
            raise click.ClickException(f"Process {pid} of the dev cloud belongs to another user.") from exc


def _await_end(pids: Iterable[int], seconds: float) -> list[int]:
    """Those that have not ended in time."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if files.is_alive(pid)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return left
