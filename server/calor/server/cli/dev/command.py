"""``calor dev``: the server with an embedded OpenStack cloud, and looking into it."""

import asyncio
import shlex
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calor.server.cli.dev import files, removal
from calor.server.cli.dev.state import known_state, state_dir_option

if TYPE_CHECKING:
    from calor.server.devcloud.state import DevState


@click.group(invoke_without_command=True)
@state_dir_option
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port of the cloud's APIs; 0: any free one. [default: 5000]"
)
@click.option(
    "--orchestration-port",
    type=click.IntRange(0, 65535),
    help="Port of the server's REST API. [default: 8004, or free with --port 0]",
)
@click.option(
    "--cfn-port",
    type=click.IntRange(0, 65535),
    help="Port of the server's CloudFormation API. [default: 8000, or free with --port 0]",
)
@click.option(
    "--driver", type=click.Choice(["sandbox", "qemu", "record"]), help="What runs servers. [default: sandbox as root]"
)
@click.option("--processes", type=click.IntRange(1, 2), default=1, show_default=True, help="2: the server in its own.")
@click.option("--cloud-only", is_flag=True, help="Start the cloud alone, beside a server that runs on.")
@click.option("--remove-servers", is_flag=True, help="At the end, remove what runs instead of leaving it running.")
@click.option("--tls/--no-tls", default=None, help="Whether the server answers by HTTPS, with a private authority.")
@click.option("--ready-file", type=click.Path(dir_okay=False, path_type=Path), help="Write a JSON object when ready.")
@click.pass_context
def dev(
    ctx: click.Context,
    directory: Path,
    port: int | None,
    orchestration_port: int | None,
    cfn_port: int | None,
    driver: str | None,
    processes: int,
    cloud_only: bool,
    remove_servers: bool,
    tls: bool | None,
    ready_file: Path | None,
) -> None:
    """Run the server with an embedded OpenStack cloud, until SIGTERM or Ctrl-C."""
    if ctx.invoked_subcommand is not None:
        ctx.obj = directory
        return
    from calor.server.cli.dev.processes import Options, run
    from calor.server.devcloud.state import StateError

    options = Options(
        directory=directory,
        port=port,
        orchestration_port=orchestration_port,
        cfn_port=cfn_port,
        driver=driver,
        processes=0 if cloud_only else processes,
        ready_file=ready_file,
        remove_servers=remove_servers,
        tls=tls,
    )
    try:
        asyncio.run(run(options))
    except StateError as exc:
        raise click.ClickException(str(exc)) from exc


@dev.command()
@state_dir_option
def env(directory: Path) -> None:
    """Print settings for the shell: eval "$(calor dev env)"."""
    known_state(directory)
    click.echo(f"export OS_CLIENT_CONFIG_FILE={shlex.quote(str((directory / 'clouds.yaml').resolve()))}")
    click.echo("export OS_CLOUD=calor")


@dev.command()
@state_dir_option
def status(directory: Path) -> None:
    """Say what runs."""
    known = known_state(directory)
    for name, url in (("cloud", known.identity), ("server", known.orchestration)):
        pid = known.pids.get(name, 0)
        alive = "running" if files.is_alive(pid) else "not running"
        click.echo(f"{name:8}{alive:13}pid {pid:<8}{url}")
    click.echo(f"driver  {known.driver}")


@dev.command(context_settings={"ignore_unknown_options": True})
@state_dir_option
@click.argument("server")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(directory: Path, server: str, command: tuple[str, ...]) -> None:
    """Enter a server (name or id) as root, or run a command there."""
    from calor.server.devcloud.driver import DriverError
    from calor.server.devcloud.sandbox import enter

    known = known_state(directory)
    ident = _server_id(known, server)
    try:
        inside = enter.find(directory, ident)
    except DriverError as exc:
        raise click.ClickException(str(exc)) from exc
    argv = enter.command(inside, command) if command else enter.command(inside)
    raise SystemExit(subprocess.call(argv))


def _server_id(known: "DevState", name: str) -> str:
    from calor.server.cli.dev.lookup import LookupFault, server_id

    try:
        return server_id(known, name)
    except LookupFault as exc:
        raise click.ClickException(str(exc)) from exc


@dev.command()
@state_dir_option
@click.argument("forwards", nargs=-1, required=True, metavar="PORT:ADDRESS:PORT...")
def forward(directory: Path, forwards: tuple[str, ...]) -> None:
    """Open ports of servers on loopback, until Ctrl-C."""
    from calor.server.devcloud.driver import DriverError

    known_state(directory)
    try:
        asyncio.run(_forward(directory, forwards))
    except DriverError as exc:
        raise click.ClickException(str(exc)) from exc
    except OSError as exc:
        raise click.ClickException(f"The port cannot be opened: {exc.strerror}") from exc


async def _forward(directory: Path, texts: tuple[str, ...]) -> None:
    from contextlib import AsyncExitStack

    from calor.server.devcloud.sandbox import forward as forwarding

    end = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, end.set)
    async with AsyncExitStack() as stack:
        for text in texts:
            wanted = forwarding.parse(text)
            port = await stack.enter_async_context(forwarding.serve(directory, wanted))
            click.echo(f"http://127.0.0.1:{port}/ leads to {wanted.address}:{wanted.target}")
        await end.wait()


dev.add_command(removal.stop)
dev.add_command(removal.remove)
