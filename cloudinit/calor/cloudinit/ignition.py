"""Adds a server's metadata to an Ignition configuration (Fedora CoreOS, Flatcar), which takes no MIME."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

PATHS = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")


def with_metadata(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> bytes:
    """The configuration with the metadata as two files, readable by root only."""
    storage = dict(document.get("storage") or {})
    named_filesystems = str(document["ignition"]["version"]).startswith("2.")
    storage["files"] = [*storage.get("files", ()), *(_file(path, metadata, named_filesystems) for path in PATHS)]
    return json.dumps({**document, "storage": storage}).encode()


def _file(path: str, metadata: Mapping[str, Any], named_filesystems: bool) -> dict[str, Any]:
    described = {
        "path": path,
        "mode": 0o640,
        "user": {"name": "root"},
        "group": {"name": "root"},
        "contents": {"source": "data:," + quote(json.dumps(metadata))},
    }
    # Specification 3 dropped named file systems and refuses the key.
    return {"filesystem": "root", **described} if named_filesystems else described
