"""Asks Keystone whose a token is: keystoneauth in a bounded pool of threads."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from calor.server.auth.token_cache import TokenCache, Validated
from calor.server.config import Keystone
from calor.server.errors import ServiceUnavailable, Unauthorized
from calor.server.identity.callers import Caller

log = logging.getLogger(__name__)

_LONGEST_TOKEN = 16_384
_UNREACHABLE = "The identity service does not answer; the request could not be authenticated. Try again."
_REFUSED = (
    "The identity service refuses this server's own user, so the request could not be authenticated. "
    "The server's administrator must mend that; its log has the reason."
)


class LogInFault(Exception):
    """The service user gets no token. The message is the operator's; ``told`` is for clients."""

    def __init__(self, message: str, *, is_refused: bool) -> None:
        super().__init__(message)
        self.is_refused = is_refused
        self.told = _REFUSED if is_refused else _UNREACHABLE


class KeystoneTokens:
    """Validates ``X-Auth-Token`` with the service user of ``[keystone_authtoken]``. One per process."""

    def __init__(self, options: Keystone) -> None:
        self._options = options
        self._pool = ThreadPoolExecutor(options.validation_threads, thread_name_prefix="keystone")
        self._cache = TokenCache(self._ask, seconds=options.token_cache_time)
        self._session: Any = None
        self._making = threading.Lock()

    @property
    def www_authenticate(self) -> str:
        """The challenge of a 401."""
        return f'Keystone uri="{self._options.www_authenticate_uri or self._options.auth_url}"'

    async def validate(self, token: str) -> Caller:
        """Raises `Unauthorized`, or `ServiceUnavailable` when Keystone does not answer."""
        if not token or not token.isascii() or not token.isprintable() or " " in token or len(token) > _LONGEST_TOKEN:
            raise Unauthorized("X-Auth-Token does not hold a token.")
        return await self._cache.caller_of(token)

    async def close(self) -> None:
        await self._cache.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def warm_up(self) -> None:
        """Import and log in ahead of the first request; a Keystone that is not there yet is no fault."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._log_in)
        except LogInFault as exc:
            log.log(logging.ERROR if exc.is_refused else logging.WARNING, "%s", exc)

    async def _ask(self, token: str) -> Validated | None:
        body = await asyncio.get_running_loop().run_in_executor(self._pool, self._ask_blocking, token)
        return None if body is None else validated(token, body)

    def _log_in(self) -> None:
        _log_in(self._opened(), self._options)

    def _ask_blocking(self, token: str) -> Mapping[str, Any] | None:
        from keystoneauth1 import exceptions

        try:
            answer = self._answer(token)
            if answer.status_code == 404:
                return None
            if answer.status_code == 200:
                body: Mapping[str, Any] = answer.json()["token"]
                return body
        except LogInFault as exc:
            log.error("%s", exc)  # noqa: TRY400
            raise ServiceUnavailable(exc.told) from exc
        except (exceptions.ClientException, OSError, ValueError, KeyError) as exc:
            log.error("the identity service does not answer", extra={"reason": str(exc)})  # noqa: TRY400
            raise ServiceUnavailable(_UNREACHABLE) from exc
        log.error("the identity service refuses to validate tokens", extra={"status": answer.status_code})
        raise ServiceUnavailable(_REFUSED if answer.status_code in {401, 403} else _UNREACHABLE)

    def _answer(self, token: str) -> Any:
        from keystoneauth1 import plugin

        self._log_in()  # a token that still holds costs nothing
        return self._opened().get(
            "/auth/tokens",
            headers={"X-Subject-Token": token, "Accept": "application/json"},
            endpoint_filter={"interface": plugin.AUTH_INTERFACE, "version": (3, 0)},
            raise_exc=False,
        )

    def _opened(self) -> Any:
        with self._making:
            if self._session is None:
                self._session = _session(self._options)
            return self._session


def log_in(options: Keystone) -> None:
    """Once, as the service user. Raises `LogInFault`."""
    _log_in(_session(options), options)


def _log_in(session: Any, options: Keystone) -> None:
    from keystoneauth1 import exceptions

    try:
        session.get_token()
    except (exceptions.BadRequest, exceptions.Unauthorized, exceptions.Forbidden) as exc:
        raise LogInFault(
            f"Keystone at {options.auth_url} refuses user {options.username} ({exc.http_status}): check username, "
            "password, project and domains in [keystone_authtoken].",
            is_refused=True,
        ) from exc
    except (exceptions.ClientException, OSError) as exc:
        raise LogInFault(f"Keystone at {options.auth_url} does not answer: {exc}", is_refused=False) from exc


def _session(options: Keystone) -> Any:
    from keystoneauth1 import session
    from keystoneauth1.identity import generic

    auth = generic.Password(
        auth_url=options.auth_url,
        username=options.username,
        password=options.password,
        project_name=options.project_name,
        user_domain_id=options.user_domain_id or None,
        user_domain_name=None if options.user_domain_id else options.user_domain_name,
        project_domain_id=options.project_domain_id or None,
        project_domain_name=None if options.project_domain_id else options.project_domain_name,
    )
    verify: bool | str = False if options.insecure else options.cafile or True
    return session.Session(auth=auth, verify=verify, timeout=options.http_connect_timeout)


def validated(token: str, body: Mapping[str, Any]) -> Validated:
    """A token as Keystone describes it (the value of ``token`` in its answer)."""
    user, project = body.get("user", {}), body.get("project", {})
    roles = frozenset(role["name"] for role in body.get("roles", ()))
    credential = body.get("application_credential", {})
    caller = Caller(
        user_id=user.get("id", ""),
        user_name=user.get("name", ""),
        user_domain_id=user.get("domain", {}).get("id", ""),
        project_id=project.get("id", ""),
        project_name=project.get("name", ""),
        roles=roles,
        token=token,
        is_admin="admin" in roles and bool(body.get("is_admin_project", True)),
        restricted=bool(credential.get("restricted", False)) or "OS-TRUST:trust" in body,
        system_scope="system" in body,
    )
    return Validated(caller=caller, expires_at=datetime.fromisoformat(body["expires_at"]).timestamp())
