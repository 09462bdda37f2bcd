"""Image `debian-12` made from packages, and booted."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest

from calor.server.devcloud.images import Image, cache_dir
from calor.server.devcloud.images.debian import build_debian

pytestmark = [pytest.mark.root, pytest.mark.slow]


@pytest.fixture(scope="session")
def debian_image() -> Image:
    assert shutil.which("mmdebstrap"), "mmdebstrap is not on this machine; scripts/test installs it"
    return asyncio.run(build_debian(cache_dir(), lambda _text: None))


@pytest.fixture
async def debian_bench(real_bench: Any, debian_image: Image) -> AsyncIterator[Any]:
    real_bench.image = debian_image
    yield real_bench


async def test_debian_boots_with_cloud_init_ansible_and_the_agent(debian_bench: Any) -> None:
    debian_bench.told.user_data["web"] = b"#!/bin/sh\necho user-data of $(. /etc/os-release; echo $ID-$VERSION_ID)\n"
    await debian_bench.spawn("web", debian_bench.port(11))
    await debian_bench.said("web", "user-data of debian-12", seconds=6)
    await debian_bench.said("web", "boot finished")
    status, output = await debian_bench.inside(
        "web", "calor-agent --help; cfn-signal --help; ansible --version; ls /mnt"
    )
    assert status == 0, output
    assert "core 2.14" in output


async def test_only_what_packages_bring_is_in_it(debian_image: Image) -> None:
    for root in debian_image.layers["/"]:
        assert not list(root.glob("etc/ssh/ssh_host_*"))
        assert not (root / "etc/resolv.conf").exists()
        assert not list(root.glob("home/*"))
        assert not list(root.glob("mnt/*"))
