"""Sources on this machine, as os-collect-config knows them: files that were left here, and EC2's metadata."""

import json
import os
import stat
import subprocess
import time
from typing import Any, Dict, List, Optional

from calor.agent.identity import Refused
from calor.agent.places import Places
from calor.agent.polled import Polled
from calor.cfntools import durable, httpclient

LOCAL_DATA = "/var/lib/os-collect-config/local-data"
EC2_URL = "http://169.254.169.254/latest/meta-data"
EC2_TIME = 10.0
EC2_PAUSE = 300.0
ON_DRIVE = "ec2/latest/meta-data.json"
DEPTH = 6


class HeatLocal(Polled):
    """The metadata that cloud-init left on disk at boot: the first of the files that is there."""

    name = "heat_local"

    def __init__(self, paths: List[str]) -> None:
        super(HeatLocal, self).__init__()
        self._paths = paths

    def metadata(self) -> Dict[str, Any]:
        for path in self._paths:
            found = durable.read_map(path)
            if found:
                return found
        return {}


class Local(Polled):
    """JSON files that somebody puts into a directory, by the names' order, later ones on top. What others than this
    user could have written is refused."""

    name = "local"

    def __init__(self, directories: List[str]) -> None:
        super(Local, self).__init__()
        self._directories = directories

    def metadata(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        for directory in self._directories:
            for name in sorted(os.listdir(directory)) if os.path.isdir(directory) and _is_safe(directory) else []:
                path = os.path.join(directory, name)
                if os.path.isfile(path) and _is_safe(path):
                    _lay_over(found, durable.read_map(path))
        return found


def _is_safe(path: str) -> bool:
    known = os.stat(path)
    return known.st_uid == os.getuid() and not known.st_mode & stat.S_IWOTH


def _lay_over(found: Dict[str, Any], more: Dict[str, Any]) -> None:
    """Deployments of several files are all meant; of anything else the later one counts."""
    earlier = found.get("deployments")
    found.update(more)
    if isinstance(earlier, list) and isinstance(more.get("deployments"), list):
        found["deployments"] = earlier + more["deployments"]


class Ec2(Polled):
    """The instance's EC2 metadata, once a boot: from the config drive, else from the metadata service. One that does
    not answer is left alone for a while: the other sources do not wait for it each time."""

    name = "ec2"

    def __init__(self, places: Places, url: str) -> None:
        super(Ec2, self).__init__()
        self._places = places
        self._url = url.rstrip("/")
        self._known: Dict[str, Any] = {}
        self._failed: Optional[Exception] = None
        self._not_before = 0.0

    def metadata(self) -> Dict[str, Any]:
        if self._failed is not None and time.monotonic() < self._not_before:
            raise self._failed
        if not self._known:
            try:
                self._known = self._on_drive() or self._walk(self._url + "/", DEPTH)
            except (httpclient.TransportError, Refused) as exc:
                self._failed, self._not_before = exc, time.monotonic() + EC2_PAUSE
                raise
        return self._known

    def _on_drive(self) -> Dict[str, Any]:
        """As cloud-init left it mounted, or mounted here for a moment."""
        found = durable.read_map(self._places.under("/mnt/config/" + ON_DRIVE))
        device = self._places.under("/dev/disk/by-label/config-2")
        if found or not os.path.exists(device):
            return found
        folder = os.path.join(self._places.state, "config-drive")
        durable.make_directory(folder)
        if not _succeeds("mount", "-o", "ro", device, folder):
            return {}
        try:
            return durable.read_map(os.path.join(folder, ON_DRIVE))
        finally:
            _succeeds("umount", folder)

    def _walk(self, url: str, depth: int) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        for name in self._get(url).splitlines():
            name = name.partition("=")[0] + "/" if "=" in name else name  # a key, with the name that it was given
            if name.endswith("/") and depth:
                found[name.rstrip("/")] = self._walk(url + name, depth - 1)
            elif name:
                found[name] = self._get(url + name)
        return found

    def _get(self, url: str) -> str:
        answer = httpclient.request("GET", url, None, None, EC2_TIME)
        if not answer.ok:
            raise Refused("EC2 metadata", answer)
        return answer.text()


def _succeeds(*words: str) -> bool:
    try:
        return (
            subprocess.call(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
        )
    except OSError:
        return False


def documents(found: Dict[str, Any]) -> str:
    """Metadata as a cache file holds it."""
    return json.dumps(found, indent=1, sort_keys=True)
