"""What a hook is: it says which command applies a config, and what came out of it."""

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from calor.agent import metadata_files, outputs, resuming, steps
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
    as standard input. What stands in ``before`` is run first, one after the other; the first that fails is the end.
    """

    argv: List[str]
    environment: Dict[str, str]
    directory: str = "/"
    stdin: Optional[str] = None
    before: Tuple[List[str], ...] = ()


class Finished(NamedTuple):
    """Outputs to signal (with ``deploy_status_code``) and one line on why it failed, "" if it did not."""

    outputs: Dict[str, Any]
    reason: str


class Hook:
    """A hook built in. ``prepare`` may write files and may be called again after a failed attempt."""

    group = ""
    leaves_something = False
    """Whether a deployment goes on working after its run (a container), so that it is to be withdrawn when the server
    no longer names it."""

    def prepare(self, job: Job) -> Optional[Command]:
        """The command to run; None if there is nothing to do. Raises CannotRun."""
        raise NotImplementedError

    def finish(self, job: Job, code: int) -> Finished:
        """Called once the command has ended with this exit code (128 + n if signal n killed it)."""
        return Finished(outputs.standard(job.stdout, job.stderr, code, {}), failure(job, code))

    def withdraw(self, job: Job, is_replaced: bool) -> None:
        """End what a deployment that is no longer wanted has left at work; ``is_replaced`` if a newer config of the
        same deployment is there to take over. Raises CannotRun or OSError."""


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


def attempt_environment(job: Job) -> Dict[str, str]:
    """What the agent tells every program of an attempt; it also marks the processes (``processes``). The files are for
    os-apply-config, which hooks and scripts call: with it os-collect-config's command gets them."""
    files = metadata_files.paths(job.places)
    return {
        steps.VARIABLE: steps.path(job.directory),
        resuming.VARIABLE: resuming.path(job.directory),
        resuming.COUNT: str(resuming.count(job.directory)),
        **({"OS_CONFIG_FILES": ":".join(files)} if files else {}),
    }


def which(name: str, environment: Mapping[str, str]) -> Optional[str]:
    """The path of a program as a hook's environment finds it."""
    folders = [""] if "/" in name else environment.get("PATH", PATH).split(os.pathsep)
    for path in (os.path.join(folder, name) for folder in folders):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def find_tool(environment: Mapping[str, str], names: Sequence[str], packages: str) -> str:
    """The path of the first of these programs that is there. Raises CannotRun, which says what brings it (F055)."""
    for name in names:
        found = which(name, environment)
        if found:
            return found
    said = "{} not found".format(" or ".join(names))
    raise CannotRun("{}; it comes with {}".format(said, packages) if packages else said)


def is_true(value: Any) -> bool:
    """An option that is a flag: templates write them as booleans and as text."""
    return str(value).strip().lower() in ("true", "yes", "1", "on")


def number(job: Job, option: str, default: float) -> float:
    """A numeric option. Raises CannotRun for what is none."""
    value = job.deployment.options.get(option)
    if value in (None, ""):
        return default
    try:
        return float(str(value))
    except ValueError:
        raise CannotRun(
            "option {} of group {} is no number: {!r}".format(option, job.deployment.group, value), 1
        ) from None


def as_document(job: Job, what: str) -> Dict[str, Any]:
    """A config that must be a map, given as one or as its JSON text; {} for an empty one. Raises CannotRun."""
    config = job.config
    if isinstance(config, str) and config.strip():
        try:
            config = json.loads(config)
        except ValueError as exc:
            raise CannotRun("the config of group {} is not JSON: {}".format(what, exc), 1) from exc
    if not config:
        return {}
    if not isinstance(config, dict):
        raise CannotRun("the config of group {} must be a map".format(what), 1)
    return config


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
            _check_size(name, os.path.getsize(path))
            found[name] = outputs.read_bounded(path)
        return found

    def _path(self, name: str) -> str:
        return "{}.{}".format(self.prefix, name.replace("/", "_"))


def _check_size(name: str, size: int) -> None:
    if size > outputs.LIMIT // 2:
        raise CannotRun("output {} has {} bytes; at most {} can be signalled".format(name, size, outputs.LIMIT // 2), 1)


def with_declared(job: Job, code: int, files: OutputFiles, told: Optional[Dict[str, Any]] = None) -> Finished:
    """The outputs of a run with the declared ones: from their files, else from what the tool ``told``."""
    try:
        declared: Dict[str, Any] = {}
        for name, value in (told or {}).items():
            if name in job.deployment.output_names and value is not None:
                _check_size(name, outputs.size_of(value))
                declared[name] = value
        declared.update(files.read())
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
