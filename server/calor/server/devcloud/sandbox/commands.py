"""Running ``ip``, ``nft`` and the like, in a network namespace or on the host."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from calor.server.devcloud.driver import DriverError


async def run(argv: Sequence[str], *, given: str = "") -> str:
    """The program's output. Raises `DriverError` with its words where it fails."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, complaint = await process.communicate(given.encode())
    if process.returncode:
        words = (complaint or output).decode(errors="replace").strip()
        raise DriverError(f"{' '.join(argv)}: {words or f'exit status {process.returncode}'}")
    return output.decode(errors="replace")


async def ip(namespace: Path, lines: Iterable[str]) -> None:
    """A batch of ip commands inside a namespace; the first that fails ends it."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        await run(["nsenter", f"--net={namespace}", "ip", "-batch", "-"], given=text)


async def ip_show(namespace: Path, *what: str) -> list[dict[str, Any]]:
    """``ip -j``'s answer: one object a link, address or route."""
    answer: list[dict[str, Any]] = json.loads(await run(["nsenter", f"--net={namespace}", "ip", "-j", *what]) or "[]")
    return answer


async def delete_link(namespace: Path, device: str) -> None:
    """Nothing happens where it is gone, or goes by itself just now because its other end's namespace has ended."""
    try:
        await ip(namespace, [f"link delete {device}"])
    except DriverError:
        if device in {link["ifname"] for link in await ip_show(namespace, "link")}:
            raise


async def nft(namespace: Path, text: str, *, check_only: bool = False) -> None:
    """Load rules inside a namespace, all or nothing."""
    flags = ["-c"] if check_only else []
    await run(["nsenter", f"--net={namespace}", "nft", *flags, "-f", "-"], given=text)
