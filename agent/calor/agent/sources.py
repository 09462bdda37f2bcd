"""Which sources this instance has been given: the native one, and those of os-collect-config's configuration."""

import logging
import os
import time
from typing import Any, Dict, List, Optional

from calor.agent import durable
from calor.agent.collecting import Collector
from calor.agent.native import Link, Native
from calor.agent.places import Places
from calor.agent.settings import Settings

log = logging.getLogger("calor.agent.sources")

BOOT_METADATA = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")
CONFIGURATION = "/etc/os-collect-config.conf"


def configured(settings: Settings, places: Places, link: Optional[Link]) -> List[Collector]:
    """The native source alone where there is one: the same deployments come by the others too."""
    if link is not None:
        return [Native(settings, link)]
    from calor.agent import polled  # a native guest does not pay for signatures and XML

    found = polled.from_configuration(_sections(places), settings.trust)
    for path in BOOT_METADATA:
        if not found and durable.read_map(places.under(path)).get("deployments"):
            found.append(polled.LocalFile(places.under(path)))
    return found


def wait_for_configuration(places: Places) -> None:
    """An agent of the image starts before cloud-init has written what it is to do: wait for that."""
    paths = [places.config, places.under(CONFIGURATION), *(places.under(path) for path in BOOT_METADATA)]
    if not any(os.path.exists(path) for path in paths):
        log.info("waiting for a configuration: %s", ", ".join(paths))
    while not any(os.path.exists(path) for path in paths):
        time.sleep(1.0)


def _sections(places: Places) -> Dict[str, Dict[str, Any]]:
    """The configuration file, else the ``os-collect-config`` key of the metadata left at boot."""
    import configparser  # only where a file is there is its memory spent

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    if parser.read(places.under(CONFIGURATION), encoding="utf-8"):
        return {name: dict(parser[name]) for name in parser.sections()}
    for path in BOOT_METADATA:
        found = durable.read_map(places.under(path)).get("os-collect-config")
        if isinstance(found, dict):
            return {str(name): part for name, part in found.items() if isinstance(part, dict)}
    return {}
