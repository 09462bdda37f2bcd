"""Which sources this instance has been given: the native one, and those of os-collect-config's configuration."""

import logging
import os
import time
from typing import List, Optional

from calor.agent.collecting import Collection, Collector
from calor.agent.native import Link, Native
from calor.agent.places import Places
from calor.agent.settings import Settings
from calor.cfntools import durable, tls

log = logging.getLogger("calor.agent.sources")

BOOT_METADATA = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")
CONFIGURATION = "/etc/os-collect-config.conf"


def configured(settings: Settings, places: Places, link: Optional[Link]) -> List[Collector]:
    """The native source where there is one: the same deployments come by the others too. They stand by for a server
    that is never reached."""
    if link is None:
        collected = _collected(places, settings.trust)
        return [] if collected is None else [collected]
    choice = Choice(places, settings.standby_after)
    return [Chosen(Native(settings, link), choice, places), Standby(choice, places, settings.trust)]


def wait_for_configuration(places: Places) -> None:
    """An agent of the image starts before cloud-init has written what it is to do: wait for that."""
    paths = [places.config, places.under(CONFIGURATION), *(places.under(path) for path in BOOT_METADATA)]
    if not any(os.path.exists(path) for path in paths):
        log.info("waiting for a configuration: %s", ", ".join(paths))
    while not any(os.path.exists(path) for path in paths):
        time.sleep(1.0)


class Choice:
    """Native, or as os-collect-config would: whichever is reached first, for good. Their runs have other names, so that
    a deployment that came by both would be started twice."""

    def __init__(self, places: Places, patience: float) -> None:
        self._path = os.path.join(places.state, "standby")
        self._enrolled = os.path.join(places.state, "enrolled")
        self._begun = time.monotonic()
        self._patience = patience

    @property
    def is_standby(self) -> bool:
        return os.path.exists(self._path)

    @property
    def is_due(self) -> bool:
        """The native server has had its time, and was never reached: not now, and not before a restart."""
        return time.monotonic() - self._begun > self._patience and not os.path.exists(self._enrolled)

    def stand_in(self) -> bool:
        """Whether the others go on. The mark is there before the last look: native enrols before it looks for one."""
        if self.is_standby:
            return True
        durable.create_once(self._path, b"")
        if os.path.exists(self._enrolled):
            durable.remove(self._path)
            return False
        log.warning("the server was never reached; going on by the transport of the metadata")
        return True


class Chosen(Collector):
    """The native source, until another stands in for it."""

    waits = True
    is_native = True

    def __init__(self, native: Native, choice: Choice, places: Places) -> None:
        self.name = native.name
        self._native, self._choice = native, choice

    def collect(self) -> Optional[Collection]:
        self._give_way()
        found = self._native.collect()
        self._give_way()  # it may have taken over in this very moment: then what was found is not begun
        return found

    def _give_way(self) -> None:
        while self._choice.is_standby:
            time.sleep(1.0)


class Standby(Collector):
    """The other sources, looked at only once they stand in: an idle native agent pays nothing for them."""

    name = "collected"
    stands_by = True

    def __init__(self, choice: Choice, places: Places, trust: tls.Trust) -> None:
        self._choice, self._places, self._trust = choice, places, trust
        self._source: Optional[Collector] = None

    def collect(self) -> Optional[Collection]:
        while self._source is None:
            if self._choice.is_standby or self._choice.is_due:
                self._source = _collected(self._places, self._trust, remote=True)
                if self._source is not None and not self._choice.stand_in():
                    self._source = None
            if self._source is None:
                time.sleep(1.0)
        found = self._source.collect()
        self.longest_pause = self._source.longest_pause
        return found


def _collected(places: Places, trust: tls.Trust, remote: bool = False) -> Optional[Collector]:
    """None where there is no source; ``remote``: none in the network."""
    from calor.agent.collected import Collected  # a native guest does not pay for signatures and XML

    found = Collected(places, trust)
    return found if (found.has_remote_sources if remote else found.has_sources) else None
