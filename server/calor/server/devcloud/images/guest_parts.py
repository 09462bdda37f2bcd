"""What every image of ours carries beside its packages: cloud-init's settings and words for what a sandbox refuses."""

from pathlib import Path

PACKAGES = (
    "ansible-core", "ca-certificates", "cloud-init", "curl", "iproute2", "iputils-ping", "openssh-server", "procps",
    "python3", "python3-yaml", "sudo",
)  # fmt: skip

CLOUD_INIT = """\
# Written by calor. The data source is known, the network is ready before the first process starts, and steps that
# need a real disk or boot loader are left out.
datasource_list: [OpenStack]
datasource:
  OpenStack:
    metadata_urls: ["http://169.254.169.254"]
    max_wait: 10
    timeout: 5
    retries: 3
    apply_network_config: false
network: {config: disabled}
preserve_hostname: true
manage_etc_hosts: false
locale: C.UTF-8
apt: {preserve_sources_list: true}
ssh_genkeytypes: [ed25519, ecdsa]
cloud_init_modules: [bootcmd, write-files, ca-certs, users-groups, ssh]
cloud_config_modules: [ssh-import-id, locale, set-passwords, ntp, timezone, runcmd]
cloud_final_modules: [package-update-upgrade-install, write-files-deferred, puppet, chef, salt-minion, scripts-vendor,
  scripts-per-once, scripts-per-boot, scripts-per-instance, scripts-user, ssh-authkey-fingerprints, keys-to-console,
  phone-home, final-message, power-state-change]
ssh: {emit_keys_to_console: false}
"""

_MOUNT = """\
#!/bin/sh
/usr/bin/{name} "$@"
status=$?
[ $status -eq 0 ] || [ $# -eq 0 ] ||
    echo "{name}: this server is a sandbox, where nothing can be mounted; that takes a VM" >&2
exit $status
"""

_POWER = """\
#!/bin/sh
# The first process of a sandbox takes these signals for power-off and reboot.
for word in "$@"; do case "$word" in -r|--reboot) set -- reboot ;; esac; done
case "${{1:-}}" in reboot) signal=INT ;; *) signal={signal} ;; esac
kill -"$signal" 1
"""

_SUDOERS = """\
Defaults env_reset
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root ALL=(ALL:ALL) ALL
%sudo ALL=(ALL:ALL) ALL
@includedir /etc/sudoers.d
"""

SCRIPTS = {
    "bin/mount": _MOUNT.format(name="mount"),
    "bin/umount": _MOUNT.format(name="umount"),
    "sbin/reboot": _POWER.format(signal="INT"),
    "sbin/poweroff": _POWER.format(signal="TERM"),
    "sbin/halt": _POWER.format(signal="TERM"),
    "sbin/shutdown": _POWER.format(signal="TERM"),
}
"""Below /usr/local: before the programs of the same name on every usual PATH."""


def install(etc: Path, local: Path) -> None:
    """Write them: ``etc`` and ``local`` are the image's /etc and /usr/local."""
    settings = etc / "cloud/cloud.cfg.d"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "90_calor.cfg").write_text(CLOUD_INIT)
    for name, text in SCRIPTS.items():
        script = local / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    sudoers = etc / "sudoers"
    if not sudoers.exists():
        sudoers.touch(mode=0o440)
        sudoers.write_text(_SUDOERS)
    for key in (*etc.glob("ssh/ssh_host_*"), etc / "machine-id"):
        key.unlink(missing_ok=True)
