"""EC2 key pairs as heat-cfntools finds them: options first, then a credentials file, then the boot-time data."""

import json
import os
import re
from typing import Dict, Optional, Tuple
from urllib.parse import urlsplit

from calor.cfntools import ec2, tls

CREDENTIALS = "/etc/cfn/cfn-credentials"
SERVER_URL = "/var/lib/heat-cfntools/cfn-metadata-server"
LINE = re.compile(r"^\s*(AWSAccessKeyId|AWSSecretKey)\s*=\s*(.*?)\s*$", re.MULTILINE)


def read_file(path: str) -> Dict[str, str]:
    """``AWSAccessKeyId`` and ``AWSSecretKey`` of a credentials file; {} if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return dict(LINE.findall(source.read()))
    except FileNotFoundError:
        return {}


def boot_data(path: str) -> Dict[str, str]:
    """The ``os-collect-config: cfn`` part of the metadata that cloud-init left at boot; {} if there is none."""
    try:
        with open(path, encoding="utf-8") as source:
            found = json.load(source).get("os-collect-config", {}).get("cfn", {})
    except (FileNotFoundError, ValueError, AttributeError):
        return {}
    return {str(key): str(value) for key, value in found.items() if isinstance(value, str)}


def find_endpoint(
    url: Optional[str],
    keys: Tuple[Optional[str], Optional[str]],
    credential_file: Optional[str],
    root: str = "/",
) -> Optional[ec2.Endpoint]:
    """The API to ask and the keys to ask it with, or None when this instance has been given none."""
    boot = boot_data(os.path.join(root, "var/lib/heat-cfntools/cfn-init-data"))
    listed = read_file(credential_file or os.path.join(root, CREDENTIALS.lstrip("/")))
    access = keys[0] or listed.get("AWSAccessKeyId") or boot.get("access_key_id")
    secret = keys[1] or listed.get("AWSSecretKey") or boot.get("secret_access_key")
    address = url or boot.get("metadata_url") or _recorded_url(os.path.join(root, SERVER_URL.lstrip("/")))
    if not (access and secret and address):
        return None
    trust = tls.Trust(ca_certificate=boot.get("ca_certificate") or None)
    return ec2.Endpoint(_with_version(address), access, secret, trust)


def _recorded_url(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as source:
            return source.read().strip() or None
    except FileNotFoundError:
        return None


def _with_version(url: str) -> str:
    """The Query API answers at ``/v1/``; addresses are recorded with and without it."""
    return url.rstrip("/") + "/v1/" if urlsplit(url).path in ("", "/") else url
