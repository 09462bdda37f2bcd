"""What a hook is: it says which command applies a config, and what came out of it."""

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from calor.agent import outputs
from calor.agent.deployments import Deployment
from calor.agent.places import Places

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CannotRun(Exception):
    """The config cannot be applied at all: reported at once with this reason and ``code`` as status code."""

    def __init__(self, reason: str, code: int = 127) -> None:
        super(CannotRun, self).__init__(reason)
        self.code = code


class Job(NamedTuple):
    """One attempt to apply ``config`` of a deployment. ``directory`` is the attempt's own; ``environment`` what the
    hook's process starts from."""

    deployment: Deployment
    config: Any
    places: Places
    environment: Mapping[str, str]
    directory: str

    @property
    def stdout(self) -> str:
        return os.path.join(self.directory, "stdout")

    @property
    def stderr(self) -> str:
        return os.path.join(self.directory, "stderr")


class Command(NamedTuple):
    """What to start: arguments (no shell), whole environment, working directory, and the path of a file to read
    as standard input."""

    argv: List[str]
    environment: Dict[str, str]
    directory: str = "/"
    stdin: Optional[str] = None


class Finished(NamedTuple):
    """Outputs to signal (with ``deploy_status_code``) and one line on why it failed, "" if it did not."""

    outputs: Dict[str, Any]
    reason: str


class Hook:
    """A hook built in. ``prepare`` may write files and may be called again after a failed attempt."""

    group = ""

    def prepare(self, job: Job) -> Optional[Command]:
        """The command to run; None if there is nothing to do. Raises CannotRun."""
        raise NotImplementedError

    def finish(self, job: Job, code: int) -> Finished:
        """Called once the command has ended with this exit code (128 + n if signal n killed it)."""
        return Finished(outputs.standard(job.stdout, job.stderr, code, {}), failure(job, code))


def failure(job: Job, code: int) -> str:
    """Exit code and the last lines that were printed; "" for success."""
    if code == 0:
        return ""
    how = "killed by signal {}".format(code - 128) if 128 < code < 160 else "exit code {}".format(code)
    last = (outputs.tail(job.stderr, 500) or outputs.tail(job.stdout, 500)).strip()
    return "{} hook: {}{}".format(job.deployment.group, how, ": " + last if last else "")


def base_environment(environment: Mapping[str, str]) -> Dict[str, str]:
    """The agent's own environment without what is only the agent's, with defaults for what early boot lacks."""
    found = {key: value for key, value in environment.items() if not key.startswith("CALOR_")}
    found.setdefault("PATH", PATH)
    found.setdefault("HOME", "/root")
    if not any(key in found for key in ("LANG", "LC_ALL")):
        found["LC_ALL"] = "C.UTF-8"
    return found


def as_text(value: Any) -> str:
    """An input as Heat's hooks give it to a program: text as it is, maps and lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


class OutputFiles:
    """Heat's convention for values a config hands back: one file an output, all with the same prefix."""

    def __init__(self, job: Job, variable: str, default: str) -> None:
        self._directory = job.places.heat(job.environment, variable, default)
        self._names = job.deployment.output_names
        self.prefix = os.path.join(self._directory, job.deployment.id)

    def clear(self) -> None:
        """Make the directory, and remove what an earlier attempt may have left."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        for name in self._names:
            path = self._path(name)
            if os.path.isfile(path):
                os.unlink(path)

    def read(self) -> Dict[str, str]:
        """The declared outputs whose file exists. Raises CannotRun for one that is too large to be signalled."""
        found = {}
        for name in self._names:
            path = self._path(name)
            if not os.path.isfile(path):
                continue
            size = os.path.getsize(path)
            if size > outputs.LIMIT // 2:
                raise CannotRun(
                    "output {} has {} bytes; at most {} can be signalled".format(name, size, outputs.LIMIT // 2), 1
                )
            found[name] = outputs.read_bounded(path)
        return found

    def _path(self, name: str) -> str:
        return "{}.{}".format(self.prefix, name.replace("/", "_"))


def with_declared(job: Job, code: int, files: OutputFiles) -> Finished:
    """The outputs of a run with the declared ones from their files."""
    try:
        declared = files.read()
    except CannotRun as exc:
        return Finished(outputs.standard(job.stdout, job.stderr, code or exc.code, {}), str(exc))
    return Finished(outputs.standard(job.stdout, job.stderr, code, declared), failure(job, code))


def write_private(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file nobody else can read, also not for a moment."""
    if os.path.lexists(path):
        os.unlink(path)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as target:
        os.fchmod(target.fileno(), mode)
        target.write(data)
