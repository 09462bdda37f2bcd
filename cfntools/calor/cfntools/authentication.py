"""``AWS::CloudFormation::Authentication``: with which user and password files and sources are fetched."""

from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from calor.cfntools import proxies

KEY = "AWS::CloudFormation::Authentication"


class AuthenticationRefused(Exception):
    """The section, or a name asked of it, cannot be used; the message says why."""


class Authentication:
    """The accounts of a metadata document: chosen by name, else by the address that an account's ``uris`` cover."""

    def __init__(self, document: Dict[str, Any]) -> None:
        found = document.get(KEY) or {}
        if not isinstance(found, dict):
            raise AuthenticationRefused("{} must be a map".format(KEY))
        self._named: Dict[str, str] = {}
        self._covered: List[Tuple[str, str]] = []
        self._other: Dict[str, str] = {}
        for name, account in sorted(found.items()):
            self._read(name, account)

    def _read(self, name: str, account: Any) -> None:
        kind = str(account.get("type", "")) if isinstance(account, dict) else ""
        if kind.lower() != "basic":
            self._other[name] = kind or "no type"
            return
        if account.get("username") is None:
            raise AuthenticationRefused("{}: {} has no username".format(KEY, name))
        header = proxies.basic(str(account["username"]), str(account.get("password") or ""))
        self._named[name] = header
        uris = account.get("uris") or []
        for uri in [uris] if isinstance(uris, str) else uris:
            self._covered.append((str(uri), header))

    def headers(self, url: str, name: Optional[str] = None) -> Dict[str, str]:
        """What to send along with a request. Raises AuthenticationRefused for a name that is not there."""
        if name:
            if name in self._other:
                raise AuthenticationRefused(
                    "{}: {} has type {}; only basic is known".format(KEY, name, self._other[name])
                )
            if name not in self._named:
                there = ", ".join(sorted(self._named)) or "none"
                raise AuthenticationRefused("{}: there is no {}; there are: {}".format(KEY, name, there))
            return {"Authorization": self._named[name]}
        for uri, header in self._covered:
            if _covers(uri, url):
                return {"Authorization": header}
        return {}


def _covers(uri: str, url: str) -> bool:
    """Whether ``uri`` (a host, or an address) names the host of ``url`` and the beginning of its path: a password is
    sent nowhere else, and not over HTTP where the account names HTTPS."""
    wanted, asked = urlsplit(uri if "://" in uri else "//" + uri), urlsplit(url)
    if wanted.scheme and wanted.scheme != asked.scheme:
        return False
    if wanted.netloc.lower() != asked.netloc.rpartition("@")[2].lower():
        return False
    path = wanted.path.rstrip("/")
    return asked.path == path or asked.path.startswith(path + "/") or not path
