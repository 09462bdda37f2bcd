"""An id for a signal that no two servers share (F036)."""

import json
import os
import socket

from calor.cfntools import httpclient

METADATA = "http://169.254.169.254/openstack/2012-08-10/meta_data.json"
CACHES = ("/var/lib/heat-cfntools/nova_meta.json", "/run/cloud-init/instance-data.json")


def default(metadata_url: str = METADATA) -> str:
    """The server's UUID: cached at boot, or asked of the metadata service; else cloud-init's instance id, the
    machine id, the host's name."""
    for path in CACHES:
        found = _uuid_in(path)
        if found:
            return found
    try:
        answer = httpclient.request("GET", os.environ.get("CALOR_METADATA_URL") or metadata_url, timeout=5.0)
        if answer.ok:
            return str(json.loads(answer.text())["uuid"])
    except (httpclient.TransportError, ValueError, KeyError, TypeError):
        return _local() or socket.getfqdn()
    return _local() or socket.getfqdn()


def _uuid_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as source:
            found = json.load(source)
    except (OSError, ValueError):
        return ""
    if not isinstance(found, dict):
        return ""
    return str(found.get("uuid") or (found.get("v1") or {}).get("instance_id") or "")


def _local() -> str:
    for path in ("/var/lib/cloud/data/instance-id", "/etc/machine-id"):
        try:
            with open(path, encoding="ascii") as source:
                found = source.read().strip()
        except (OSError, ValueError):
            continue
        if found:
            return found
    return ""
