"""``calor server``: the orchestration server, until SIGTERM or SIGINT."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calor.server.cli.options import NO_FILE, configured, load_settings

if TYPE_CHECKING:
    from calor.server.config import Settings

log = logging.getLogger(__name__)


@click.command()
@configured
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one JSON object with URLs and process id to this file when the server answers.",
)
def server(config_files: tuple[Path, ...], dev_dir: Path | None, ready_file: Path | None) -> None:
    """Run the orchestration server."""
    from calor.server.config import logs

    settings = load_settings(config_files, dev_dir)
    general = settings.general
    try:
        logs.install(log_format=general.log_format, debug=general.debug, log_file=general.log_file)
    except OSError as exc:
        raise click.ClickException(f"log_file = {general.log_file} cannot be written: {exc.strerror}.") from exc
    if not settings.files:
        log.warning("%s", NO_FILE)
    fault = asyncio.run(run(settings, ready_file=ready_file, upgrade=dev_dir is not None))
    if fault:
        for line in fault.splitlines():
            click.echo(f"calor server: {line}", err=True)
        sys.exit(1)


async def run(settings: "Settings", *, ready_file: Path | None, upgrade: bool) -> str:
    """Serve until told to stop. Answers "" or, where the server cannot start, a line for each reason."""
    from calor.server.cli.composition import StartFault, running

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop.set)
    try:
        async with running(settings, upgrade=upgrade) as served:
            if ready_file is not None:
                write_ready(ready_file, {**served.as_record(), "pid": os.getpid()})
            await stop.wait()
    except StartFault as exc:
        return str(exc)
    return ""


def write_ready(file: Path, record: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(record) + "\n", encoding="utf-8")
    draft.replace(file)
