"""Which certificate authority the tools trust: given, AWS's override, else what Heat and Calor left at boot."""

import configparser
import json
import os
from typing import Any, Dict, Optional

from calor.cfntools import tls

OVERRIDE = "/etc/cfn/ca-override.pem"
BOTO = "/var/lib/heat-cfntools/cfn-boto-cfg"
BOOT = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")
IDENTITY = "/etc/calor/agent.json"


def trust(root: str, given: Optional[str] = None, insecure: bool = False) -> tls.Trust:
    """For the orchestration server: ``given``, the override, then the authority of the boot-time metadata, of the
    agent's identity, of Heat's boto configuration; else the system's."""
    boto = _boto(root)
    authority = (
        given
        or override(root).ca_certificate
        or boot_data(root).get("ca_certificate")
        or read_map(_under(root, IDENTITY)).get("ca_certificate")
        or boto.get("ca_certificates_file")
    )
    unchecked = insecure or not _is_set(boto, "https_validate_certificates", "1")
    return tls.Trust(str(authority) if authority else None, insecure=unchecked)


def override(root: str) -> tls.Trust:
    """For every address: ``CA_OVERRIDE`` of the environment, else ``/etc/cfn/ca-override.pem``, else the system's."""
    path = os.environ.get("CA_OVERRIDE") or _under(root, OVERRIDE)
    return tls.Trust(path if os.path.exists(path) or os.environ.get("CA_OVERRIDE") else None)


def boot_data(root: str) -> Dict[str, str]:
    """The ``os-collect-config: cfn`` part of the metadata that cloud-init left at boot; {} if there is none."""
    for path in BOOT:
        found = read_map(_under(root, path)).get("os-collect-config")
        part = found.get("cfn") if isinstance(found, dict) else None
        if isinstance(part, dict):
            return {str(key): value for key, value in part.items() if isinstance(value, str)}
    return {}


def boto_url(root: str) -> Optional[str]:
    """The address of the CloudFormation API in Heat's boto configuration, which has no port; heat-cfntools' is 8000."""
    boto = _boto(root)
    host = boto.get("cfn_region_endpoint")
    scheme = "https" if _is_set(boto, "is_secure", "0") else "http"
    return "{}://{}:8000/v1/".format(scheme, host) if host else None


def read_map(path: str) -> Dict[str, Any]:
    """The JSON map in a file; {} if there is none, or none that this user may read."""
    try:
        with open(path, encoding="utf-8") as source:
            found = json.load(source)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_set(boto: Dict[str, str], key: str, default: str) -> bool:
    return boto.get(key, default).strip().lower() not in ("0", "false", "no")


def _boto(root: str) -> Dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(_under(root, BOTO), encoding="utf-8")
    except (configparser.Error, UnicodeError, OSError):
        return {}
    return dict(parser["Boto"]) if parser.has_section("Boto") else {}


def _under(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))
