"""Maintainer scripts of the agent's Debian package: what dh_installsystemd and dh_installinit would write."""

_POSTINST = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    if command -v py3compile >/dev/null; then
        py3compile /usr/lib/calor || true
    fi
    if deb-systemd-helper unmask calor-agent.service >/dev/null 2>&1 &&
        deb-systemd-helper --quiet was-enabled calor-agent.service; then
        deb-systemd-helper enable calor-agent.service >/dev/null || true
    else
        deb-systemd-helper update-state calor-agent.service >/dev/null || true
    fi
    if [ -x /etc/init.d/calor-agent ]; then
        update-rc.d calor-agent defaults >/dev/null
    fi
    if [ -d /run/systemd/system ]; then
        systemctl --system daemon-reload >/dev/null || true
        deb-systemd-invoke restart calor-agent.service >/dev/null || true
    elif [ -e /etc/calor/agent.json ]; then
        invoke-rc.d --skip-systemd-native calor-agent restart || true
    fi
fi
"""

_PRERM = """\
#!/bin/sh
set -e
if [ "$1" = remove ]; then
    if [ -d /run/systemd/system ]; then
        deb-systemd-invoke stop calor-agent.service >/dev/null || true
    elif [ -x /etc/init.d/calor-agent ]; then
        invoke-rc.d --skip-systemd-native calor-agent stop || true
    fi
fi
find /usr/lib/calor -depth -name __pycache__ -exec rm -rf {} +
"""

_POSTRM = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper mask calor-agent.service >/dev/null || true
fi
if [ "$1" = purge ]; then
    if command -v deb-systemd-helper >/dev/null; then
        deb-systemd-helper purge calor-agent.service >/dev/null || true
        deb-systemd-helper unmask calor-agent.service >/dev/null || true
    fi
    update-rc.d calor-agent remove >/dev/null
    rm -rf /var/lib/calor /etc/calor
    rm -f /var/log/calor-agent.log
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
"""

SCRIPTS = {"postinst": _POSTINST, "prerm": _PRERM, "postrm": _POSTRM}
