"""What Debian's real cloud-init makes of our user-data: each part must arrive byte for byte and take effect."""

import dataclasses
import gzip
import hashlib
import json
import stat
import zipfile
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from calor.cloudinit import AgentBoot, CfnEndpoint, MimePart, UserDataFormat, cloud_config, multipart_mime, render
from calor.server.engine.guests.agent_file import build

pytestmark = [pytest.mark.slow, pytest.mark.root]
CFN = CfnEndpoint(url="http://192.0.2.1:8000/v1/")
AGENT = AgentBoot(
    server="http://192.0.2.1:8004",
    instance_id="8d3c4a1e",
    bootstrap_token="boot-token",
    agent_url="/agent/x.pyz",
    agent_sha256="0" * 64,
)
SCRIPT = "#!/bin/sh\n# héllo — ☃\ncp \"$0\" /script-as-run\nprintf 'From here\\n' >/said\n"


def software_config(user_data: str | bytes, **more: object) -> bytes:
    return render(user_data, user_data_format=UserDataFormat.SOFTWARE_CONFIG, **more)  # type: ignore[arg-type]


def test_raw_script_runs_with_its_own_bytes(boot) -> None:
    machine = boot(render(SCRIPT, user_data_format=UserDataFormat.RAW))
    assert machine.text("/script-as-run") == SCRIPT
    assert machine.text("/said") == "From here\n"


def test_large_raw_cloud_config_arrives_compressed(boot) -> None:
    text = "line\n" * 30_000
    data = render(
        cloud_config({"write_files": [{"path": "/large", "content": text}]}), user_data_format=UserDataFormat.RAW
    )
    assert data.startswith(b"\x1f\x8b")
    assert boot(data).text("/large") == text


def test_cfntools_format_writes_the_files_and_runs_the_script(boot) -> None:
    metadata = {"AWS::CloudFormation::Init": {"config": {"files": {"/é": {"content": "x\r\n"}}}}}
    machine = boot(
        render(
            SCRIPT, user_data_format=UserDataFormat.HEAT_CFNTOOLS, cfn=CFN, metadata=metadata, instance_user="ec2-user"
        )
    )
    assert machine.text("/script-as-run") == SCRIPT
    for directory in ("/var/lib/heat-cfntools", "/var/lib/cloud/data"):
        assert json.loads(machine.text(f"{directory}/cfn-init-data")) == metadata
        assert machine.text(f"{directory}/cfn-metadata-server") == CFN.url
        assert "cfn_region_endpoint = 192.0.2.1" in machine.text(f"{directory}/cfn-boto-cfg")
        assert machine.bytes(f"{directory}/cfn-userdata") == SCRIPT.encode()
        assert machine.mode(f"{directory}/cfn-init-data") == 0o600
    assert machine.mode("/var/lib/heat-cfntools") == 0o700
    assert machine.exists("/var/lib/heat-cfntools/provision-finished")
    assert "exit status 0" in machine.text("/var/log/heat-provision.log")


def test_a_failing_script_of_the_cfntools_format_leaves_no_finished_mark(boot) -> None:
    machine = boot(render("#!/bin/sh\necho why\nexit 7\n", user_data_format=UserDataFormat.HEAT_CFNTOOLS, cfn=CFN))
    assert not machine.exists("/var/lib/heat-cfntools/provision-finished")
    assert "why\n" in machine.text("/var/log/heat-provision.log")
    assert "exit status 7" in machine.text("/var/log/heat-provision.log")


@pytest.mark.parametrize("user_data_format", list(UserDataFormat))
@pytest.mark.parametrize(
    ("user_data", "made"),
    [
        ("#!/bin/sh\ntouch /made\n", "/made"),
        ("#cloud-config\nwrite_files: [{path: /made, content: x}]\n", "/made"),
        ("#cloud-boothook\n#!/bin/sh\ntouch /made\n", "/made"),
        ("#cloud-config-archive\n- {type: text/x-shellscript, content: '#!/bin/sh\n\n  touch /made\n\n  '}\n", "/made"),
    ],
    ids=["script", "cloud-config", "boothook", "archive"],
)
def test_f094_each_kind_keeps_its_meaning(boot, user_data_format: UserDataFormat, user_data: str, made: str) -> None:
    assert boot(render(user_data, user_data_format=user_data_format, cfn=CFN)).exists(made)


PART_HANDLER = """#part-handler
def list_types():
    return ["text/x-mine"]


def handle_part(data, ctype, filename, payload):
    open("/made", "w").close()
"""


@pytest.mark.parametrize(
    ("user_data", "made"),
    [
        (PART_HANDLER, "/made"),
        ("## template: jinja\n#cloud-config\nwrite_files: [{path: '/made-{{ v1.instance_id }}'}]\n", "/made-i-test"),
        ("#include\nfile:///etc/included\n", "/made"),
    ],
    ids=["part-handler", "jinja", "include"],
)
def test_f094_rarer_kinds_keep_their_meaning_as_parts_of_ours(boot, user_data: str, made: str) -> None:
    def prepare(root: Path) -> None:
        (root / "etc/included").write_text("#!/bin/sh\ntouch /made\n")

    assert boot(software_config(user_data), prepare=prepare).exists(made)


def test_f093_nested_multipart_arrives_byte_for_byte(boot) -> None:
    """A script's line ends are the one thing that cloud-init itself changes (CRLF to LF)."""
    inner = MIMEMultipart()
    script = MIMEText(SCRIPT, "x-shellscript", "utf-8")
    script.add_header("Content-Disposition", "attachment", filename="inner.sh")
    inner.attach(script)
    inner.attach(MIMEText("#cloud-config\nwrite_files: [{path: /inner, content: 'ü'}]\n", "cloud-config", "utf-8"))
    outer = multipart_mime(
        [
            MimePart(config=inner.as_string(), type="multipart"),
            MimePart(config="#!/bin/sh\r\nexit 0\r\n", subtype="x-shellscript", filename="crlf.sh"),
        ]
    )
    machine = boot(software_config(outer))
    assert machine.text("/script-as-run") == SCRIPT
    assert machine.text("/inner") == "ü"
    assert machine.bytes("/var/lib/cloud/instances/i-test/scripts/inner.sh") == SCRIPT.encode()
    assert machine.bytes("/var/lib/cloud/instances/i-test/scripts/crlf.sh") == b"#!/bin/sh\nexit 0\n"


def test_f100_gzip_and_latin_1_parts_arrive_byte_for_byte(boot) -> None:
    latin = '#!/bin/sh\ncp "$0" /latin-as-run # é\n'.encode("latin-1")
    message = MIMEMultipart()
    for name, subtype, content in (
        ("packed.sh", "gzip", gzip.compress(SCRIPT.encode(), mtime=0)),
        ("latin.sh", "octet-stream", latin),
    ):
        part = MIMEApplication(content, subtype)
        part.add_header("Content-Disposition", "attachment", filename=name)
        if subtype != "gzip":
            part.replace_header("Content-Type", "text/x-shellscript")
        message.attach(part)
    machine = boot(software_config(message.as_string()))
    assert machine.text("/script-as-run") == SCRIPT
    assert machine.bytes("/latin-as-run") == latin


def test_f096_our_cloud_config_and_two_of_the_user_all_take_effect(boot) -> None:
    first = "#cloud-config\nwrite_files: [{path: /a, content: a}]\nruncmd: [[touch, /ra]]\n"
    second = (
        "#cloud-config\nmerge_how: 'list(append)+dict(recurse_array)+str()'\n"
        "write_files: [{path: /b, content: b}]\nruncmd: [[touch, /rb]]\n"
    )
    parts = [
        MimePart(config=text, subtype="cloud-config", filename=name) for text, name in ((first, "a"), (second, "b"))
    ]
    machine = boot(software_config(multipart_mime(parts), metadata={"k": 1}))
    assert [machine.exists(path) for path in ("/a", "/b", "/ra", "/rb")] == [True] * 4
    assert json.loads(machine.text("/var/lib/heat-cfntools/cfn-init-data")) == {"k": 1}
    assert machine.exists("/var/log/cloud-init-output.log")


def test_a_merge_type_header_of_a_users_part_is_kept(boot) -> None:
    message = MIMEMultipart()
    for path in ("/a", "/b"):
        part = MIMEText(f"#cloud-config\nwrite_files: [{{path: {path}, content: x}}]\n", "cloud-config")
        part["Merge-Type"] = "list(append)+dict(no_replace,recurse_list)+str()"
        message.attach(part)
    machine = boot(software_config(message.as_string()))
    assert machine.exists("/a")
    assert machine.exists("/b")


# --- the agent -----------------------------------------------------------------------------------------------

WAIT_FOR_AGENT = "for i in $(seq 100); do [ -e /agent-ran ] && exit; sleep 0.1; done; cat /var/log/calor-agent.log"


@pytest.fixture
def agent_file(tmp_path: Path) -> tuple[Path, str]:
    """(its path, its hash): an agent's file that notes how it was started."""
    place = tmp_path / "agent.pyz"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("__main__.py", "import sys; open('/agent-ran', 'w').write(' '.join(sys.argv[1:]))")
    return place, hashlib.sha256(place.read_bytes()).hexdigest()


def test_the_identity_is_written_for_root_only_and_the_fetched_agent_runs(boot, agent_file) -> None:
    place, digest = agent_file

    def prepare(root: Path) -> None:
        (root / "srv").mkdir()
        (root / "srv/agent.pyz").write_bytes(place.read_bytes())

    agent = AgentBoot(
        server="file://", instance_id="i-1", bootstrap_token="t0ken", agent_url="/srv/agent.pyz", agent_sha256=digest
    )
    machine = boot(software_config("#!/bin/sh\ntrue\n", agent=agent), prepare=prepare, then=WAIT_FOR_AGENT)
    assert machine.text("/agent-ran") == "run"
    assert machine.mode("/etc/calor/agent.json") == 0o600
    identity = json.loads(machine.text("/etc/calor/agent.json"))
    assert identity["bootstrap_token"] == "t0ken"
    assert identity["instance_id"] == "i-1"
    assert stat.S_IMODE((machine.root / "var/lib/calor").stat().st_mode) == 0o700
    assert machine.mode("/var/lib/cloud/scripts/per-boot/calor-agent") == 0o700


def test_f101_the_bootstrap_token_is_in_no_log_and_no_readable_file(boot) -> None:
    machine = boot(software_config("#!/bin/sh\ntrue\n", agent=AGENT))
    readable = [
        path
        for path in machine.root.rglob("*")
        if path.is_file() and not path.is_symlink() and "seed" not in path.parts and b"boot-token" in path.read_bytes()
    ]
    assert readable
    assert [path for path in readable if path.stat().st_mode & 0o077] == []


def test_os_collect_config_in_the_image_stays_the_agent(boot) -> None:
    def prepare(root: Path) -> None:
        unit = root / "etc/systemd/system/os-collect-config.service"
        unit.parent.mkdir(parents=True)
        unit.write_text("[Service]\n")

    machine = boot(software_config("#!/bin/sh\ntrue\n", agent=AGENT), prepare=prepare)
    assert not machine.exists("/etc/calor/agent.json")
    assert not machine.exists("/var/lib/cloud/scripts/per-boot/calor-agent")
    assert "stays the agent" in machine.text("/var/log/cloud-init-output.log")


def test_the_cfn_tools_work_in_a_stock_image_that_lacks_them(boot) -> None:
    """By the names that templates use (/usr is read-only here, so only AWS's); cfn-init from what is on disk."""
    released = build()

    def prepare(root: Path) -> None:
        state = root / "var/lib/calor"
        state.mkdir(parents=True)
        released.save(state)

    metadata = {"AWS::CloudFormation::Init": {"config": {"files": {"/made": {"content": {"é": 1}}}}}}
    script = "#!/bin/sh -x\n/opt/aws/bin/cfn-init\n/opt/aws/bin/cfn-signal --help\n/opt/aws/bin/cfn-signal nonsense\n"
    agent = dataclasses.replace(AGENT, agent_sha256=released.sha256)
    data = render(script, user_data_format=UserDataFormat.HEAT_CFNTOOLS, cfn=CFN, metadata=metadata, agent=agent)
    machine = boot(data, prepare=prepare)
    log = machine.text("/var/log/heat-provision.log")
    assert json.loads(machine.text("/made")) == {"é": 1}, log
    assert "files: 1 changed, 0 unchanged" in log
    assert "usage: cfn-signal" in log
    assert "cfn-signal: 'nonsense' is no http(s) address" in log
    assert "exit status 1" in log
    assert machine.mode("/etc/calor/agent.json") == 0o600
    assert not machine.exists("/var/lib/cloud/scripts/per-boot/calor-agent"), "no agent is started"
