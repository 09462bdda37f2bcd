"""What QEMU is told, and what this machine can do for it."""

import json
from pathlib import Path

import pytest

from calor.server.devcloud.driver import DriverError, VolumeWiring
from calor.server.devcloud.qemu import command_line, requirements
from calor.server.devcloud.qemu.command_line import Machine, Nic

VOLUME = VolumeWiring(volume_id="0f4c9e1e-6d6c-4a53-8ff5-6a7d3d1a9b11", path=Path("/v/a,b"), device="/dev/vdb")


def argv(**changes: object) -> list[str]:
    wanted = {
        "id": "s1", "name": "db", "vcpus": 2, "ram_mb": 512, "folder": Path("/s/1"), "accelerator": "tcg",
        "root": Path("/s/1/disk/root.qcow2"), "volumes": [VOLUME],
        "nics": [Nic(port_id="p1", mac="fa:16:3e:00:00:05", network="tap,fd=9")],
    }  # fmt: skip
    return command_line.argv(Machine(**{**wanted, **changes}))  # type: ignore[arg-type]  # a table of changes


def test_the_machine_has_its_size_its_disks_and_its_ports() -> None:
    words = argv()
    assert words[words.index("-smp") + 1] == "2"
    assert words[words.index("-m") + 1] == "512"
    nodes = [json.loads(words[at + 1]) for at, word in enumerate(words) if word == "-blockdev"]
    assert [node["driver"] for node in nodes] == ["qcow2", "raw"], "never guessed from what a user wrote into it"
    assert nodes[1]["file"]["filename"] == "/v/a,b"
    assert any("fa:16:3e:00:00:05" in word for word in words)
    assert "OpenStack" in " ".join(words), "cloud-init knows the cloud by it"
    assert words[words.index("-sandbox") + 1].count("deny") == 4


def test_without_an_image_it_boots_from_its_first_volume() -> None:
    assert [word for word in argv(root=None) if '"bootindex": 2' in word]
    assert not [word for word in argv(root=None) if "root.qcow2" in word]


def test_a_volumes_serial_is_what_nova_gives() -> None:
    assert command_line.volume_device(VOLUME)["serial"] == "0f4c9e1e-6d6c-4a53-8"


def test_an_image_chooses_its_firmware_as_for_nova(tmp_path: Path) -> None:
    uefi = tmp_path / "OVMF.fd"
    assert requirements.firmware({}, uefi) is None
    assert requirements.firmware({"hw_firmware_type": "bios"}, uefi) is None
    with pytest.raises(DriverError, match="apt-get install ovmf"):
        requirements.firmware({"hw_firmware_type": "uefi"}, uefi)
    uefi.touch()
    assert requirements.firmware({"hw_firmware_type": "uefi"}, uefi) == uefi
    with pytest.raises(DriverError, match="openfirmware: servers here boot by bios and uefi"):
        requirements.firmware({"hw_firmware_type": "openfirmware"}, uefi)
    assert "-bios" not in argv()
    words = argv(firmware=uefi)
    assert words[words.index("-bios") + 1] == str(uefi)


@pytest.mark.parametrize(
    ("flags", "there", "want"), [("fpu vmx", True, "kvm"), ("fpu", True, "tcg"), ("svm", False, "tcg")]
)
def test_kvm_is_used_where_the_processor_virtualises(tmp_path: Path, flags: str, there: bool, want: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags\t\t: {flags}\n")
    if there:
        (tmp_path / "kvm").touch()
    assert requirements.accelerator(tmp_path / "kvm", tmp_path / "cpuinfo") == want


def test_a_machine_without_qemu_is_told_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert requirements.missing() == [
        "Servers of disk images are VMs, and QEMU is missing: apt-get install qemu-system-x86 qemu-utils"
    ]
