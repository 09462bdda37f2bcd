"""Which proxy a request goes through: ``http_proxy``, ``https_proxy`` and ``no_proxy`` of the environment."""

import base64
import os
from typing import Dict, Optional
from urllib.parse import SplitResult, unquote, urlsplit

NEVER = ("169.254.169.254", "169.254.169.253", "localhost", "127.0.0.1", "::1")


def proxy_for(scheme: str, host: str) -> Optional[SplitResult]:
    """The proxy for this address, None for a direct connection. The metadata service is never behind one."""
    name = scheme + "_proxy"
    value = os.environ.get(name)
    if value is None and (scheme == "https" or "REQUEST_METHOD" not in os.environ):
        value = os.environ.get(name.upper())
    if not value or host in NEVER or _is_exempt(host, os.environ.get("no_proxy", os.environ.get("NO_PROXY", ""))):
        return None
    return urlsplit(value if "://" in value else "http://" + value)


def authorisation(proxy: SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    return {"Proxy-Authorization": basic(unquote(proxy.username), unquote(proxy.password or ""))}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode("{}:{}".format(user, password).encode("utf-8")).decode("ascii")


def _is_exempt(host: str, listed: str) -> bool:
    for entry in (part.strip().lower() for part in listed.split(",")):
        if entry == "*":
            return True
        if entry and (host.lower() == entry.lstrip(".") or host.lower().endswith("." + entry.lstrip("."))):
            return True
    return False
