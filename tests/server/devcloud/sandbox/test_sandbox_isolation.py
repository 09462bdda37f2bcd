"""What root inside a sandbox cannot do. Tried from inside, as root there."""

import asyncio
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.root, pytest.mark.slow]

LOOK_INTO_PEER = """
python3 - <<'END'
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
for target in (b"", struct.pack("HHi", 8, 46, 0), struct.pack("HHi", 8, 46, 1)):
    info = struct.pack("BxHiII", 0, 0, 0, 0, 0) + target
    s.send(struct.pack("IHHII", 16 + len(info), 18, 0x301, 1, 0) + info)
    kinds = []
    while not kinds or kinds[-1] not in (2, 3):
        data, at = s.recv(65536), 0
        while at < len(data):
            length, kind = struct.unpack_from("IH", data, at)
            kinds.append(kind)
            at += length + 3 & ~3
    print("links seen:", kinds.count(16))
END
"""


async def test_only_the_shown_part_of_this_machine_is_there(bench: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    await bench.spawn("box")
    _, output = await bench.inside(
        "box", f"ls -A /root /home /opt /srv /mnt /media; cat {secret}; ls /work /tmp; hostname"
    )
    assert "of the host" not in output
    assert "cannot access '/work'" in output
    _, names = await bench.inside("box", "ls /; ls /home; ls /usr/local/bin")
    assert not {"work", "snap", "lost+found", "python3"} & set(names.split())


async def test_secrets_and_identity_of_this_machine_are_absent(bench: Any) -> None:
    await bench.spawn("box")
    _, output = await bench.inside(
        "box", "cut -d: -f2 /etc/shadow | sort -u; ls /etc/ssl/private; cat /etc/ssh/*_key /etc/machine-id"
    )
    inner = Path("/etc/machine-id").read_text().strip() if Path("/etc/machine-id").exists() else "no id"
    assert not inner or inner not in output
    for key in Path("/etc/ssh").glob("ssh_host_*_key"):
        assert key.read_text() not in output
    assert "$" not in output.splitlines()[0], "no password hash"
    for line in Path("/etc/passwd").read_text().splitlines():
        if 1000 <= int(line.split(":")[2]) < 60000:
            status, _ = await bench.inside("box", f"grep -q ^{line.split(':')[0]}: /etc/passwd")
            assert status == 1


@pytest.mark.parametrize(
    "attempt",
    [
        "/bin/mount -t tmpfs none /mnt",
        "/bin/mount --bind /etc /mnt",
        "/bin/umount /proc/sys",
        "/bin/mount -o remount,rw /proc/sys",
        "unshare --mount true",
        "unshare --user --map-root-user true",
        "unshare --user --mount true",
        "mknod /tmp/disk b 254 0",
        "mknod /tmp/mem c 1 1",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo c > /proc/sysrq-trigger; grep -q . /proc/kcore",
        "echo 1 > /sys/kernel/mm/ksm/run",
        "date -s 2001-01-01",
        "hostname other",
        "chroot /proc/1/root/../../.. ls /work",
        "nsenter --target 1 --mount true",
        "swapoff -a && /sbin/swapon /etc/passwd",
    ],
)
async def test_the_kernel_refuses(bench: Any, attempt: str) -> None:
    await bench.spawn("box")
    status, output = await bench.inside("box", attempt)
    assert status != 0, output


async def test_a_refused_mount_says_why(bench: Any) -> None:
    await bench.spawn("box")
    status, output = await bench.inside("box", "mount -t tmpfs none /mnt")
    assert status != 0
    assert "this server is a sandbox, where nothing can be mounted" in output


async def test_processes_of_this_machine_cannot_be_seen(bench: Any) -> None:
    await bench.spawn("box")
    await asyncio.sleep(0.5)
    _, output = await bench.inside("box", "ls /proc | grep -c '^[0-9]'; cat /proc/1/cmdline | tr '\\0' ' '")
    assert int(output.split()[0]) < 12
    assert "init.py" in output


async def test_capabilities_are_those_of_the_first_process_and_no_more(bench: Any) -> None:
    await bench.spawn("box")
    _, output = await bench.inside("box", "grep -h CapBnd /proc/1/status /proc/self/status; cat /proc/self/uid_map")
    first, own, uid_map = output.splitlines()
    assert first == own
    withheld = (2, 16, 17, 21, 22, 25, 27, 34, 38, 39)
    assert not any(int(own.split()[1], 16) & 1 << number for number in withheld)
    assert uid_map.split() == ["0", "0", "4294967294"]


async def test_the_networks_side_of_a_device_is_out_of_reach(bench: Any) -> None:
    await bench.spawn("box", bench.port(11))
    _, output = await bench.inside("box", "ip link show eth0; " + LOOK_INTO_PEER)
    assert "link-netnsid 1" in output, "the peer's namespace has a number here"
    assert output.splitlines()[-3:] == ["links seen: 3", "links seen: 0", "links seen: 0"]


async def test_the_networks_of_this_machine_are_out_of_reach(bench: Any) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        listener.settimeout(0.1)
        port = listener.getsockname()[1]
        addresses = {"127.0.0.1", socket.gethostbyname(socket.gethostname())}
        _, shown = await run_on_host("ip", "-4", "-o", "address")
        addresses |= {line.split()[3].split("/")[0] for line in shown.splitlines()}
        await bench.spawn("box", bench.port(11))
        for address in addresses:
            status, _ = await bench.inside("box", f"curl -s -m 1 http://{address}:{port}/")
            assert status != 0
        with pytest.raises(TimeoutError):
            listener.accept()


async def test_each_server_gets_its_own_metadata_only(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("bob", bench.port(12))
    ask = "curl -s -m 1 http://169.254.169.254/openstack/2018-08-27/meta_data.json"
    assert '"uuid": "alice"' in (await bench.inside("alice", ask))[1]
    assert '"uuid": "bob"' in (await bench.inside("bob", ask))[1]
    detour = "ip route replace 169.254.169.254/32 via 10.7.0.12 dev eth0; "
    assert "uuid" not in (await bench.inside("alice", detour + ask))[1]
    claimed = "ip address add 169.254.169.254/32 dev eth0; sleep 0.2"
    await bench.inside("alice", claimed)
    assert '"uuid": "bob"' in (await bench.inside("bob", ask))[1]


async def test_the_apis_are_reached_at_the_fixed_address_and_its_ports_stay_free_inside(bench: Any) -> None:
    word = uuid.uuid4().hex.encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + word)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    await bench.driver.stop(keep=True)
    bench.forwards[8004] = ("127.0.0.1", server.sockets[0].getsockname()[1])
    bench.forwards[8000] = ("127.0.0.1", 1)
    await bench.start()
    await bench.spawn("box", bench.port(11))
    status, output = await bench.inside("box", "curl -s -m 2 http://169.254.169.253:8004/")
    assert (status, output) == (0, word.decode())
    assert (await bench.inside("box", "curl -s -m 2 http://169.254.169.253:8000/"))[0] != 0
    for port in (80, 8000, 8004):
        serve = f"(timeout 3 python3 -m http.server {port} >/dev/null 2>&1 &); sleep 0.7; "
        assert (await bench.inside("box", f"{serve} curl -s -m 1 localhost:{port}"))[0] == 0
    server.close()


async def run_on_host(*argv: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()
