"""Addresses of this server as guests must use them."""

from collections.abc import Callable
from urllib.parse import quote, urlsplit

from calor.server.config.guest_urls import is_loopback
from calor.server.engine.settings import Settings
from calor.server.identity import SignedTarget, UrlKind, UrlSigner
from calor.server.resources.base import ResourceFailed
from calor.server.store.rows import ResourceRow, StackRow


class GuestUrls:
    """The addresses that one resource's guests get. Signed URLs are the same each time and die with their row."""

    def __init__(
        self, settings: Settings, signer: UrlSigner, stack: StackRow, find: Callable[[str], ResourceRow | None]
    ) -> None:
        self._settings = settings
        self._signer = signer
        self._stack = stack
        self._find = find

    @property
    def cfn(self) -> str:
        return self._settings.guest_cfn.rstrip("/")

    @property
    def orchestration(self) -> str:
        return self._settings.guest_orchestration.rstrip("/")

    @property
    def ca_certificate(self) -> str | None:
        return self._settings.guest_ca_certificate

    def outside(self, url: str) -> str:
        base = self._settings.guest_object_store
        if base:
            parts = urlsplit(url)
            return base.rstrip("/") + url[len(f"{parts.scheme}://{parts.netloc}") :]
        if is_loopback(url) and not self._settings.allow_loopback:
            raise ResourceFailed(
                "The object store's public address in the catalog leads an instance to itself; an operator sets "
                "guest_object_store_url to the one by which instances reach it."
            )
        return url

    def container_key(self, container: str) -> str:
        return self._signer.secret(f"container/{self._stack.project_id}/{container}")

    def signal(self, resource_id: str) -> str:
        return self._signed(UrlKind.SIGNAL, resource_id)

    def wait_condition(self, resource_id: str) -> str:
        return self._signed(UrlKind.WAIT_CONDITION, resource_id)

    def heat_signal(self, resource_name: str) -> str:
        stack = self._stack
        path = f"/v1/{stack.project_id}/stacks/{quote(stack.name)}/{stack.id}/resources/{quote(resource_name)}/signal"
        return self.orchestration + path

    def _signed(self, kind: UrlKind, resource_id: str) -> str:
        row = self._find(resource_id)
        if row is None:
            raise LookupError(f"there is no resource {resource_id} to sign a URL for")
        target = SignedTarget(
            kind=kind,
            project_id=self._stack.project_id,
            stack_name=self._stack.name,
            stack_id=self._stack.id,
            resource_name=row.name,
            resource_id=row.id,
        )
        base = (self._settings.guest_signals or self.cfn).rstrip("/")
        return self._signer.sign(base, target, at=row.created_at)
