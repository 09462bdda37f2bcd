"""The API as the command line calls it: with the user's own credentials, from the environment or a clouds.yaml."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
POLL = 25
"""Seconds of a long poll: below the usual time-outs of proxies."""
_HOW_TO_NAME = (
    "Name a cloud of clouds.yaml by --os-cloud or OS_CLOUD, set OS_AUTH_URL and its companions, "
    "or point to a dev cloud by --dev."
)


def connecting(command: F) -> F:
    """Add the options that say which cloud; the verb gets a ``client``."""
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
        return context.invoke(command, client=Client(os_cloud, dev_dir), **given)

    called.__doc__ = command.__doc__
    called.__name__ = command.__name__
    called.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]  # click's own
    return cloud(dev(called))  # type: ignore[return-value]  # the same command with two more options


class Fault(click.ClickException):
    """An answer of the API that is an error; ``status`` is HTTP's."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Calls the orchestration service of the user's project. Connects with the first call."""

    def __init__(self, cloud: str | None = None, dev_dir: Path | None = None) -> None:
        self._cloud = cloud
        self._dev_dir = dev_dir
        self._adapter: Any = None

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
        answer = self._call(method, path, params=dict(query or {}), headers=dict(headers or {}), **more)
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

    def _call(self, method: str, path: str, **more: Any) -> Any:
        if self._adapter is None:
            with _readable(self._dev_dir):
                self._adapter = self._connected()
        with _readable(self._dev_dir):
            answer = self._adapter.request(path, method, raise_exc=False, **more)
        if answer.status_code >= 400:
            raise Fault(_message(answer), answer.status_code)
        return answer

    def _connected(self) -> Any:
        from keystoneauth1.adapter import Adapter
        from openstack.config import OpenStackConfig

        logging.getLogger("keystoneauth").addHandler(logging.NullHandler())  # what fails is raised as well, and told
        if self._dev_dir is not None:
            if not (self._dev_dir / "clouds.yaml").is_file():
                raise Fault(
                    f"There is no dev cloud in {self._dev_dir}. Start one: calor dev --state-dir {self._dev_dir}"
                )
            config = OpenStackConfig(config_files=[str(self._dev_dir / "clouds.yaml")], load_envvars=False)
            region = config.get_one(self._cloud or "calor")
        else:
            region = OpenStackConfig().get_one(self._cloud)
        kind = "orchestration"
        return Adapter(
            region.get_session(),
            service_type=kind,
            interface=region.get_interface(kind),
            region_name=region.get_region_name(kind),
            endpoint_override=region.get_endpoint(kind),
            user_agent="calor",
        )


@contextmanager
def _readable(dev_dir: Path | None) -> Iterator[None]:
    """Faults of the way to the API as one line."""
    from keystoneauth1.exceptions import ClientException, ConnectFailure, DiscoveryFailure, MissingRequiredOptions
    from openstack.exceptions import ConfigException

    try:
        yield
    except MissingRequiredOptions as exc:
        raise Fault(f"No cloud is named, or its settings are incomplete ({exc}). {_HOW_TO_NAME}") from exc
    except ConfigException as exc:
        raise Fault(f"{exc} {_HOW_TO_NAME}") from exc
    except (ConnectFailure, DiscoveryFailure) as exc:
        if dev_dir is None:
            raise Fault(str(exc)) from exc
        raise Fault(f"The dev cloud in {dev_dir} is not running; start it: calor dev --state-dir {dev_dir}") from exc
    except ClientException as exc:
        raise Fault(str(exc)) from exc


def _message(answer: Any) -> str:
    try:
        body = answer.json()
        return str(body["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code} {answer.reason}."


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
