"""A whole config on a real machine: accounts, archives, files, System V services; and a second run is idle."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

INIT_SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: hello
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case "$1" in
start) touch /run/hello; echo start >>/hello.log ;;
stop) rm -f /run/hello; echo stop >>/hello.log ;;
restart) echo restart >>/hello.log ;;
status) [ -e /run/hello ] ;;
esac
"""


def config(content: str = "one") -> dict[str, object]:
    return {
        "groups": {"staff-of-mine": {"gid": "1500"}, "other": {}},
        "users": {"worker": {"uid": 1501, "homeDir": "/srv/worker", "groups": ["staff-of-mine", "other"]}},
        "sources": {"/srv/site": "/root/site.tar.xz"},
        "files": {
            "/srv/site/conf": {"content": content, "owner": "worker", "group": "staff-of-mine", "mode": "000640"},
            "/etc/init.d/hello": {"content": INIT_SCRIPT, "mode": "000755"},
        },
        "commands": {"01": {"command": "id -nG >/ids", "runas": "worker", "test": "[ ! -e /ids ]"}},
        "services": {
            "sysvinit": {"hello": {"enabled": "true", "ensureRunning": "true", "files": ["/srv/site/conf"]}},
        },
    }


def test_f078_a_second_run_changes_nothing_and_says_so(machine):
    machine.sh(
        "mkdir -p /root/site/sub && echo data >/root/site/sub/file && tar -cJf /root/site.tar.xz -C /root/site ."
    )
    machine.sh("chmod 1777 /")
    first = machine.init(config())
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.splitlines()[-6:] == [
        "groups: 2 changed, 0 unchanged",
        "users: 1 changed, 0 unchanged",
        "sources: 1 changed, 0 unchanged",
        "files: 2 changed, 0 unchanged",
        "commands: 1 run, 0 skipped",
        "services: 1 changed, 0 unchanged",
    ]
    assert machine.sh("stat -c '%U %G %a' /srv/site/conf; id -u worker").split() == [
        "worker",
        "staff-of-mine",
        "640",
        "1501",
    ]
    assert set(machine.read("/ids").split()) == {"worker", "staff-of-mine", "other"}
    assert machine.read("/srv/site/sub/file") == "data\n"
    assert machine.sh("ls /etc/rc2.d").count("hello") == 1
    again = machine.init(config())
    assert again.returncode == 0
    assert again.stdout.splitlines() == [
        "groups: 0 changed, 2 unchanged",
        "users: 0 changed, 1 unchanged",
        "sources: 0 changed, 1 unchanged",
        "files: 0 changed, 2 unchanged",
        "commands: 0 run, 1 skipped",
        "services: 0 changed, 1 unchanged",
        "nothing changed",
    ]
    changed = machine.init(config("two"))
    assert "services: 1 changed, 0 unchanged" in changed.stdout
    assert machine.read("/hello.log").split() == ["start", "restart"]
    assert machine.read("/srv/site/conf.bak") == "one"
    assert "files: 1 changed, 1 unchanged" in machine.read("/var/log/cfn-init.log")


def test_services_are_disabled_and_stopped(machine):
    machine.write("/etc/init.d/hello", INIT_SCRIPT, 0o755)
    machine.sh("update-rc.d hello defaults && /etc/init.d/hello start")
    done = machine.init({"services": {"systemd": {"hello": {"enabled": False, "ensureRunning": "false"}}}})
    assert "services: 1 changed, 0 unchanged" in done.stdout
    assert machine.read("/hello.log").split() == ["start", "stop"]
    assert machine.sh("cd /etc/rc2.d; echo *hello").strip().startswith("K")
    unknown = machine.init({"services": {"sysvinit": {"nosuch": {"ensureRunning": True}}}})
    assert unknown.returncode == 1
    assert "nosuch start: exit code" in unknown.stderr


def test_accounts_that_are_there_with_other_numbers_stay_as_they_are(machine):
    machine.sh("groupadd --gid 1700 workers; useradd --uid 1701 worker")
    assert "workers exists with gid 1700, not 1800" in machine.init({"groups": {"workers": {"gid": 1800}}}).stderr
    assert "worker exists with uid 1701, not 1801" in machine.init({"users": {"worker": {"uid": "1801"}}}).stderr
    assert "there is no group nosuch" in machine.init({"users": {"worker": {"groups": ["nosuch"]}}}).stderr
    joined = {"users": {"worker": {"groups": ["workers"], "homeDir": "/home/elsewhere"}}}
    assert "users: 1 changed" in machine.init(joined).stdout
    assert "nothing changed" in machine.init(joined).stdout


def test_a_user_takes_the_group_of_its_name(machine):
    accounts = {"groups": {"app": {"gid": 1600}, "web": {}}, "users": {"app": {"uid": 1601, "groups": ["app", "web"]}}}
    done = machine.init(accounts)
    assert done.returncode == 0, done.stderr
    assert machine.sh("id app").startswith("uid=1601(app) gid=1600(app) groups=1600(app),")
    assert "web" in machine.sh("id -nG app").split()
    assert "nothing changed" in machine.init(accounts).stdout


def test_the_tools_are_linked_where_aws_has_them(machine):
    done = machine.run("cfn-create-aws-symlinks")
    assert done.returncode == 0, done.stderr
    assert machine.sh("readlink /opt/aws/bin/cfn-signal") == "/usr/bin/cfn-signal\n"
    assert machine.sh("/opt/aws/bin/cfn-hup --help").startswith("usage: cfn-hup")
    assert machine.run("cfn-create-aws-symlinks", "-t", "/usr/bin").returncode == 1
