"""The pure parts: rules of a port, NAT of a router, names, records, consoles, overlays, forwards."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.devcloud.driver import DriverError, FixedIp, PortWiring, RouterWiring, Rule
from calor.server.devcloud.sandbox import console, firewall, forward, limits, names, processes, records, routers
from calor.server.devcloud.sandbox.launch_plan import Device, LaunchPlan, Overlay, load
from calor.server.devcloud.sandbox.networks import addressing
from calor.server.devcloud.sandbox.processes import Process
from calor.server.devcloud.sandbox.records import Attached, Plugged, Running

PORT = PortWiring(
    port_id="p",
    network_id="n",
    mac="fa:16:3e:00:00:01",
    fixed_ips=[FixedIp(address="10.0.0.5", prefix=24, gateway="10.0.0.1", routes=[("10.9.0.0/16", "10.0.0.9")])],
    mtu=1450,
    rules=[],
)
SSH = Rule(direction="ingress", ethertype="IPv4", protocol="tcp", port_min=22, port_max=22, remotes=["0.0.0.0/0"])


def rules_of(kind: str, wiring: PortWiring) -> list[str]:
    prefix = f"add rule bridge calor {names.chain(kind, wiring.port_id)} "
    return [line.removeprefix(prefix) for line in firewall.port(wiring).splitlines() if line.startswith(prefix)]


def test_a_port_without_rules_drops_all_but_what_is_known() -> None:
    assert rules_of("in", PORT)[-1] == "drop"
    assert not [rule for rule in rules_of("in", PORT) if "return" in rule and "nd-neighbor" not in rule]


def test_a_port_without_security_passes_all() -> None:
    open_port = replace(PORT, rules=None)
    assert [rules_of(kind, open_port) for kind in ("guard", "out", "in")] == [["accept"], ["return"], ["return"]]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "ether type ip meta l4proto 6 th dport 22 return"),
        ({"port_max": 30}, "ether type ip meta l4proto 6 th dport 22-30 return"),
        ({"port_min": None, "port_max": None}, "ether type ip meta l4proto 6 return"),
        ({"protocol": None, "port_min": None, "port_max": None}, "ether type ip return"),
        ({"protocol": "47", "port_min": None, "port_max": None}, "ether type ip meta l4proto 47 return"),
        (
            {"protocol": "icmp", "port_min": 8, "port_max": 0},
            "ether type ip meta l4proto 1 icmp type 8 icmp code 0 return",
        ),
        (
            {"remotes": ["10.0.0.0/25", "10.0.0.128/25"]},
            "ether type ip ip saddr { 10.0.0.0/24 } meta l4proto 6 th dport 22 return",
        ),
        (
            {"ethertype": "IPv6", "protocol": "icmp", "port_min": None, "port_max": None, "remotes": ["::/0"]},
            "ether type ip6 meta l4proto 58 return",
        ),
    ],
)
def test_rules_say_what_the_group_says(changes: dict[str, object], text: str) -> None:
    assert text in rules_of("in", replace(PORT, rules=[replace(SSH, **changes)]))  # type: ignore[arg-type]


def test_a_rule_for_a_group_without_members_lets_nobody_in() -> None:
    assert rules_of("in", replace(PORT, rules=[replace(SSH, remotes=[])])) == rules_of("in", PORT)


def test_allowed_pairs_may_be_used_and_nothing_else() -> None:
    guard = rules_of("guard", replace(PORT, allowed_pairs=[("10.0.0.100", "fa:16:3e:00:00:02"), ("10.1.0.0/16", "")]))
    assert "ether type ip ip saddr { 10.0.0.5/32, 10.0.0.100/32, 10.1.0.0/16 } accept" in guard
    assert guard[0] == "ether saddr != { fa:16:3e:00:00:01, fa:16:3e:00:00:02 } drop"
    assert guard[-1] == "drop"


@given(st.text(max_size=40), st.text(max_size=40), st.one_of(st.none(), st.text(max_size=20)))
def test_no_text_of_a_user_gets_into_the_rules(mac: str, address: str, protocol: str | None) -> None:
    rule = replace(SSH, protocol=protocol, remotes=[address])
    wiring = replace(PORT, mac=mac, rules=[rule], allowed_pairs=[(address, mac)])
    try:
        text = firewall.port(wiring)
    except (DriverError, ValueError):
        return
    assert re.fullmatch(r"[a-z0-9 {}/.,:!=\"\-\n]+", text)


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(DriverError, match="'quic'"):
        firewall.port(replace(PORT, rules=[replace(SSH, protocol="quic")]))


def test_addresses_come_before_the_link_and_routes_after_it() -> None:
    assert addressing(PORT, "eth1", 101) == [
        "address replace 10.0.0.5/24 dev eth1",
        "link set eth1 up",
        "route replace default via 10.0.0.1 dev eth1 metric 101 onlink",
        "route replace 10.9.0.0/16 via 10.0.0.9 dev eth1 metric 101",
    ]


def test_nat_of_a_router_without_an_outside_is_empty() -> None:
    inner = RouterWiring(router_id="r", legs=[("n", "10.0.0.1", 24)], external=None, snat=True, floating=[], routes=[])
    assert "add rule" not in routers.nat(inner)


def test_floating_addresses_win_over_the_routers_own() -> None:
    text = routers.nat(
        RouterWiring(
            router_id="r",
            legs=[("n", "10.0.0.1", 24)],
            external=("x", "172.24.4.2", 24),
            snat=True,
            floating=[("172.24.4.9", "10.0.0.5")],
            routes=[],
        )
    )
    assert text.index("ip saddr 10.0.0.5 snat to 172.24.4.9") < text.index(
        "ip saddr { 10.0.0.0/24 } snat to 172.24.4.2"
    )


@given(st.text(), st.text())
def test_device_names_fit_and_differ(first: str, second: str) -> None:
    one, other = names.device("p", first), names.device("p", second)
    assert len(one) <= 15
    assert (one == other) == (first == second)


def test_a_boot_is_found_again_from_its_record(tmp_path: Path) -> None:
    running = (
        Running(Process(7, 99))
        .with_port("a", Plugged("n", "eth0"))
        .with_volume("v", Attached("/dev/loop7", "/v", "vdb"))
    )
    running.save(tmp_path / "running.json")
    assert records.load(tmp_path / "running.json") == running
    assert records.load(tmp_path / "other.json") is None
    assert running.free_device() == "eth1"
    assert running.with_port("b", Plugged("n", "eth1")).without_port("a").free_device() == "eth0"
    assert not running.without_volume("v").volumes


def test_a_process_id_in_use_again_is_not_the_process() -> None:
    mine = processes.of_pid(processes.os.getpid())
    assert mine is not None
    assert mine.is_alive
    assert not replace(mine, started=mine.started - 1).is_alive
    assert processes.of_pid(2**22 + 1) is None


def test_a_console_keeps_its_newest_half(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    assert console.read(log, 5) == ""
    log.write_text("".join(f"line {number}\n" for number in range(250_000)))
    assert console.trim(log)
    text = console.read(log, None)
    assert text.endswith("line 249999\n")
    assert text.startswith("line ")
    assert len(text) < console.LIMIT
    assert not console.trim(log)
    assert console.read(log, 2) == "line 249998\nline 249999\n"


def test_paths_with_colons_stay_one_layer() -> None:
    overlay = Overlay(target="/", lowers=["/a:b", "/c"], upper="/u,v", work="/w")
    assert overlay.options() == "lowerdir=/a\\:b:/c,upperdir=/u\\,v,workdir=/w"


def test_a_launch_plan_survives_its_file(tmp_path: Path) -> None:
    plan = LaunchPlan(
        hostname="h",
        root="/r",
        console="/c",
        overlays=[Overlay(target="/", lowers=["/l"], upper="/u", work="/w")],
        devices=[Device(name="vdb", major=7, minor=1)],
        guest_files={"boot.json": "{}"},
        argv=["/bin/true"],
        environment={"A": "b"},
    )
    plan.save(tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == plan
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["80", "a:10.0.0.1:80", "80:host:80", "80:10.0.0.300:80", "80:10.0.0.1"])
def test_a_forward_that_is_none_says_how_to_write_it(text: str) -> None:
    with pytest.raises(DriverError, match="PORT:ADDRESS:PORT"):
        forward.parse(text)


def test_a_forward_is_read() -> None:
    assert forward.parse("8080:10.0.0.5:80") == forward.Forward(8080, "10.0.0.5", 80)
    assert forward.parse("0:[fd00::1]:22").address == "fd00::1"


def test_limits_are_set_in_either_kind_of_control_group_and_missing_ones_are_said(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / "v1" / controller).mkdir(parents=True)
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2/cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "v2/cgroup.subtree_control").write_text("memory\n")
    me = Process(1, 1)
    assert limits.apply("s", me, 64, tmp_path / "v1") == ["memory", "pids"]
    assert (tmp_path / "v1/memory/calor/s/memory.limit_in_bytes").read_text() == str(64 << 20)
    assert limits.apply("s", me, 64, tmp_path / "v2") == ["memory"]
    assert limits.apply("s", me, 64, tmp_path / "none") == []
    assert limits.available(tmp_path / "none") == []
