"""Who reaches whom: security groups, spoofing, routers, floating IPs. Seen from inside the servers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from calor.server.devcloud.driver import RouterWiring
from calor.server.devcloud.sandbox import forward

pytestmark = [pytest.mark.root, pytest.mark.slow]

WEB = "cd /srv; hostname > index.html; (python3 -m http.server {port} >/dev/null 2>&1 &); sleep 0.7"
CLAIM = """
python3 - <<'END'
import socket, struct, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
mac = bytes.fromhex("{mac}".replace(":", ""))
own = socket.inet_aton("{claimed}")
for _ in range(3):
    s.send(b"\\xff" * 6 + mac + struct.pack("!HHHBBH", 0x806, 1, 0x800, 6, 4, 2) + mac + own + b"\\xff" * 6 + own)
    time.sleep(0.05)
END
"""


async def pings(bench: Any, server: str, address: str) -> bool:
    status, _output = await bench.inside(server, f"ping -c1 -W1 {address}")
    return bool(status == 0)


async def fetches(bench: Any, server: str, address: str, port: int) -> bool:
    status, _output = await bench.inside(server, f"curl -s -m 1 http://{address}:{port}/")
    return bool(status == 0)


async def soon(comes_through: Callable[..., Awaitable[bool]], *arguments: Any) -> bool:
    """What must come through may take a busy machine longer than one try allows."""
    for _ in range(10):
        if await comes_through(*arguments):
            return True
    return False


async def test_a_group_without_ingress_rules_lets_answers_in_but_nothing_else(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("bob", bench.port(12, rules=bench.nothing_in))
    assert not await pings(bench, "alice", "10.7.0.12")
    assert await soon(pings, bench, "bob", "10.7.0.11")


async def test_a_rule_opens_its_port_at_once_and_only_that_one_and_closes_again(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("bob", bench.port(12, rules=bench.nothing_in))
    await bench.inside("bob", WEB.format(port=80) + "; " + WEB.format(port=81))
    assert not await fetches(bench, "alice", "10.7.0.12", 80)
    opened = [*bench.nothing_in, bench.rule("ingress", "tcp", 80, ["10.7.0.11/32"])]
    await bench.driver.set_rules("bob", bench.port(12, rules=opened))
    assert await soon(fetches, bench, "alice", "10.7.0.12", 80)
    assert not await fetches(bench, "alice", "10.7.0.12", 81)
    await bench.driver.set_rules("bob", bench.port(12, rules=bench.nothing_in))
    assert not await fetches(bench, "alice", "10.7.0.12", 80)


async def test_egress_rules_hold_too(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11, rules=[bench.rule("egress", "tcp", 80)]))
    await bench.spawn("bob", bench.port(12))
    await bench.inside("bob", WEB.format(port=80))
    assert await soon(fetches, bench, "alice", "10.7.0.12", 80)
    assert not await pings(bench, "alice", "10.7.0.12")


async def test_root_inside_cannot_take_anothers_ip_address(bench: Any) -> None:
    for name, number in (("victim", 11), ("thief", 12), ("witness", 13)):
        await bench.spawn(name, bench.port(number))
    assert await soon(pings, bench, "thief", "10.7.0.13")
    await bench.driver.power_off("victim", timeout=0)
    status, _ = await bench.inside(
        "thief", "ip address add 10.7.0.11/24 dev eth0 && ip address del 10.7.0.12/24 dev eth0"
    )
    assert status == 0
    assert not await pings(bench, "thief", "10.7.0.13 -I 10.7.0.11")
    assert not await pings(bench, "witness", "10.7.0.11")


async def test_root_inside_cannot_take_anothers_mac_address(bench: Any) -> None:
    await bench.spawn("thief", bench.port(12))
    await bench.spawn("witness", bench.port(13))
    status, _ = await bench.inside(
        "thief", "ip link set eth0 down; ip link set eth0 address fa:16:3e:00:00:0b && ip link set eth0 up"
    )
    assert status == 0
    assert not await pings(bench, "thief", "10.7.0.13")


@pytest.mark.parametrize("mac", ["fa:16:3e:00:00:0c", "fa:16:3e:00:00:0b"])
async def test_a_false_arp_answer_reaches_nobody(bench: Any, mac: str) -> None:
    for name, number in (("victim", 11), ("thief", 12), ("witness", 13)):
        await bench.spawn(name, bench.port(number))
    assert await soon(pings, bench, "witness", "10.7.0.11")
    status, output = await bench.inside("thief", CLAIM.format(mac=mac, claimed="10.7.0.11"))
    assert status == 0, output
    _, neighbours = await bench.inside("witness", "ip neigh show 10.7.0.11")
    assert "fa:16:3e:00:00:0b" in neighbours
    assert await soon(pings, bench, "witness", "10.7.0.11")


async def test_a_port_without_security_may_send_as_anyone(bench: Any) -> None:
    await bench.spawn("router", bench.port(12, rules=None))
    await bench.spawn("witness", bench.port(13))
    await bench.inside("router", "ip address add 10.7.0.99/24 dev eth0")
    assert await soon(pings, bench, "router", "10.7.0.13 -I 10.7.0.99")


async def test_two_networks_meet_only_through_a_router(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("bob", bench.port(12, network="net-b", subnet="10.8.0"))
    assert not await pings(bench, "alice", "10.8.0.12")
    router = RouterWiring(
        router_id="r",
        legs=[("net-a", "10.7.0.1", 24), ("net-b", "10.8.0.1", 24)],
        external=None,
        snat=False,
        floating=[],
        routes=[],
    )
    await bench.driver.ensure_router(router)
    assert await soon(pings, bench, "alice", "10.8.0.12")
    await bench.driver.remove_router("r")
    assert not await pings(bench, "alice", "10.8.0.12")


async def test_a_floating_ip_leads_to_its_server_and_a_forward_to_both_addresses(bench: Any) -> None:
    await bench.driver.ensure_network("net-x", external=True, mtu=1500)
    await bench.spawn("web", bench.port(11, rules=[*bench.nothing_in, bench.rule("ingress", "tcp", 80)]))
    await bench.spawn("peer", bench.port(12))
    await bench.inside("web", WEB.format(port=80))
    router = RouterWiring(
        router_id="r",
        legs=[("net-a", "10.7.0.1", 24)],
        external=("net-x", "172.24.4.2", 24),
        snat=True,
        floating=[("172.24.4.9", "10.7.0.11")],
        routes=[],
    )
    await bench.driver.ensure_router(router)
    assert await fetched_over(bench, "0:172.24.4.9:80") == "web"
    assert await fetched_over(bench, "0:10.7.0.11:80") == "web"
    assert await soon(fetches, bench, "peer", "172.24.4.9", 80), "a server reaches a neighbour's floating IP"
    await bench.driver.set_rules("web", bench.port(11, rules=bench.nothing_in))
    assert await fetched_over(bench, "0:172.24.4.9:80") == ""


async def fetched_over(bench: Any, text: str) -> str:
    async with forward.serve(bench.state, forward.parse(text)) as port:
        process = await asyncio.create_subprocess_exec(
            "curl", "-s", "-m", "2", f"http://127.0.0.1:{port}/", stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    return output.decode().strip()


async def test_source_nat_hides_servers_behind_the_routers_address(bench: Any) -> None:
    await bench.driver.ensure_network("net-x", external=True, mtu=1500)
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("outside", bench.port(50, network="net-x", subnet="172.24.4"))
    router = RouterWiring(
        router_id="r",
        legs=[("net-a", "10.7.0.1", 24)],
        external=("net-x", "172.24.4.2", 24),
        snat=True,
        floating=[],
        routes=[],
    )
    await bench.driver.ensure_router(router)
    await bench.inside("outside", "cd /tmp; (python3 -u -m http.server 80 >/tmp/log 2>&1 &); sleep 0.7")
    assert await soon(fetches, bench, "alice", "172.24.4.50", 80)
    _, log = await bench.inside("outside", "cat /tmp/log")
    assert "172.24.4.2 - -" in log


async def test_a_port_plugged_and_unplugged_while_the_server_runs(bench: Any) -> None:
    await bench.spawn("alice", bench.port(11))
    await bench.spawn("bob", bench.port(12, network="net-b", subnet="10.8.0"))
    await bench.driver.plug("alice", bench.port(13, network="net-b", subnet="10.8.0"))
    assert await soon(pings, bench, "alice", "10.8.0.12")
    await bench.driver.unplug("alice", "port-net-b-13")
    _, links = await bench.inside("alice", "ip -br link")
    assert "eth1" not in links
    assert "eth0" in links
