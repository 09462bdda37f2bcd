"""EC2 key pairs as heat-cfntools finds them: options first, then a credentials file, then the boot-time data."""

import os
import re
from typing import Dict, NamedTuple, Optional, Tuple
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
    ca_certificate: Optional[str] = None
    insecure: bool = False

    def under(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))


class Unreadable(Exception):
    """A credentials file that was named cannot be read, or has no key pair."""


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
    pair = _pair(given, boot)
    address = given.url or boot.get("metadata_url") or _recorded_url(given)
    if not (pair and address):
        return None
    trust = authorities.trust(given.root, given.ca_certificate, given.insecure)
    return ec2.Endpoint(_with_version(address), pair[0], pair[1], trust)


def _pair(given: Given, boot: Dict[str, str]) -> Optional[Tuple[str, str]]:
    """The first that is whole: halves from different places do not belong together."""
    if bool(given.access_key) != bool(given.secret_key):
        raise Unreadable("--access-key and --secret-key go together")
    listed = read_file(given.credential_file or given.under(CREDENTIALS))
    absent = [key for key in ("AWSAccessKeyId", "AWSSecretKey") if not listed.get(key)]
    if given.credential_file and absent and not given.access_key:
        raise Unreadable("the credentials file {} has no {}".format(given.credential_file, " and no ".join(absent)))
    for access, secret in (
        (given.access_key, given.secret_key),
        (listed.get("AWSAccessKeyId"), listed.get("AWSSecretKey")),
        (boot.get("access_key_id"), boot.get("secret_access_key")),
    ):
        if access and secret:
            return access, secret
    return None


def _recorded_url(given: Given) -> Optional[str]:
    for path in SERVER_URL:
        try:
            with open(given.under(path), encoding="utf-8") as source:
                found = source.read().strip()
        except OSError:
            continue
        if found:
            return found
    return authorities.boto_url(given.root)


def _with_version(url: str) -> str:
    """The Query API answers at ``/v1/``; addresses are recorded with and without it."""
    return url.rstrip("/") + "/v1/" if urlsplit(url).path in ("", "/") else url
