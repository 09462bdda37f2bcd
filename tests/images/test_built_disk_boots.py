"""The disk of ``calor image build`` in bare QEMU, by the firmware of old machines and of new ones."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from calor.server.devcloud.qemu.requirements import PROGRAM, UEFI, accelerator

pytestmark = [pytest.mark.slow, pytest.mark.root]

CALOR = Path(sys.executable).with_name("calor")
FIRMWARE = {"bios": [], "uefi": ["-bios", str(UEFI)]}
MACHINE = (
    "-nodefaults", "-display", "none", "-machine", "pc", "-m", "768", "-smp", "2", "-device", "virtio-rng-pci",
)  # fmt: skip
LIMIT = 1800  # software emulation beside other load
USER_DATA = """\
#cloud-config
runcmd:
- test -d /sys/firmware/efi && firmware=uefi || firmware=bios
- echo "firmware $firmware, root $(df -BM --output=size / | tail -n 1)" >/dev/console
- poweroff
"""


@pytest.fixture(scope="module")
def disk() -> Path:
    """Kept between runs, as for dev clouds."""
    done = subprocess.run([CALOR, "image", "build", "--format", "qcow2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.partition("The image is ")[2].partition(". A dev cloud")[0])


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    """What cloud-init reads where there is no metadata service."""
    made = tmp_path / "seed"
    (tmp_path / "user-data").write_text(USER_DATA)
    (tmp_path / "meta-data").write_text("instance-id: i-1\n")
    subprocess.run(["mformat", "-C", "-i", made, "-v", "CIDATA", "-f", "1440", "::"], check=True)
    subprocess.run(["mcopy", "-i", made, tmp_path / "user-data", tmp_path / "meta-data", "::"], check=True)
    return made


@pytest.mark.parametrize("firmware", sorted(FIRMWARE))
def test_it_boots_and_its_root_grows_over_the_rest_of_the_disk(
    firmware: str, disk: Path, seed: Path, tmp_path: Path
) -> None:
    overlay, console = tmp_path / "overlay", tmp_path / "console"
    subprocess.run(["qemu-img", "create", "-q", "-b", disk, "-F", "qcow2", "-f", "qcow2", overlay, "3G"], check=True)
    drives = [f"file={overlay},format=qcow2,if=virtio", f"file={seed},format=raw,if=virtio"]
    command = [PROGRAM, *MACHINE, "-accel", accelerator(), "-serial", f"file:{console}", *FIRMWARE[firmware]]
    command += ["-drive", drives[0], "-drive", drives[1]]
    began = time.monotonic()
    subprocess.run(command, check=True, timeout=LIMIT)
    said = console.read_text(errors="replace")
    _, found, seen = said.partition("firmware ")
    assert found, said[-3000:]
    print(f"\n{firmware}: off again after {time.monotonic() - began:.0f} s; firmware {seen.splitlines()[0]}")
    assert seen.startswith(firmware + ", root ")
    assert int(seen.split("root")[1].split("M")[0]) > 2500
