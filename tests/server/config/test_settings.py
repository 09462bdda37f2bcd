"""Configuration: Heat's names and defaults, clear faults, guest-facing URLs."""

import json
import subprocess
from pathlib import Path

import pytest
from oslo_config import cfg

from calor.server.config import ConfigurationFault, GuestUrls, load, sample

ROUTES = Path(__file__).parents[4] / "shared/reference/api-routes.json"


@pytest.mark.skipif(not ROUTES.exists(), reason="the reference facts are not here")
def test_limits_have_heats_defaults() -> None:
    wanted = json.loads(ROUTES.read_text())["config_defaults"]
    settings = load()
    for section in (settings.limits, settings.general):
        for name, value in vars(section).items():
            if name in wanted:
                assert value == (tuple(wanted[name]) if isinstance(wanted[name], list) else wanted[name]), name


def test_a_file_as_operators_know_it(tmp_path: Path) -> None:
    conf = tmp_path / "calor.conf"
    conf.write_text(
        "[DEFAULT]\nmax_template_size = 10\nhidden_stack_tags = a, b\nunknown_of_heat = 1\n"
        "[database]\nconnection = mysql+pymysql://heat:pw@db/heat\n"
        "[keystone_authtoken]\nauth_url = http://k:5000\nusername = heat\npassword = pw\nmemcached_servers = m:1,n:1\n"
        "[heat_api]\nbind_port = 9004\n"
    )
    settings = load([conf])
    assert settings.limits.max_template_size == 10
    assert settings.limits.hidden_stack_tags == ("a", "b")
    assert settings.database_url == "mysql+pymysql://heat:pw@db/heat"
    assert (settings.keystone.username, settings.heat_api.bind_port) == ("heat", 9004)
    assert settings.heat_api_cfn.bind_port == 8000
    assert settings.unknown == (f"{conf}: [DEFAULT] has no option unknown_of_heat; it is ignored.",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[DEFAULT]\nmax_templat_size = 4\n", "has no option max_templat_size (did you mean 'max_template_size'?)"),
        ("[DEFAULT]\nserver-guest-url = x\n", "has no option server-guest-url (did you mean 'server_guest_url'?)"),
        ("[DEFAULT]\nbind_port = 1\n", "has no option bind_port (it belongs to [heat_api] or [heat_api_cfn])"),
        ("[heat_apii]\nbind_port = 1\n", "there is no section [heat_apii] (did you mean 'heat_api'?)"),
        ("[quite_else]\na = 1\n", "there is no section [quite_else]"),
        ("[oslo_policy]\npolicy_fil = x\n", "has no option policy_fil (did you mean 'policy_file'?)"),
    ],
)
def test_a_name_that_means_nothing_is_told_with_the_nearest_that_does(tmp_path: Path, text: str, sentence: str) -> None:
    conf = tmp_path / "calor.conf"
    conf.write_text(text)
    (found,) = load([conf]).unknown
    assert found.startswith(f"{conf}: ")
    assert found.endswith(f"{sentence}; it is ignored.")


def test_names_that_an_option_had_before_and_those_of_policies_are_known(tmp_path: Path) -> None:
    conf = tmp_path / "calor.conf"
    conf.write_text("[keystone_authtoken]\nidentity_uri = http://k\n[oslo_policy]\npolicy_file = policy.yaml\n")
    assert load([conf]).unknown == ()


def test_an_option_of_heats_that_has_no_effect_is_told_where_it_is_set(tmp_path: Path) -> None:
    conf = tmp_path / "calor.conf"
    conf.write_text("[DEFAULT]\nmax_snapshots_per_stack = 3\nenable_stack_adopt = false\nmax_server_name_length = 40\n")
    assert load([conf]).unknown == (
        "[DEFAULT] max_snapshots_per_stack has no effect: there are no snapshots of stacks yet.",
    )
    assert "Snapshots of one stack; -1: no limit. Has no effect: there are" in sample()


def test_later_files_and_overrides_win(tmp_path: Path) -> None:
    first, second = tmp_path / "a.conf", tmp_path / "b.conf"
    first.write_text("[DEFAULT]\nmax_template_size = 10\nstack_action_timeout = 20\n")
    second.write_text("[DEFAULT]\nmax_template_size = 30\n")
    settings = load([first, second], {"heat_api": {"bind_port": 0}, "DEFAULT": {"debug": True}})
    assert (settings.limits.max_template_size, settings.limits.stack_action_timeout) == (30, 20)
    assert (settings.heat_api.bind_port, settings.general.debug) == (0, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[heat_api]\nbind_port = 70000\n", "bind_port"),
        ("[DEFAULT]\nlog_format = xml\n", "log_format"),
        ("[DEFAULT]\nmax_template_size = big\n", "max_template_size"),
        ("bind_port\n", "calor.conf"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, text: str, words: str) -> None:
    conf = tmp_path / "calor.conf"
    conf.write_text(text)
    with pytest.raises(ConfigurationFault, match=words):
        load([conf])


def test_the_sample_has_every_option_with_help_and_is_read_back(tmp_path: Path) -> None:
    text = sample()
    names = [
        line.partition(" = ")[0].lstrip("#") for line in text.splitlines() if line.startswith("#") and line[1] != " "
    ]
    assert len(names) > 50
    assert text.count("# ") >= len(names)
    conf = tmp_path / "calor.conf"
    conf.write_text("\n".join(line.removeprefix("#") if line[:2] != "# " else line for line in text.splitlines()))
    empty, again = load(), load([conf])
    assert again.limits == empty.limits
    assert again.heat_api == empty.heat_api
    assert isinstance(again.raw, cfg.ConfigOpts)


def urls(tmp_path: Path, text: str) -> GuestUrls:
    conf = tmp_path / "calor.conf"
    conf.write_text(f"[DEFAULT]\n{text}\n")
    return load([conf]).guest_urls(rest_port=8004, cfn_port=8000)


def test_f047_guests_get_the_guest_facing_base(tmp_path: Path) -> None:
    found = urls(
        tmp_path,
        "server_guest_url = https://heat.example:8004/\n"
        "heat_metadata_server_url = http://heat.example:8000/v1\n"
        "heat_waitcondition_server_url = http://wait.example/heat-cfn/v1/waitcondition",
    )
    assert found == GuestUrls(
        orchestration="https://heat.example:8004",
        cfn="http://heat.example:8000",
        signals="http://wait.example/heat-cfn",
    )


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://[fd00::1]:8004", "http://[fd00::1]:8004"),
        ("http://fd00::1:8004", "http://[fd00::1]:8004"),
        ("http://2001:db8:0:0:0:0:0:1", "http://[2001:db8:0:0:0:0:0:1]"),
        ("http://203.0.113.5:8004/", "http://203.0.113.5:8004"),
    ],
)
def test_f047_ipv6_is_in_brackets(tmp_path: Path, url: str, wanted: str) -> None:
    assert urls(tmp_path, f"server_guest_url = {url}\nheat_metadata_server_url = http://h:8000").orchestration == wanted


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8004",
        "http://127.1.2.3",
        "http://localhost:8004",
        "http://[::1]:8004",
        "http://0.0.0.0:8004",
        "http://[::]:8004",
        "http://[::ffff:127.0.0.1]",
    ],
)
def test_f047_loopback_is_refused_unless_told_otherwise(tmp_path: Path, url: str) -> None:
    text = f"server_guest_url = {url}\nheat_metadata_server_url = http://h:8000"
    with pytest.raises(ConfigurationFault, match=r"server_guest_url.*leads an instance to itself"):
        urls(tmp_path, text)
    assert urls(tmp_path, f"{text}\nallow_loopback_guest_urls = true").orchestration


def test_f047_an_address_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationFault, match="server_guest_url is not set"):
        urls(tmp_path, "")
    assert urls(tmp_path, "allow_loopback_guest_urls = true").cfn == "http://127.0.0.1:8000"


@pytest.mark.parametrize("url", ["heat.example:8004", "ftp://h", "http://", "http://h:port", "http://[fd00::1"])
def test_what_is_no_url_is_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigurationFault, match="server_guest_url"):
        urls(tmp_path, f"server_guest_url = {url}\nheat_metadata_server_url = http://h:8000")


def test_the_private_authority_for_guests_is_read_without_what_else_is_in_the_file(tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority"
    made = subprocess.run([*command.split(), "-keyout", "-"], capture_output=True, text=True, check=True)
    file = tmp_path / "ca.pem"
    file.write_text(f"a comment\n{made.stdout}")
    certificate = urls(tmp_path, f"allow_loopback_guest_urls = true\nguest_ca_file = {file}").ca_certificate
    assert certificate is not None and certificate.startswith("-----BEGIN CERTIFICATE-----\n")
    assert certificate in made.stdout and "comment" not in certificate and "PRIVATE" not in certificate


@pytest.mark.parametrize(
    "text", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_an_authority_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationFault, match="guest_ca_file"):
        urls(tmp_path, f"allow_loopback_guest_urls = true\nguest_ca_file = {file}")
