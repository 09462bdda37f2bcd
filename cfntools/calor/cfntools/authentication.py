"""``AWS::CloudFormation::Authentication``: as whom files and sources are fetched."""

from typing import Any, Dict, List, Optional
from urllib.parse import urlsplit

from calor.cfntools import httpclient, proxies, s3, tls

SECTION = "AWS::CloudFormation::Authentication"
KINDS = "basic, S3"


class AuthenticationRefused(Exception):
    """The section, or a name asked of it, cannot be used; the message says why."""


class Account:
    """How an address is asked for: here as nobody."""

    def covers(self, url: str) -> bool:
        """Whether it is taken for this address where none is named."""
        return False

    def get(self, url: str, timeout: float, sink: httpclient.Sink, trust: tls.Trust) -> httpclient.Answer:
        """Raises httpclient.TransportError, and AuthenticationRefused where this account can be used for nothing."""
        return httpclient.request("GET", url, None, {}, timeout, trust, sink)


class Basic(Account):
    """A user and a password."""

    def __init__(self, name: str, settings: Dict[str, Any]) -> None:
        if settings.get("username") is None:
            raise AuthenticationRefused("{}: {} has no username".format(SECTION, name))
        self._header = proxies.basic(str(settings["username"]), str(settings.get("password") or ""))
        self._uris = _texts(settings.get("uris"))

    def covers(self, url: str) -> bool:
        return any(_is_below(uri, url) for uri in self._uris)

    def get(self, url: str, timeout: float, sink: httpclient.Sink, trust: tls.Trust) -> httpclient.Answer:
        return httpclient.request("GET", url, None, {"Authorization": self._header}, timeout, trust, sink)


class Bucket(Account):
    """A key pair of S3, for what lies in certain buckets."""

    def __init__(self, name: str, settings: Dict[str, Any]) -> None:
        absent = [key for key in ("accessKeyId", "secretKey") if not settings.get(key)]
        if absent:
            raise AuthenticationRefused("{}: {} has no {}".format(SECTION, name, " and no ".join(absent)))
        self._key = s3.Key(str(settings["accessKeyId"]), str(settings["secretKey"]))
        self._buckets = _texts(settings.get("buckets"))

    def covers(self, url: str) -> bool:
        return any(s3.is_in(bucket, url) for bucket in self._buckets)

    def get(self, url: str, timeout: float, sink: httpclient.Sink, trust: tls.Trust) -> httpclient.Answer:
        return s3.get(self._key, url, timeout, sink, trust)


class Unusable(Account):
    """One that is refused when it is asked for, and not before: other configs may do without."""

    def __init__(self, reason: str, buckets: List[str]) -> None:
        self._reason = reason
        self._buckets = buckets

    def covers(self, url: str) -> bool:
        return any(s3.is_in(bucket, url) for bucket in self._buckets)

    def get(self, url: str, timeout: float, sink: httpclient.Sink, trust: tls.Trust) -> httpclient.Answer:
        raise AuthenticationRefused(self._reason)


class Authentication:
    """The accounts of a metadata document: chosen by name, else by the address that an account covers. ``trust`` is
    for whatever is fetched, by an account or by nobody's."""

    def __init__(self, document: Dict[str, Any], trust: tls.Trust = tls.DEFAULT) -> None:
        self.trust = trust
        found = document.get(SECTION) or {}
        if not isinstance(found, dict):
            raise AuthenticationRefused("{} must be a map".format(SECTION))
        self._accounts = {name: _account(name, settings) for name, settings in sorted(found.items())}

    def account(self, url: str, name: Optional[str] = None) -> Account:
        """As whom to ask for an address. Raises AuthenticationRefused for a name that is not there."""
        if name:
            if name not in self._accounts:
                there = ", ".join(self._accounts) or "none"
                raise AuthenticationRefused("{}: there is no {}; there are: {}".format(SECTION, name, there))
            return self._accounts[name]
        return next((account for account in self._accounts.values() if account.covers(url)), Account())


def _account(name: str, settings: Any) -> Account:
    found = settings if isinstance(settings, dict) else {}
    kind = str(found.get("type", "")).lower()
    if kind == "basic":
        return Basic(name, found)
    if kind != "s3":
        words = "{}: {} has type {}; known: {}".format(SECTION, name, found.get("type") or "none", KINDS)
        return Unusable(words, [])
    if found.get("roleName") and not (found.get("accessKeyId") and found.get("secretKey")):
        words = "{}: {} has a roleName: there are no IAM roles here; give accessKeyId and secretKey"
        return Unusable(words.format(SECTION, name), _texts(found.get("buckets")))
    return Bucket(name, found)


def _texts(value: Any) -> List[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one]


def _is_below(uri: str, url: str) -> bool:
    """Whether ``uri`` (a host, or an address) names the host of ``url`` and the beginning of its path: a password is
    sent nowhere else, and not over HTTP where the account names HTTPS."""
    wanted, asked = urlsplit(uri if "://" in uri else "//" + uri), urlsplit(url)
    if wanted.scheme and wanted.scheme != asked.scheme:
        return False
    if wanted.netloc.lower() != asked.netloc.rpartition("@")[2].lower():
        return False
    path = wanted.path.rstrip("/")
    return asked.path == path or asked.path.startswith(path + "/") or not path
