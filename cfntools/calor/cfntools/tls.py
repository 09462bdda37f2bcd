"""Whom a TLS connection trusts: the system's authorities, a private one, or one pinned certificate."""

import time
from typing import Any, NamedTuple, Optional

from calor.cfntools.digest import sha256_hex


class Trust(NamedTuple):
    """``ca_certificate`` is PEM text or the path of a PEM file; ``pinned`` the SHA-256 (hex) of the one certificate
    that is accepted, whoever signed it; ``insecure`` accepts anything."""

    ca_certificate: Optional[str] = None
    pinned: Optional[str] = None
    insecure: bool = False

    def wrap(self, sock: Any, host: str) -> Any:
        import ssl  # an agent that speaks plain HTTP must not pay for OpenSSL's memory

        unchecked = self.insecure or self.pinned is not None
        if self.ca_certificate and "-----BEGIN" in self.ca_certificate:
            context = ssl.create_default_context(cadata=self.ca_certificate)
        else:
            context = ssl.create_default_context(cafile=self.ca_certificate or None)
        if unchecked:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            wrapped = context.wrap_socket(sock, server_hostname=host)
        except ssl.SSLError as exc:
            if "not yet valid" in str(exc) or "has expired" in str(exc):
                here = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                raise OSError("{}; the clock of this machine says {}".format(exc, here)) from exc
            raise
        if self.pinned is not None:
            found = sha256_hex(wrapped.getpeercert(True) or b"")
            if found != self.pinned.replace(":", "").lower():
                wrapped.close()
                raise OSError("the server's certificate {} is not the pinned one".format(found))
        return wrapped


DEFAULT = Trust()
