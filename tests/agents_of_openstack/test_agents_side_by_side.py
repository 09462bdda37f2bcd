"""OpenStack's agents, unmodified, and ours complete the same deployments of one stack with the same outputs, by each
transport that Heat has."""

from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

BOTH = ("ours", "theirs")
IMAGES = {"ours": "host", "theirs": "openstack-agents"}
SAYS = """\
#!/bin/sh
echo "word $word map $map number $number"
echo to stderr >&2
printf '%s during %s' "$word" "$deploy_action" >$heat_outputs_path.result
"""
PLAYBOOK = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - copy: {content: "{{ word }}", dest: "{{ heat_outputs_path }}.result"}
"""
WORDS = {"word": "wörld", "map": {"a": [1, "é"]}, "number": "7"}


def server(image: str, transport: str = "POLL_SERVER_CFN", **more: Any) -> dict[str, Any]:
    properties = {
        "image": image,
        "flavor": "m1.small",
        "networks": [{"network": "private"}],
        "user_data_format": "SOFTWARE_CONFIG",
        "software_config_transport": transport,
        **more,
    }
    # Once a second, where os-collect-config polls every 30 s; and a locale in which Ansible runs.
    collect = {"polling_interval": 1, "command": "env LC_ALL=C.UTF-8 os-refresh-config"}
    return {"type": "OS::Nova::Server", "metadata": {"os-collect-config": collect}, "properties": properties}


def config(group: str, content: Any, *outputs: str, inputs: tuple[str, ...] = ()) -> dict[str, Any]:
    kind = "OS::Heat::SoftwareConfig" if isinstance(content, str) else "OS::Heat::StructuredConfig"
    properties = {"group": group, "config": content, "outputs": [{"name": name} for name in outputs]}
    kinds = {"map": "Json", "number": "Number"}
    given = [{"name": name, "type": kinds.get(name, "String")} for name in inputs]
    return {"type": kind, "properties": {**properties, "inputs": given}}


CONFIGS = {
    "script": config("script", SAYS, "result", "absent", inputs=("word", "map", "number")),
    "ansible": config("ansible", PLAYBOOK, "result", inputs=("word",)),
    "json-file": config("json-file", {"/srv/app/settings.json": {"b": 1, "a": [None, 1.5, "é"]}}),
    "hiera": config("hiera", {"hierarchy": ["common"], "datafiles": {"common": {"b": 1, "a": ["ü"]}}}),
    "apply-config": config("apply-config", {"greeting": "hallo"}),
    "cfn-init": config(
        "cfn-init",
        {
            "config": {
                "files": {"/srv/by-cfn/file": {"content": "from cfn-init\n", "mode": "000640"}},
                "groups": {"carriers": {"gid": "1500"}},
                "commands": {"1": {"command": "id -g nobody >/srv/by-cfn/id"}},
            }
        },
    ),
}
FILES = {
    "json-file": "cat /srv/app/settings.json",
    "hiera": "cat /etc/puppet/hiera.yaml /etc/puppet/hieradata/common.json",
    "cfn-init": "cat /srv/by-cfn/*; stat -c '%a %n' /srv/by-cfn/file; grep carriers /etc/group",
}


def deployments(names: tuple[str, ...], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The resources and outputs of each config on both servers."""
    resources: dict[str, Any] = {f"{name} config": CONFIGS[name] for name in names}
    outputs: dict[str, Any] = {}
    for name in names:
        declared = {one["name"] for one in CONFIGS[name]["properties"]["inputs"]}
        values = {key: value for key, value in WORDS.items() if key in declared}
        for who in BOTH:
            kind = CONFIGS[name]["type"].replace("Config", "Deployment")
            used = {"config": {"get_resource": f"{name} config"}, "server": {"get_resource": who}}
            resources[f"{name} {who}"] = {"type": kind, "properties": {**used, "input_values": values, **more}}
            for key in ("deploy_status_code", "deploy_stdout", "deploy_stderr", "result", "absent"):
                if key.startswith("deploy") or {"name": key} in CONFIGS[name]["properties"]["outputs"]:
                    outputs[f"{name} {key} {who}"] = {"value": {"get_attr": [f"{name} {who}", key]}}
    return resources, outputs


def of(outputs: dict[str, Any], who: str) -> dict[str, Any]:
    return {key.rpartition(" ")[0]: value for key, value in outputs.items() if key.endswith(f" {who}")}


def inside(cloud: Any, ident: str, command: str) -> str:
    return str(cloud.calor_dev("shell", ident, "--", "/bin/sh", "-c", command))


TRANSPORTS = {
    "cfn": ("POLL_SERVER_CFN", "CFN_SIGNAL", ("script", "cfn-init", "json-file")),
    "heat": ("POLL_SERVER_HEAT", "HEAT_SIGNAL", ("script", "ansible")),
    "objects": ("POLL_TEMP_URL", "TEMP_URL_SIGNAL", ("script", "hiera")),
    "queues": ("ZAQAR_MESSAGE", "ZAQAR_SIGNAL", ("script", "apply-config")),
}


@pytest.mark.parametrize("name", sorted(TRANSPORTS))
def test_both_complete_the_same_deployments_with_the_same_outputs(cloud: Any, stack: Any, name: str) -> None:
    transport, signal, groups = TRANSPORTS[name]
    resources, outputs = deployments(groups, signal_transport=signal)
    servers = {who: server(image, transport) for who, image in IMAGES.items()}
    idents = {f"server {who}": {"value": {"get_resource": who}} for who in BOTH}
    found = stack(name, {"resources": {**resources, **servers}, "outputs": {**outputs, **idents}})
    ours, theirs = of(found, "ours"), of(found, "theirs")
    assert ours["script result"] == theirs["script result"] == "wörld during CREATE"
    for key in (key for key in ours if not key.startswith("server") and comparable(key)):
        assert ours[key] == theirs[key], key
    for group in groups:
        assert ours[f"{group} deploy_status_code"] == 0, group
        if group in FILES:
            mine, other = (inside(cloud, found[f"server {who}"], FILES[group]) for who in BOTH)
            assert mine == other, group
            assert mine
    the_one_agent(cloud, found["server theirs"])


def comparable(key: str) -> bool:
    """What tools print of themselves (their log lines, times) is not compared, what scripts print is."""
    return key.startswith("script ") or not key.endswith(("stdout", "stderr"))


def the_one_agent(cloud: Any, theirs: str) -> None:
    """An image that carries os-collect-config keeps it: nothing of ours runs, or lies there with a secret."""
    running = inside(cloud, theirs, "pgrep -fa '[c]alor.agent|[a]gent-.*pyz|[b]oot.py start'; true")
    assert running == ""
    assert inside(cloud, theirs, "ls /etc/calor /var/lib/calor/secret 2>/dev/null; true") == ""
    assert "os-collect-config" in inside(cloud, theirs, "pgrep -fa os-collect-config")
    console = cloud.openstack("console", "log", "show", theirs)
    assert "os-collect-config is installed" in console
    assert "it stays the agent of this instance" in console


def test_an_update_reaches_both_and_a_failure_is_the_same(cloud: Any, stack: Any) -> None:
    """In a stack each: the first failure of one stack leaves no time to the other agent, which may be slow."""
    text = "#!/bin/sh\necho $n; echo so $n >&2; exit $n\n"
    keys = ("deploy_stdout", "deploy_stderr", "deploy_status_code")

    def template(who: str, number: str) -> dict[str, Any]:
        used = {"config": {"get_resource": "config"}, "server": {"get_resource": who}, "input_values": {"n": number}}
        made = {"deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": used}, who: server(IMAGES[who])}
        outputs = {key: {"value": {"get_attr": ["deployment", key]}} for key in keys}
        return {"resources": {"config": config("script", text, inputs=("n",)), **made}, "outputs": outputs}

    for who in BOTH:
        stack(f"failing-{who}", template(who, "0"))
        found = stack(f"failing-{who}", template(who, "3"), fails=True)
        assert found == {"deploy_stdout": "3\n", "deploy_stderr": "so 3\n", "deploy_status_code": 3}, who
        failures = cloud.run("stack", "failures", "list", f"failing-{who}").stdout
        assert failures.count("Deployment exited with non-zero status code: 3") == 1


HOOKLESS = {"group": "no-such-hook", "config": "x"}
LOUD = {"group": "script", "config": "#!/bin/sh\nhead -c 1200000 /dev/zero | tr '\\0' x\n"}


def test_where_their_agent_is_silent_ours_reports_f041_f053(cloud: Any, stack: Any) -> None:
    """Reproduced: an output above 950 kB stops their notifier (F041), a missing hook is told to nobody (F053)."""
    resources: dict[str, Any] = {who: server(image) for who, image in IMAGES.items()}
    for name, properties in (("loud", LOUD), ("hookless", HOOKLESS)):
        resources[f"{name} config"] = {"type": "OS::Heat::SoftwareConfig", "properties": properties}
        for who in BOTH:
            used = {"config": {"get_resource": f"{name} config"}, "server": {"get_resource": who}}
            resources[f"{name} {who}"] = {"type": "OS::Heat::SoftwareDeployment", "properties": used}
    resources["hookless ours"]["depends_on"] = ["loud ours", "their log"]
    # The stack fails with the first deployment that does: what is read inside must be there before.
    heard = {"group": "script", "config": "#!/bin/sh\n"}
    resources["their config"] = {"type": "OS::Heat::SoftwareConfig", "properties": heard}
    used = {"config": {"get_resource": "their config"}, "server": {"get_resource": "theirs"}, "name": "zz last"}
    resources["their log"] = {"type": "OS::Heat::SoftwareDeployment", "properties": used}
    outputs = {"theirs": {"value": {"get_resource": "theirs"}}}
    found = stack("silent", {"resources": resources, "outputs": outputs}, fails=True)
    rows = {one["resource_name"]: one for one in cloud.json("stack", "resource", "list", "silent")}
    assert rows["loud ours"]["resource_status"] == "CREATE_COMPLETE"
    assert "no hook for group no-such-hook" in cloud.run("stack", "failures", "list", "--long", "silent").stdout
    log = inside(cloud, found["theirs"], "cat /var/log/os-collect-config.log")
    assert "Skipping group no-such-hook with no hook script" in log
    assert "JSONEncoder.__init__() got an unexpected keyword argument" in log
    assert {rows[f"{name} theirs"]["resource_status"] for name in ("loud", "hookless")} == {"CREATE_FAILED"}
