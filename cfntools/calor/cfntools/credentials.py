"""EC2 key pairs as heat-cfntools finds them: options first, then a credentials file, then the boot-time data."""

import os
import re
from typing import Dict, NamedTuple, Optional
from urllib.parse import urlsplit

from calor.cfntools import authorities, ec2

CREDENTIALS = "/etc/cfn/cfn-credentials"
SERVER_URL = ("/var/lib/heat-cfntools/cfn-metadata-server", "/var/lib/cloud/data/cfn-metadata-server")
LINE = re.compile(r"^\s*(AWSAccessKeyId|AWSSecretKey)\s*=\s*(.*?)\s*$", re.MULTILINE)


class Given(NamedTuple):
    """What a tool's options say about the API and its key pair."""

    url: Optional[str] = None
    access_key: Optional[str] = None
    secret_key: Optional[str] = None
    credential_file: Optional[str] = None
    root: str = "/"

    def under(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))


class Unreadable(Exception):
    """A credentials file that was named cannot be read."""


def read_file(path: str) -> Dict[str, str]:
    """``AWSAccessKeyId`` and ``AWSSecretKey`` of a credentials file; {} if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return dict(LINE.findall(source.read()))
    except (FileNotFoundError, PermissionError):
        return {}


def find_endpoint(given: Given) -> Optional[ec2.Endpoint]:
    """The API to ask and the keys to ask it with, or None when this instance has been given none. Raises
    Unreadable."""
    if given.credential_file and not os.access(given.credential_file, os.R_OK):
        raise Unreadable("the credentials file {} cannot be read".format(given.credential_file))
    boot = authorities.boot_data(given.root)
    listed = read_file(given.credential_file or given.under(CREDENTIALS))
    access = given.access_key or listed.get("AWSAccessKeyId") or boot.get("access_key_id")
    secret = given.secret_key or listed.get("AWSSecretKey") or boot.get("secret_access_key")
    address = given.url or boot.get("metadata_url") or _recorded_url(given)
    if not (access and secret and address):
        return None
    return ec2.Endpoint(_with_version(address), access, secret, authorities.trust(given.root))


def _recorded_url(given: Given) -> Optional[str]:
    for path in SERVER_URL:
        try:
            with open(given.under(path), encoding="utf-8") as source:
                found = source.read().strip()
        except OSError:
            continue
        if found:
            return found
    return None


def _with_version(url: str) -> str:
    """The Query API answers at ``/v1/``; addresses are recorded with and without it."""
    return url.rstrip("/") + "/v1/" if urlsplit(url).path in ("", "/") else url
