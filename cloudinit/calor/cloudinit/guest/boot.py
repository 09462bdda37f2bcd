"""Installs Calor's agent in an instance and starts it, now and at each later boot; and the CloudFormation tools.

boot.py install          the identity (JSON) on stdin: write /etc/calor/agent.json, start the agent for good
boot.py install-tools    the same identity, but only the cfn-* tools that this image lacks; no agent is started
boot.py start            become the agent: the baked one, else the one fetched from the server, checked by hash
boot.py tool NAME ...    become that tool of the same agent, or `calor-agent ...`
"""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

IDENTITY = "/etc/calor/agent.json"
STATE = "/var/lib/calor"
PER_BOOT = "/var/lib/cloud/scripts/per-boot/calor-agent"
LOG = "/var/log/calor-agent.log"
UNIT = "calor-agent.service"
UNIT_DIRECTORIES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
SEARCH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
AGENT = "calor-agent"
TOOLS = ("cfn-init", "cfn-signal", "cfn-hup", "cfn-get-metadata", "cfn-create-aws-symlinks")
TOOL_DIRECTORIES = ("/usr/bin", "/usr/local/bin", "/opt/aws/bin")
TOOL_TEXT = '#!/bin/sh\nexec %s -I -S %s tool %s "$@"\n'
TOOL_PATIENCE = 600
PAUSES = (0.2, 0.5, 1, 2, 5, 10, 20, 30)
WANTED = "/etc/systemd/system/multi-user.target.wants/calor-agent.service"
UNIT_TEXT = """[Unit]
Description=Calor agent
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={python} -I -S {boot} start
Restart=always
RestartSec=5
KillMode=process

[Install]
WantedBy=multi-user.target
"""


def main(arguments):
    # type: (list[str]) -> int
    if arguments == ["install"]:
        return install(json.loads(sys.stdin.read()))
    if arguments == ["install-tools"]:
        return install_tools(json.loads(sys.stdin.read()))
    if arguments == ["start"]:
        return start(json.loads(read(IDENTITY)))
    if arguments[:1] == ["tool"] and arguments[1:2]:
        return tool(arguments[1], arguments[2:])
    sys.stderr.write("usage: boot.py install | install-tools | start | tool NAME ...\n")
    return 2


# --- install ---------------------------------------------------------------------------------------------


def install(identity):
    # type: (dict[str, object]) -> int
    other = None if identity.get("beside_other_agents") else other_agent()
    if other:
        say("os-collect-config is installed (%s): it stays the agent of this instance" % other)
        return 0
    forget_earlier_instance(identity)
    write(IDENTITY, json.dumps(identity, sort_keys=True) + "\n", 0o600)
    add_tools()
    add_agent_command()
    if os.path.isdir("/run/systemd/system"):
        start_by_systemd()
    else:
        start_without_init()
    return 0


def install_tools(identity):
    # type: (dict[str, object]) -> int
    """An image that has another's tools, and all of them, needs no identity for them."""
    if baked_agent() or not all(map(found_tool, TOOLS)):
        forget_earlier_instance(identity)
        write(IDENTITY, json.dumps(identity, sort_keys=True) + "\n", 0o600)
    add_tools()
    return 0


def found_tool(name):
    # type: (str) -> str | None
    return shutil.which(name, path=SEARCH)


def add_tools():
    # type: () -> None
    """Every tool under the names that templates use; what is there stays. What is fetched is fetched when a tool is
    first called."""
    for name in TOOLS:
        path = found_tool(name)
        try:
            link_tool(name, path or write_tool(name))
        except OSError as error:
            say("%s is not installed: %s" % (name, error))


def add_agent_command():
    # type: () -> None
    """For people: ``calor-agent status`` of an agent that is fetched."""
    if baked_agent():
        return
    try:
        write_tool(AGENT)
    except OSError as error:
        say("%s is not installed as a command: %s" % (AGENT, error))


def baked_agent():
    # type: () -> str | None
    """The agent's program in this image; not the command of `add_agent_command`, which only leads here again."""
    for directory in SEARCH.split(":"):
        path = shutil.which(AGENT, path=directory) if directory else None
        if path and (" tool %s " % AGENT).encode() not in read_bytes(path):
            return path
    return None


def write_tool(name):
    # type: (str) -> str
    """Where it lies now: in the first directory that can be written (/usr may be read-only)."""
    text = TOOL_TEXT % (sys.executable, os.path.abspath(__file__), name)
    for directory in TOOL_DIRECTORIES[:-1]:
        path = os.path.join(directory, name)
        try:
            write(path, text, 0o755)
        except OSError:
            continue
        return path
    path = os.path.join(TOOL_DIRECTORIES[-1], name)
    write(path, text, 0o755)
    return path


def link_tool(name, path):
    # type: (str, str) -> None
    for directory in (TOOL_DIRECTORIES[-1], TOOL_DIRECTORIES[0]):
        link = os.path.join(directory, name)
        if os.path.lexists(link):
            continue
        try:
            os.makedirs(directory, exist_ok=True)
            os.symlink(path, link)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise


def other_agent():
    # type: () -> str | None
    """Where os-collect-config is, or None. Its own unit or script starts it."""
    found = shutil.which("os-collect-config", path=SEARCH)
    places = [os.path.join(directory, "os-collect-config.service") for directory in UNIT_DIRECTORIES]
    places.append("/opt/stack/venvs/os-collect-config")
    return found or next((place for place in places if os.path.exists(place)), None)


def forget_earlier_instance(identity):
    # type: (dict[str, object]) -> None
    """An image made of a server brings that server's identity along: none of it is ours."""
    if not os.path.exists(IDENTITY) or json.loads(read(IDENTITY)).get("instance_id") == identity["instance_id"]:
        return
    for name in ("secret", "runs", "outbox"):
        path = os.path.join(STATE, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)


def start_by_systemd():
    # type: () -> None
    """A baked unit is used as it is. The job is queued: a boot script must not wait for it."""
    if not any(os.path.exists(os.path.join(directory, UNIT)) for directory in UNIT_DIRECTORIES):
        text = UNIT_TEXT.format(python=sys.executable, boot=os.path.abspath(__file__))
        write(os.path.join(UNIT_DIRECTORIES[0], UNIT), text, 0o644)
        subprocess.check_call(["systemctl", "daemon-reload"])
    if not os.path.islink(WANTED):  # where it is baked, this would cost seconds
        subprocess.check_call(["systemctl", "enable", UNIT])
    subprocess.check_call(["systemctl", "--no-block", "restart", UNIT])


def start_without_init():
    # type: () -> None
    """Detached from cloud-init, which waits for whoever holds its pipes."""
    script = "#!/bin/sh\numask 077\nexec >>%s 2>&1 </dev/null\nsetsid %s -I -S %s start &\n"
    write(PER_BOOT, script % (LOG, sys.executable, os.path.abspath(__file__)), 0o700)
    subprocess.check_call([PER_BOOT])


# --- start -----------------------------------------------------------------------------------------------


def start(identity):
    # type: (dict[str, object]) -> int
    """Does not return: this process becomes the agent."""
    command = [*agent_command(identity, None), "run"]
    os.execv(command[0], command)
    return 1


def tool(name, words):
    # type: (str, list[str]) -> int
    """Does not return where it goes well: this process becomes the tool."""
    try:
        command = agent_command(json.loads(read(IDENTITY)), TOOL_PATIENCE)
        command += words if name == AGENT else [name, *words]
        os.execv(command[0], command)
    except (OSError, ValueError) as error:
        sys.stderr.write("%s: the agent that it is a part of cannot be had: %s\n" % (name, error))
    return 1


def agent_command(identity, patience):
    # type: (dict[str, object], float | None) -> list[str]
    baked = baked_agent()
    return [baked] if baked else [sys.executable, "-I", "-S", fetched(identity, patience)]


def fetched(identity, patience=None):
    # type: (dict[str, object], float | None) -> str
    """The path of the agent's file. Tries until it has it: the network or the server may come later. With
    ``patience`` (seconds) it raises the last OSError or ValueError after that."""
    digest = str(identity["agent_sha256"])
    path = os.path.join(STATE, "agent-%s.pyz" % digest)
    if os.path.exists(path) and hashlib.sha256(read_bytes(path)).hexdigest() == digest:
        return path
    url = str(identity["server"]).rstrip("/") + str(identity["agent_url"])
    begun = time.monotonic()
    attempt = 0
    while True:
        try:
            content = download(url, identity.get("ca_certificate"), digest)
        except (OSError, ValueError) as error:
            if patience is not None and time.monotonic() - begun > patience:
                raise
            if attempt % 8 == 0:
                say("the agent cannot be fetched from %s: %s%s; trying again" % (url, error, clock(error)))
            time.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
            attempt += 1
        else:
            write(path, content, 0o600)
            return path


def download(url, ca_certificate, digest):
    # type: (str, object, str) -> bytes
    """Raises OSError, and ValueError where the file is another than the identity names."""
    import http.client  # a baked agent fetches nothing, and starts the sooner without these
    import ssl
    import urllib.error
    import urllib.request

    authority = str(ca_certificate or "")
    if "-----BEGIN" in authority:
        context = ssl.create_default_context(cadata=authority)
    else:
        context = ssl.create_default_context(cafile=authority or None)
    try:
        with urllib.request.urlopen(url, timeout=10, context=context) as answer:
            content = bytes(answer.read())
    except urllib.error.HTTPError as error:
        error.close()
        raise
    except http.client.HTTPException as error:
        raise OSError("the answer broke off: %r" % error) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError("the file has another SHA-256 than %s" % digest)
    return content


# --- files -----------------------------------------------------------------------------------------------


def read(path):
    # type: (str) -> str
    return read_bytes(path).decode("utf-8")


def read_bytes(path):
    # type: (str) -> bytes
    with open(path, "rb") as file:
        return file.read()


def write(path, content, mode):
    # type: (str, str | bytes, int) -> None
    """All or nothing, also over a power cut; never readable by others for a moment."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    half = "%s.%d.new" % (path, os.getpid())  # the agent and a tool may fetch at the same moment
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    os.chmod(half, mode)
    os.rename(half, path)


def clock(error):
    # type: (Exception) -> str
    """What the clock says where that may be why a certificate is refused."""
    if "not yet valid" not in str(error) and "has expired" not in str(error):
        return ""
    return time.strftime(" (the clock of this machine says %Y-%m-%dT%H:%M:%SZ)", time.gmtime())


def say(line):
    # type: (str) -> None
    """To the log of whoever started this, and to the console, where a user without a login can read it."""
    sys.stdout.write("calor: %s\n" % line)
    sys.stdout.flush()
    try:
        console = os.open("/dev/console", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return  # an instance without a console
    try:
        os.write(console, ("calor: %s\n" % line).encode("utf-8"))
    except OSError as error:
        sys.stdout.write("calor: the console takes nothing: %s\n" % error)
    os.close(console)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
