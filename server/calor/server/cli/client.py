"""The API as the command line calls it: with the user's own credentials, from the environment or a clouds.yaml."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calor.server.cli.api_fault import Fault

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

F = TypeVar("F", bound=Callable[..., Any])
POLL = 25
"""Seconds of a long poll: below the usual time-outs of proxies."""
FAULTS = {"X-Calor-Faults": "1"}
"""Asks for the faults of templates one by one, beside Heat's text."""


def connecting(command: F) -> F:
    """Add the options that say which cloud; the verb gets a ``client``, or the one that its context has already."""
    cloud = click.option(
        "--os-cloud", metavar="NAME", help="Cloud in clouds.yaml. Default: OS_CLOUD, else OS_* variables."
    )
    dev = click.option(
        "--dev",
        "dev_dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="State directory of a `calor dev`: its clouds.yaml is read (cloud calor unless --os-cloud says).",
    )

    @click.pass_context
    def called(context: click.Context, /, os_cloud: str | None, dev_dir: Path | None, **given: Any) -> Any:
        return context.invoke(command, client=context.obj or Client(os_cloud, dev_dir), **given)

    called.__doc__ = command.__doc__
    called.__name__ = command.__name__
    called.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]  # click's own
    return cloud(dev(called))  # type: ignore[return-value]  # the same command with two more options


class Client:
    """Calls the orchestration service of the user's project. Connects with the first call, unless it has an adapter."""

    def __init__(self, cloud: str | None = None, dev_dir: Path | None = None, adapter: "Adapter | None" = None) -> None:
        self.cloud = cloud
        self._dev_dir = dev_dir
        self._adapter: Any = adapter

    def get(self, path: str, **query: Any) -> Any:
        """The JSON answered. What is None is left out of the query."""
        params = {name: value for name, value in query.items() if value is not None}
        return self._call("GET", path, params=params, timeout=60 + float(query.get("wait") or 0)).json()

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON answered; None where there is none."""
        more: dict[str, Any] = {} if body is None else {"json": dict(body)}
        answer = self._call(method, path, params=dict(query or {}), headers=headers, **more)
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.json() if is_json and answer.content else None

    def find(self, name_or_id: str) -> tuple[str, str]:
        """(name, id) of a stack; a deleted one by its id only."""
        answer = self._call("GET", f"/stacks/{_quoted(name_or_id)}", redirect=False)
        words = str(answer.headers.get("Location", "")).partition("?")[0].rstrip("/").split("/")
        if len(words) < 2:
            raise Fault(f"There is no stack {name_or_id}.", 404)
        from urllib.parse import unquote

        return unquote(words[-2]), words[-1]

    def stack_path(self, name_or_id: str) -> str:
        name, ident = self.find(name_or_id)
        return f"/stacks/{_quoted(name)}/{ident}"

    def _call(self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> Any:
        from calor.server.cli.cloud_config import readable

        with readable(self.cloud, self._dev_dir):
            if self._adapter is None:
                self._adapter = self._connected()
            headers = {**FAULTS, **(headers or {})}
            answer = self._adapter.request(path, method, headers=headers, raise_exc=False, **more)
        if answer.status_code >= 400:
            raise Fault(*_refusal(answer))
        return answer

    def _connected(self) -> Any:
        from calor.server.cli.cloud_config import connected

        return connected(self.cloud, self._dev_dir)


def _refusal(answer: Any) -> tuple[str, int, Sequence[Mapping[str, Any]]]:
    try:
        error = answer.json()["error"]
        return str(error["message"]), answer.status_code, error.get("problems") or ()
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code} {answer.reason}.", answer.status_code, ()


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
