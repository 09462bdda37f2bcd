"""The templates for Windows: their RAW user-data arrives byte for byte, and the guest's signal completes the stack.

Their guest is the test: it reads what Nova was given, as Cloudbase-Init does, and calls the address that stands in it.
"""

import base64
import email
import json
import shutil
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.adapter import Adapter

pytestmark = pytest.mark.slow

FOLDER = "openstack__heat-templates/hot/Windows"
MODULE = (
    "\ufeff# Ünïcode, a byte order mark and lines of Windows\r\n" + "function x { 'é' }\r\n" * 300 + "# no end of line"
)
"""In place of the modules, which the corpus leaves out."""
NETWORKS = {"public_network_id": "public", "private_network_id": "private"}
AGENT = {"puppet_master_server": "master.test", "puppet_master_server_ip_address": "10.0.0.9"}
DATABASE = {
    "mssql_service_user_password": "Secret-1x",
    "mssql_sa_password": "Secret-2x",
    "mssql_iso_unc_path": r"\\a\b",
}
DRUPAL = {
    "sa_password": "Secret-1x",
    "drupal_admin_password": "Secret-2x",
    "drupal_admin_email": "user@example.com",
}
TEMPLATES = {
    "ActiveDirectoryController/ActiveDirectoryDomainController": {
        "network": "private",
        "safe_mode_administrator_password": "Secret-1x",
    },
    "IIS_Drupal/IIS_Drupal": {**NETWORKS, **DRUPAL},
    "MSSQLServer/MSSQL": {**NETWORKS, **DATABASE},
    "PuppetAgent/puppet-agent": {**NETWORKS, **AGENT},
}


def user_data(cloud: Any, name: str) -> bytes:
    """What Nova was given, once the server is there."""
    nova = Adapter(cloud.connection("calor-admin").session, service_type="compute", interface="public")
    until = time.monotonic() + 60
    while True:
        servers = nova.get("/servers/detail?all_tenants=1", microversion="2.3").json()["servers"]
        for server in servers:
            if server["name"].startswith(f"{name}-"):
                return base64.b64decode(server["OS-EXT-SRV-ATTR:user_data"])
        assert time.monotonic() < until, cloud.tail()
        time.sleep(0.2)


@pytest.mark.parametrize("which", sorted(TEMPLATES))
def test_the_user_data_of_windows_arrives_byte_for_byte(
    record_cloud: Any, shared: Path, tmp_path: Path, which: str
) -> None:
    folder = tmp_path / "Windows"
    shutil.copytree(shared / "corpus" / FOLDER, folder)
    for module in folder.rglob("*.psm1"):
        module.write_bytes(MODULE.encode())
    template, parameters = folder / f"{which}.yaml", TEMPLATES[which]
    name = "windows-" + which.partition("/")[0].lower()
    given = {"image": "host", "flavor": "m1.small", "key_name": "demo", **parameters}
    words = [word for key, value in given.items() for word in ("--parameter", f"{key}={value}")]
    record_cloud.openstack("stack", "create", "-t", str(template), *words, name)
    try:
        parts = email.message_from_bytes(user_data(record_cloud, name)).get_payload()
        found = {part.get_filename(): part for part in parts}
        assert {part.get_content_type() for part in parts} == {"text/x-cfninitdata"}
        modules = [each for each in found if each.endswith(".psm1")]
        assert modules
        assert all(found[module].get_payload(decode=True) == MODULE.encode() for module in modules)
        script = found["cfn-userdata"].get_payload(decode=True).decode()
        source = next(template.parent.glob("*.ps1")).read_text()
        signal(script, source)
        until = time.monotonic() + 60
        while (shown := record_cloud.json("stack", "show", name))["stack_status"] == "CREATE_IN_PROGRESS":
            assert time.monotonic() < until
        assert shown["stack_status"] == "CREATE_COMPLETE", shown
    finally:
        record_cloud.openstack("stack", "delete", "--yes", "--wait", name)


def signal(script: str, source: str) -> None:
    """Post to the address that the script holds; all but the replaced words of the script is its author's text."""
    values = {}
    for line, original in zip(script.splitlines(), source.splitlines(), strict=True):
        for word in ("endpoint", "token"):
            if f"wait_condition_{word}" in original or f"wait_handle_{word}" in original:
                values[word] = line.rpartition("= ")[2].strip("\"';")
    unchanged = [line for line in source.splitlines() if line.startswith(("#", "Import-Module", "try", "}"))]
    assert unchanged
    assert all(line in script.splitlines() for line in unchanged)
    headers = {"X-Auth-Token": values["token"], "Content-Type": "application/json"}
    body = json.dumps({"status": "SUCCESS"}).encode()
    request = urllib.request.Request(values["endpoint"], data=body, headers=headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
