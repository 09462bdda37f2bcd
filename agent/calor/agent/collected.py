"""The sources of an instance made for os-collect-config, taken together as that takes them.

Each source's metadata lies below ``/var/lib/os-collect-config`` under its name, with a list of these files, for
templates that read them. The key ``os-collect-config`` of the metadata configures the sources anew: by it a server
moves an instance from one transport to another.
"""

import json
import logging
import os
from typing import Any, Dict, List, Optional

from calor.agent import ini, metadata_files, polled
from calor.agent.collecting import Collection, Collector
from calor.agent.collectors import EC2_URL, LOCAL_DATA, Ec2, HeatLocal, Local, documents
from calor.agent.deployments import Deployment, parse_all
from calor.agent.identity import NotEnrolled, Refused
from calor.agent.places import Places
from calor.cfntools import durable, httpclient, tls

log = logging.getLogger("calor.agent.collected")

BOOT_METADATA = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")
CONFIGURATION = "/etc/os-collect-config.conf"
HINT = "/var/lib/heat-cfntools/cfn-metadata-server"
CACHE = "/var/lib/os-collect-config"
KEY = "os-collect-config"
ORDER = ("heat_local", "ec2", "cfn", "heat", "request", "local", "zaqar")
ON_THIS_MACHINE = ("heat_local", "local", "ec2")
LONGEST_PAUSE = 86400.0
Sections = Dict[str, Dict[str, Any]]


def configuration(places: Places) -> Sections:
    """The configuration file, and over it what the metadata said last: at boot, or since."""
    found: Sections = {}
    path = places.under(CONFIGURATION)
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as source:
            found = ini.read(source.read())
    for path in BOOT_METADATA:
        told = durable.read_map(places.under(path)).get(KEY)
        if isinstance(told, dict):
            found = changed(found, told)
            break
    found = changed(found, durable.read_map(_told(places)))
    cfn = found.get("cfn") or {}
    hint = places.under(str(cfn.get("heat_metadata_hint") or HINT))
    if cfn and not cfn.get("metadata_url") and os.path.exists(hint):
        with open(hint, encoding="utf-8", errors="replace") as source:
            cfn["metadata_url"] = source.read().strip()
    return found


def changed(sections: Sections, told: Dict[str, Any]) -> Sections:
    """The sections with what the metadata says of them: a key that is null there is taken away. What is no section is
    an option of DEFAULT."""
    found = {name: dict(section) for name, section in sections.items()}
    for name, section in told.items():
        into = found.setdefault(str(name) if isinstance(section, dict) else "DEFAULT", {})
        into.update(section if isinstance(section, dict) else {str(name): section})
        for key in [key for key, value in into.items() if value is None]:
            del into[key]
    return found


def _told(places: Places) -> str:
    return os.path.join(places.state, "os-collect-config.json")


class Collected(Collector):
    """All sources that are configured, in order. A source that does not answer keeps what it gave last."""

    name = "collected"

    def __init__(self, places: Places, trust: tls.Trust) -> None:
        self._places, self._trust = places, trust
        durable.make_directory(places.state)
        self._sections = configuration(places)
        self.longest_pause = self._pause()
        self._sources: List[polled.Polled] = self._made()
        self._known: Dict[str, Dict[str, Any]] = {}
        self._last = ""

    @property
    def has_sources(self) -> bool:
        return bool(self._sources)

    @property
    def has_remote_sources(self) -> bool:
        return any(one.name not in ON_THIS_MACHINE for one in self._sources)

    def _pause(self) -> Optional[float]:
        """``polling_interval``; what is none counts as not given."""
        given = (self._sections.get("DEFAULT") or {}).get("polling_interval")
        try:
            seconds = float(str(given))
        except ValueError:
            return None
        return seconds if 0 < seconds <= LONGEST_PAUSE else None

    @property
    def source_names(self) -> List[str]:
        return [one.name for one in self._sources]

    def collect(self) -> Optional[Collection]:
        failures: Dict[str, str] = {}
        for source in list(self._sources):
            try:
                self._known[source.name] = source.metadata()
            except (httpclient.TransportError, Refused, NotEnrolled) as exc:
                failures[source.name] = "{}: {}".format(source.name, exc)
        remote = [one.name for one in self._sources if one.name not in ON_THIS_MACHINE]
        if failures and all(name in failures for name in remote) and not self._found_deployments():
            raise httpclient.TransportError("; ".join(failures.values()))
        text = json.dumps(self._known, sort_keys=True)
        if text == self._last:
            return None
        self._last = text
        self._keep()
        if self._reconfigured():
            return self.collect()
        return Collection(self._found_deployments(), [])

    def _found_deployments(self) -> List[Deployment]:
        """Of all sources, each config once. What the file of the boot says is old where another source has answered."""
        answered = [name for name in self.source_names if self._listed(name) is not None]
        if len(answered) > 1 and "heat_local" in answered:
            answered.remove("heat_local")
        found: Dict[str, Deployment] = {}
        for name in answered:
            for deployment in parse_all(self._listed(name)):
                found.setdefault(deployment.id, deployment)
        return list(found.values())

    def _listed(self, name: str) -> Optional[List[Any]]:
        """The deployments that a source gives, below each ``deployment_key``; None if it says nothing of any."""
        default, own = self._sections.get("DEFAULT") or {}, self._sections.get(name) or {}
        keys = _words(own.get("deployment_key") or default.get("deployment_key") or "deployments")
        lists = [self._known.get(name, {}).get(key) for key in keys]
        found = [one for one in lists if isinstance(one, list)]
        return [one for some in found for one in some] if found else None

    def _keep(self) -> None:
        """Each source's metadata as a whole, and after it those of its deployments that are data and nothing else."""
        directory = self._places.under(CACHE)
        os.makedirs(directory, 0o700, exist_ok=True)
        paths, taken = [], {*ORDER, "os_config_files"}
        for name in self.source_names:
            if name in self._known:
                found = parse_all(self._listed(name))
                for file, content in [(name + ".json", self._known[name]), *metadata_files.data_of(found, taken)]:
                    paths.append(os.path.join(directory, file))
                    durable.write(paths[-1], documents(content).encode("utf-8"))
        durable.write_json(os.path.join(directory, "os_config_files.json"), paths)

    def _reconfigured(self) -> bool:
        """By what a source says now: what cloud-init left says what was so at boot."""
        now = [name for name in self.source_names if name in self._known and name != "heat_local"]
        told = metadata_files.merged(self._known[name] for name in now).get(KEY)
        if not isinstance(told, dict):
            return False
        sections = changed(self._sections, told)
        if sections == self._sections:
            return False
        log.info("the metadata configures the sources anew")
        durable.write_json(_told(self._places), metadata_files.merged([durable.read_map(_told(self._places)), told]))
        before, self._sections = self.source_names, sections
        self.longest_pause = self._pause()
        self._sources = self._made()
        self._known = {name: one for name, one in self._known.items() if name in self.source_names}
        return before != self.source_names

    def _made(self) -> List[polled.Polled]:
        default = self._sections.get("DEFAULT") or {}
        wanted = default.get("collectors") or list(ORDER)
        order = _words(wanted)
        known = {one.name: one for one in polled.from_configuration(self._sections, self._trust, self._places.state)}
        known.update({one.name: one for one in self._on_this_machine()})
        if "heat_local" not in order:
            order = ["heat_local", *order]  # what cloud-init left is read whatever the order says
        return [known[name] for name in order if name in known]

    def _on_this_machine(self) -> List[polled.Polled]:
        found: List[polled.Polled] = []
        paths = _paths(self._sections, "heat_local", BOOT_METADATA)
        if any(os.path.exists(self._places.under(path)) for path in paths):
            found.append(HeatLocal([self._places.under(path) for path in paths]))
        directories = [self._places.under(path) for path in _paths(self._sections, "local", (LOCAL_DATA,))]
        if any(os.path.isdir(path) for path in directories):
            found.append(Local(directories))
        if "ec2" in str((self._sections.get("DEFAULT") or {}).get("collectors") or ""):
            found.append(Ec2(self._places, str((self._sections.get("ec2") or {}).get("metadata_url") or EC2_URL)))
        return found


def _words(value: Any) -> List[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value).replace(",", " ").split()


def _paths(sections: Sections, name: str, default: Any) -> List[str]:
    found = (sections.get(name) or {}).get("path") or list(default)
    return found if isinstance(found, list) else [one.strip() for one in str(found).split("\n") if one.strip()]
