"""Logged-in connections: one per (project, credentials), each with its token, kept and renewed by keystoneauth."""

import http.cookiejar
import threading
from collections import OrderedDict
from typing import Any

import openstack.connection
import requests
from keystoneauth1 import access, session
from keystoneauth1.identity import base, v3

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.errors import CloudRefused
from calor.server.cloud.settings import CloudSettings

Key = tuple[str, str, str, str, str | None]


class GivenToken(base.BaseIdentityPlugin):
    """Acts with a token as it is. Asking for another in exchange is refused to restricted credentials; asking the
    token about itself is not, and brings its catalog."""

    def __init__(self, auth_url: str, token: str) -> None:
        super().__init__(auth_url=auth_url, reauthenticate=False)
        self._tokens_url = f"{auth_url}/auth/tokens"
        self._given = token

    def get_auth_ref(self, session: session.Session, **kwargs: Any) -> access.AccessInfo:
        response = session.get(
            self._tokens_url,
            headers={"X-Auth-Token": self._given, "X-Subject-Token": self._given, "Accept": "application/json"},
            authenticated=False,
        )
        return access.create(body=response.json(), auth_token=self._given)

    def get_token(self, session: session.Session) -> str:
        """Without asking about it: that is for calls that need the catalog."""
        return self._given

    def invalidate(self) -> bool:
        return False

    def get_cache_id_elements(self) -> dict[str, str | None]:
        return {"auth_url": self.auth_url, "token": self._given}


class Sessions:
    """Makes connections and keeps the last ones used. Thread-safe; ``open`` does no input or output."""

    def __init__(self, settings: CloudSettings) -> None:
        self._settings = settings
        self._kept: OrderedDict[Key, openstack.connection.Connection] = OrderedDict()
        self._lock = threading.Lock()
        self._wire = _wire(settings.threads)
        self._own: openstack.connection.Connection | None = None

    def open(self, credentials: Credentials) -> openstack.connection.Connection:
        key = key_of(credentials)
        with self._lock:
            found = self._kept.pop(key, None) or self._connection(self._plugin(credentials), credentials.region)
            self._kept[key] = found
            while len(self._kept) > self._settings.sessions_kept:
                self._kept.popitem(last=False)
            return found

    def own(self) -> openstack.connection.Connection:
        """The server's own session, as its service user."""
        with self._lock:
            if self._own is None:
                self._own = self._connection(self._password(project_name=self._settings.project_name), None)
            return self._own

    def logged_in(self, credentials: Credentials) -> session.Session:
        """A session for calls to Keystone itself: no connection with all its services is made for these."""
        with self._lock:
            kept = self._kept.get(key_of(credentials))
        return kept.session if kept is not None else self._session(self._plugin(credentials))

    def forget(self, credentials: Credentials) -> None:
        with self._lock:
            self._kept.pop(key_of(credentials), None)

    def close(self) -> None:
        with self._lock:
            self._wire.close()
            self._kept.clear()
            self._own = None

    def _connection(self, plugin: base.BaseIdentityPlugin, region: str | None) -> openstack.connection.Connection:
        return openstack.connection.Connection(
            session=self._session(plugin),
            region_name=region or self._settings.region,
            interface=self._settings.interface,
            identity_api_version="3",
        )

    def _session(self, plugin: base.BaseIdentityPlugin) -> session.Session:
        settings = self._settings
        verify: bool | str = False if settings.insecure else (settings.cafile or True)
        return session.Session(
            auth=plugin, session=self._wire, verify=verify, timeout=settings.request_timeout, app_name="calor"
        )

    def _plugin(self, credentials: Credentials) -> base.BaseIdentityPlugin:
        if credentials.kind is CredentialKind.TRUST:
            return self._password(trust_id=credentials.ident)
        if credentials.kind is CredentialKind.APPLICATION_CREDENTIAL:
            return v3.ApplicationCredential(
                auth_url=identity_v3(self._settings.auth_url),
                application_credential_id=credentials.ident,
                application_credential_secret=credentials.secret,
            )
        if not credentials.secret:
            raise CloudRefused("There is no token to act with.")
        return GivenToken(identity_v3(self._settings.auth_url), credentials.secret)

    def _password(self, *, project_name: str | None = None, trust_id: str | None = None) -> v3.Password:
        settings = self._settings
        return v3.Password(
            auth_url=identity_v3(settings.auth_url),
            username=settings.username,
            password=settings.password,
            user_domain_id=settings.user_domain_id or None,
            user_domain_name=None if settings.user_domain_id else settings.user_domain_name,
            project_name=project_name,
            project_domain_id=(settings.project_domain_id or None) if project_name else None,
            project_domain_name=settings.project_domain_name
            if project_name and not settings.project_domain_id
            else None,
            trust_id=trust_id,
        )


def _wire(threads: int) -> requests.Session:
    """The sockets that all sessions share, kept open for as many calls at once as there are threads: with fewer, calls
    would each open their own. It remembers nothing of who called."""
    wire = requests.Session()
    wire.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        wire.mount(scheme, session.TCPKeepAliveAdapter(pool_maxsize=threads))
    return wire


def identity_v3(url: str) -> str:
    """Keystone's v3 URL, whether configured with or without its version."""
    url = url.rstrip("/")
    return url if url.endswith("/v3") else f"{url}/v3"


def key_of(credentials: Credentials) -> Key:
    return (
        credentials.kind.value,
        credentials.project_id,
        credentials.ident,
        credentials.secret,
        credentials.region,
    )
