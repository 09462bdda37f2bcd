"""Ways out of the process that translates TOSCA: none leads to a file, the network or the server's environment."""

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.revision.translating import CLOSED, Translator
from calor.server.engine.workers.workers import WorkerLimits, Workers
from calor.server.errors import InvalidInput, RequestLimitExceeded

pytestmark = pytest.mark.slow
SECRET = "words that only this machine has"
ROOT = """\
tosca_definitions_version: tosca_simple_yaml_1_0
imports:
  - {imported}
topology_template:
  node_templates:
    server:
      type: {kind}
"""
TYPES = (
    "tosca_definitions_version: tosca_simple_yaml_1_0\nnode_types:\n  {name}: {{derived_from: tosca.nodes.Compute}}\n"
)


@pytest.fixture
async def translator() -> AsyncIterator[Translator]:
    one = Translator(WorkerLimits())
    yield one
    await one.close()


@pytest.fixture
async def closed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workers]:
    monkeypatch.setenv("OS_PASSWORD", SECRET)
    pool = Workers(WorkerLimits(), CLOSED)
    yield pool
    await pool.close()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that would do as an import, if it could be read."""
    file = tmp_path / "types.yaml"
    file.write_text(TYPES.format(name="My.Server") + f"description: {SECRET}\n")
    return file


@contextmanager
def listener() -> Iterator[tuple[str, Callable[[], bool]]]:
    """The URL of a socket on loopback, and whether anybody came."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)

        def is_visited() -> bool:
            try:
                server.accept()[0].close()
            except TimeoutError:
                return False
            return True

        yield f"http://127.0.0.1:{server.getsockname()[1]}/types.yaml", is_visited


async def refusal(translator: Translator, imported: str, **files: str) -> str:
    request = StackRequest(template=ROOT.format(imported=imported, kind="My.Server"), files=files)
    with pytest.raises(InvalidInput) as caught:
        await translator.translated(request, 1 << 20)
    assert {problem.code for problem in caught.value.problems} == {"tosca-import"}
    assert SECRET not in caught.value.detail
    return caught.value.detail


async def test_an_absolute_path_is_not_opened(translator: Translator, secret: Path) -> None:
    assert f"template:3:5: imports[0]: The import '{secret}' is not among the files of the request" in await refusal(
        translator, str(secret)
    )
    assert "/etc/hostname" in await refusal(translator, "/etc/hostname")


async def test_a_path_upwards_is_not_opened(translator: Translator, secret: Path) -> None:
    await refusal(translator, os.path.relpath(secret, "/"))
    await refusal(translator, os.path.relpath(secret))
    await refusal(translator, f"../../../../../../../..{secret}")


async def test_a_file_url_is_not_opened(translator: Translator, secret: Path) -> None:
    await refusal(translator, secret.as_uri())


async def test_a_url_is_not_fetched_and_nobody_is_called(translator: Translator) -> None:
    with listener() as (url, is_visited):
        assert url in await refusal(translator, url)
        assert url in await refusal(translator, f"types: {{file: {url}}}")
        await refusal(translator, f"types: {{file: types.yaml, repository: {url}}}")
        assert not is_visited()
        socket.create_connection(("127.0.0.1", int(url.split(":")[2].partition("/")[0]))).close()
        assert is_visited()  # it would have been seen


async def test_a_repository_is_not_asked(translator: Translator) -> None:
    with listener() as (url, is_visited):
        base = url.rpartition("/")[0]
        text = ROOT.format(imported="{types: {file: types.yaml, repository: mine}}", kind="My.Server")
        request = StackRequest(template=f"{text}repositories:\n  mine: {{url: {base}/}}\n")
        with pytest.raises(InvalidInput, match=f"The import '{url}' is not among the files"):
            await translator.translated(request, 1 << 20)
        assert not is_visited()


async def test_what_an_import_imports_is_not_opened_either(translator: Translator, secret: Path) -> None:
    with listener() as (url, is_visited):
        for target in (str(secret), f"../..{secret}", url):
            inner = TYPES.format(name="My.Other") + f"imports:\n  - {target}\n"
            assert target in await refusal(translator, "lib/inner.yaml", **{"lib/inner.yaml": inner})
        assert not is_visited()


async def test_files_of_artifacts_and_scripts_are_named_and_not_read(translator: Translator, secret: Path) -> None:
    text = f"""\
tosca_definitions_version: tosca_simple_yaml_1_0
topology_template:
  node_templates:
    server:
      type: tosca.nodes.Compute
      artifacts:
        words: {{file: {secret}, type: tosca.artifacts.File}}
      interfaces:
        Standard: {{create: {secret}, configure: /etc/hostname}}
"""
    made = await translator.translated(StackRequest(template=text), 1 << 20)
    assert isinstance(made.template, str)
    assert (SECRET in made.template, dict(made.files)) == (False, {})
    assert f"get_file: {secret}" in made.template  # and the request has no such file: binding it is refused


async def test_imports_come_from_the_request(translator: Translator) -> None:
    with listener() as (url, is_visited):
        files = {
            "lib/a.yaml": TYPES.format(name="My.Other") + "imports: [../b.yaml]\n",
            "b.yaml": TYPES.format(name="My.Server"),
        }
        for imported, sent in (("lib/a.yaml", files), (url, {url: files["b.yaml"]})):
            request = StackRequest(
                template=ROOT.format(imported=imported, kind="My.Server"), files={**sent, "kept": "x"}
            )
            made = await translator.translated(request, 1 << 20)
            assert "OS::Nova::Server" in str(made.template)
            assert dict(made.files) == {"kept": "x"}
        assert not is_visited()


async def test_one_templates_types_are_not_known_to_the_next(translator: Translator) -> None:
    await translator.translated(
        StackRequest(
            template=ROOT.format(imported="a.yaml", kind="My.Server"), files={"a.yaml": TYPES.format(name="My.Server")}
        ),
        1 << 20,
    )
    with pytest.raises(InvalidInput, match=r"My\.Server"):
        await translator.translated(
            StackRequest(
                template=ROOT.format(imported="a.yaml", kind="My.Server"), files={"a.yaml": TYPES.format(name="O")}
            ),
            1 << 20,
        )


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (open, ("/etc/hostname",)),
        (open, ("/proc/self/environ",)),
        (open, ("/proc/self/mem", "rb")),
        (os.listdir, ("/",)),
        (os.pipe, ()),
        (socket.socket, ()),
        (socket.socket, (socket.AF_UNIX,)),
        (urllib.request.urlopen, ("http://127.0.0.1:1/",)),
        (socket.getaddrinfo, ("localhost", 80)),
        (subprocess.run, (["/bin/true"],)),
    ],
)
async def test_the_process_itself_can_open_nothing(closed: Workers, function: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(
        OSError, match=r"Too many open files|No such file|not known|failure in name resolution|resource"
    ):
        await closed.run(function, *arguments)


async def test_the_environment_of_the_server_is_not_there(closed: Workers) -> None:
    assert await closed.run(os.getenv, "OS_PASSWORD") is None
    assert await closed.run(os.getenv, "PATH") is None


async def test_a_process_that_breaks_a_limit_is_told_and_the_next_works(closed: Workers) -> None:
    with pytest.raises(RequestLimitExceeded, match="worker_memory"):
        await closed.run(bytes, 4 << 30)
    assert await closed.run(os.getcwd) == "/"


def test_without_rights_to_namespaces_the_limits_alone_hold(secret: Path) -> None:
    """As in a container that forbids them: descriptors are what remains, and they are enough."""
    program = f"""
import os, socket, urllib.request
from calor.server.tosca import closing
closing.enter_nothing = lambda: False
closing.close()
held = 0
for attempt in (lambda: open({str(secret)!r}), lambda: socket.socket(), lambda: os.listdir("/"), os.pipe,
                lambda: urllib.request.urlopen({secret.as_uri()!r}), lambda: urllib.request.urlopen("http://127.0.0.1:1/")):
    try:
        attempt()
    except OSError as error:
        held += "Too many open files" in str(error)
os.write(1, str(held).encode())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "6"


@pytest.mark.root
async def test_with_rights_to_namespaces_not_even_names_of_files_can_be_asked_for(
    closed: Workers, secret: Path
) -> None:
    assert await closed.run(os.getuid) == 65534
    for function, arguments in ((os.stat, (str(secret),)), (os.mkdir, ("/made",)), (os.remove, (str(secret),))):
        with pytest.raises(OSError, match=r"No such file|Read-only|denied"):
            await closed.run(function, *arguments)
    assert secret.exists()


async def test_imports_in_a_circle_come_to_an_end(translator: Translator) -> None:
    files = {
        name: TYPES.format(name=name) + f"imports: [{other}]\n"
        for name, other in (("a.yaml", "b.yaml"), ("b.yaml", "a.yaml"))
    }
    request = StackRequest(template=ROOT.format(imported="a.yaml", kind="My.Server"), files=files)
    with pytest.raises((InvalidInput, RequestLimitExceeded)):
        await asyncio.wait_for(translator.translated(request, 1 << 20), 60)
