"""The service ``cfn-hup``, which AWS's package brings along and templates of AWS's users start: here cfn-init makes its
unit where systemd is and nobody has made one."""

import os
import shutil

from calor.cfntools.sections import init_systems

NAME = "cfn-hup"
UNIT = "/etc/systemd/system/cfn-hup.service"
ELSEWHERE = (
    "/usr/lib/systemd/system/cfn-hup.service",
    "/lib/systemd/system/cfn-hup.service",
    "/usr/local/lib/systemd/system/cfn-hup.service",
    "/run/systemd/system/cfn-hup.service",
    "/etc/init.d/cfn-hup",
)
PLACES = "/usr/bin:/usr/local/bin:/opt/aws/bin"
TEXT = """\
[Unit]
Description=cfn-hup: runs the actions of /etc/cfn/hooks.d when the resources of a stack change
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={program} --daemon
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
"""


def provide() -> bool:
    """Whether the unit was made; not where there is no systemd, no cfn-hup, or a unit or script of that name."""
    program = shutil.which(NAME, path=PLACES)
    if shutil.which("systemctl") is None or program is None or any(map(os.path.lexists, (UNIT, *ELSEWHERE))):
        return False
    os.makedirs(os.path.dirname(UNIT), exist_ok=True)
    with open(UNIT, "w", encoding="ascii") as unit:
        unit.write(TEXT.format(program=program))
    init_systems.read_units_again()
    return True
