"""The machine's init system, as far as services need it: systemd or OpenRC where one of them runs, else the scripts of
System V."""

import glob
import os
import shutil
from typing import List

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import SectionFailed

BOOTED = "/run/systemd/system"
"""There exactly where systemd is the init process (sd_booted(3)); its tools may be installed elsewhere too."""
OPENRC = "/run/openrc/softlevel"
"""There exactly where OpenRC has booted the machine; where it has not, it refuses to start anything."""
SCRIPTS = "/etc/init.d"
RUN_LEVELS = "/etc/rc[2345].d"
OPENRC_LEVELS = "/etc/runlevels/*"


def runs_systemd() -> bool:
    return os.path.isdir(BOOTED) and shutil.which("systemctl") is not None


def is_running(name: str) -> bool:
    return programs.status(_verb(name, "status"), quiet=True) == 0


def do(verb: str, name: str) -> None:
    """``start``, ``stop`` or ``restart``."""
    programs.run(_verb(name, verb))


def read_units_again() -> None:
    """Where unit files may have changed systemd must look."""
    if runs_systemd():
        programs.run(["systemctl", "daemon-reload"])


def is_enabled(name: str) -> bool:
    if _is_unit(name):
        return programs.status(["systemctl", "is-enabled", "--quiet", name], quiet=True) == 0
    if shutil.which("chkconfig"):
        return programs.status(["chkconfig", name], quiet=True) == 0
    if shutil.which("rc-update"):
        return bool(_levels(name))
    return bool(_links(name, "S"))


def enable(name: str, wanted: bool) -> None:
    for argv in _enabling(name, wanted):
        programs.run(argv)


def _verb(name: str, verb: str) -> List[str]:
    if runs_systemd():
        return ["systemctl", "is-active" if verb == "status" else verb, name]
    if os.path.exists(OPENRC) and shutil.which("rc-service"):
        return ["rc-service", name, verb]
    script = os.path.join(SCRIPTS, name)
    if shutil.which("service"):
        return ["service", name, verb]
    if os.access(script, os.X_OK):
        return [script, verb]
    raise SectionFailed("services: {}: neither systemd nor OpenRC runs here, nor is there {}".format(name, script))


def _enabling(name: str, wanted: bool) -> List[List[str]]:
    if _is_unit(name):
        return [["systemctl", "enable" if wanted else "disable", name]]
    if shutil.which("chkconfig"):
        return [["chkconfig", name, "on" if wanted else "off"]]
    if shutil.which("rc-update"):
        return [["rc-update", "add", name, "default"]] if wanted else [["rc-update", "del", name, *_levels(name)]]
    if shutil.which("update-rc.d"):
        made = [] if _links(name, "[SK]") else [["update-rc.d", name, "defaults"]]
        return [*made, ["update-rc.d", name, "enable" if wanted else "disable"]]
    raise SectionFailed("services: {}: no systemctl, chkconfig, rc-update or update-rc.d here".format(name))


def _is_unit(name: str) -> bool:
    """Enabling is systemd's where it runs, and where it does not yet (an image) unless there is only a script."""
    if runs_systemd():
        return True
    return shutil.which("systemctl") is not None and not os.path.exists(os.path.join(SCRIPTS, name))


def _links(name: str, kind: str) -> List[str]:
    return glob.glob("{}/{}[0-9][0-9]{}".format(RUN_LEVELS, kind, glob.escape(name)))


def _levels(name: str) -> List[str]:
    """OpenRC's run levels that start it."""
    return [os.path.basename(os.path.dirname(link)) for link in glob.glob(OPENRC_LEVELS + "/" + glob.escape(name))]
