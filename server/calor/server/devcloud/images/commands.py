"""Running the programs that make images: output to a log, its end in the error."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from calor.server.devcloud.images.catalog import ImageError

_SHOWN_LINES = 15


async def run(
    argv: Sequence[str], *, what: str, log: Path, environment: Mapping[str, str], package: str | None = None
) -> None:
    """Raises `ImageError` with the last lines of the output where the program fails or is not there; ``package`` is the
    Debian package that brings it, where that has another name."""
    with log.open("ab") as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=environment
            )
        except FileNotFoundError as exc:
            raise ImageError(
                f"{what} could not be made: {argv[0]} is missing: apt-get install {package or argv[0]}"
            ) from exc
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
    if status:
        words = f"{what} could not be made: {argv[0]} ended with status {status}. All of it: {log}"
        raise ImageError(f"{words}\n{_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])
