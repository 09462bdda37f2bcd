"""What a bootable image carries beside its packages: settings of cloud-init, boot and network."""

from collections.abc import Mapping, Sequence

PACKAGES = (
    "ca-certificates", "cloud-guest-utils", "cloud-init", "curl", "dbus", "e2fsprogs", "fdisk", "initramfs-tools",
    "iproute2", "iputils-ping", "isc-dhcp-client", "kmod", "less", "libpam-systemd", "linux-image-cloud-amd64",
    "netbase", "openssh-server", "procps", "python3", "python3-yaml", "sudo", "systemd-resolved", "systemd-sysv",
    "udev", "vim-tiny", "zstd",
)  # fmt: skip
ANSIBLE = ("ansible-core",)

_CLOUD_INIT = """\
# Written by calor image build.
datasource_list: [OpenStack, ConfigDrive, NoCloud, Ec2, None]
datasource:
  OpenStack: {max_wait: 120, timeout: 20, retries: 5}
  Ec2: {max_wait: 60, timeout: 20, strict_id: false}
locale: C.UTF-8
apt: {preserve_sources_list: true}
ssh_genkeytypes: [ed25519, ecdsa]
"""

_ONLINE = """\
# One network is enough to go on.
[Service]
ExecStart=
ExecStart=/lib/systemd/systemd-networkd-wait-online --any --timeout=60
"""

_PATIENCE = """\
# Devices and services have 90 s elsewhere; software emulation beside other load takes more.
[Manager]
DefaultTimeoutStartSec=300s
"""

FILES: Mapping[str, str] = {
    "etc/cloud/cloud.cfg.d/90_calor.cfg": _CLOUD_INIT,
    "etc/systemd/system.conf.d/calor.conf": _PATIENCE,
    "etc/hostname": "debian\n",
    "etc/systemd/system/systemd-networkd-wait-online.service.d/calor.conf": _ONLINE,
    "etc/initramfs-tools/conf.d/calor": "MODULES=most\nCOMPRESS=zstd\n",
}

DPKG_OPTIONS = (
    "path-exclude=/usr/share/man/*", "path-exclude=/usr/share/info/*", "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright",
)  # fmt: skip

# Timers that take dpkg's lock minutes after the boot make deployments fail that install packages.
_MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "dpkg-db-backup.timer",
)

CUSTOMIZE = rf"""#!/bin/sh
# Runs outside, on the finished tree ($1).
set -e
root=$1
chroot "$root" systemctl --quiet enable systemd-networkd.service systemd-resolved.service serial-getty@ttyS0.service
chroot "$root" systemctl --quiet mask {" ".join(_MASKED)}
ln -sf /run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
rm -f "$root"/etc/ssh/ssh_host_* "$root"/var/lib/systemd/random-seed "$root"/var/lib/dbus/machine-id
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/var/log/*.log "$root"/var/log/apt
: > "$root/etc/machine-id"
"""


def packages(extra: Sequence[str], *, ansible: bool) -> list[str]:
    return sorted({*PACKAGES, *(ANSIBLE if ansible else ()), *extra})
