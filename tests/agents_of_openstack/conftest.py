"""A dev cloud with two images: ``host``, where our agent is fetched at boot, and ``openstack-agents``: the same with
OpenStack's agents, unmodified from PyPI, installed as their diskimage-builder elements install them."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import from_pypi
import image_cache
import pytest

PLACE = "opt/stack/venvs/os-collect-config"
PACKAGES = (
    "os-collect-config", "os-refresh-config", "os-apply-config", "heat-cfntools", "python-heatclient",
    "python-keystoneclient", "python-zaqarclient<4", "requests", "pyyaml",
)  # fmt: skip
"""heat-config-notify imports Zaqar's client of v1, which 4 lost."""
START = """\
#!/bin/sh
# There is no init here: what os-collect-config's own unit does. With C.UTF-8 it dies of a locale that is not there.
PATH=/%s/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
setsid os-collect-config --debug >>/var/log/os-collect-config.log 2>&1 </dev/null &
"""


def installed(root: Path, usr: Path, agents: Path, elements: Path) -> None:
    """Fill the layers of the image: ``root`` for ``/``, ``usr`` for ``/usr``."""
    environment = root / PLACE
    shutil.copytree(agents, environment, symlinks=True)
    for script in (environment / "bin").iterdir():
        text = script.read_bytes() if script.is_file() and not script.is_symlink() else b""
        if text.startswith(b"#!" + bytes(agents)):
            script.write_bytes(re.sub(rb"^#!.*?/bin/", b"#!/" + PLACE.encode() + b"/bin/", text, count=1))
    program(root / "var/lib/cloud/scripts/per-boot/os-collect-config", START % PLACE)
    (root / "etc").mkdir()
    (root / "etc/os-collect-config.conf").write_text("[DEFAULT]\ncommand = os-refresh-config\n")
    for source in elements.glob("heat-config-*/install.d/hook-*.py"):
        program(root / "var/lib/heat-config/hooks" / source.stem.removeprefix("hook-"), source.read_text())
    common = elements / "heat-config"
    for source in (common / "os-refresh-config/configure.d").iterdir():
        program(usr / "libexec/os-refresh-config/configure.d" / source.name, source.read_text())
    for stage in ("pre-configure.d", "post-configure.d", "migration.d"):
        (usr / "libexec/os-refresh-config" / stage).mkdir()
    shutil.copytree(common / "os-apply-config", usr / "libexec/os-apply-config/templates")
    program(usr / "bin/heat-config-notify", (common / "bin/heat-config-notify").read_text())
    for tool in (environment / "bin").glob("cfn-*"):
        (usr / "bin" / tool.name).symlink_to(f"/{PLACE}/bin/{tool.name}")


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="session")
def cloud(dev_cloud_type: Any, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Any]:
    assert pytestconfig.cache is not None
    kept = pytestconfig.cache.mkdir("agents-of-openstack")
    agents = from_pypi.environment(kept / "environment", *PACKAGES, python="/usr/bin/python3")
    elements = from_pypi.heat_agents(kept / "sdist")
    layers = tmp_path_factory.mktemp("layers")
    installed(layers / "root", layers / "usr", agents, elements)
    home = tmp_path_factory.mktemp("images")
    image_cache.fill(home, {"openstack-agents": {"/": layers / "root", "/usr": layers / "usr"}})
    found = dev_cloud_type(tmp_path_factory.mktemp("agents") / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        found.start()
    yield found
    found.stop()


@pytest.fixture
def stack(cloud: Any, tmp_path: Path) -> Iterator[Any]:
    """``stack(name, template)``: made or updated by the `openstack` client and reached; deleted at the end."""
    begun: list[str] = []

    def reach(name: str, template: dict[str, Any], *, fails: bool = False) -> dict[str, Any]:
        path = tmp_path / f"{name}.json"
        version = {} if "HeatTemplateFormatVersion" in template else {"heat_template_version": "2018-08-31"}
        path.write_text(json.dumps({**version, **template}))
        verb = "update" if name in begun else "create"
        if verb == "create":
            begun.append(name)
        done = cloud.run("stack", verb, "--wait", "--timeout", "4", "-t", str(path), name, limit=400)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr + told(cloud, name)
        return dict(cloud.outputs(name))

    yield reach
    for name in begun:
        cloud.openstack("stack", "delete", "--yes", "--wait", name)


def told(cloud: Any, name: str) -> str:
    """Why it failed, and what the agents of its servers wrote."""
    text = cloud.run("stack", "failures", "list", "--long", name).stdout
    for row in cloud.json("stack", "resource", "list", name):
        if row["resource_type"] == "OS::Nova::Server":
            words = ("--", "sh", "-c", "tail -n 60 /var/log/os-collect-config.log /var/log/calor-agent.log 2>&1; true")
            text += cloud.calor_dev("shell", row["physical_resource_id"], *words)
    return text + cloud.tail(2000)
