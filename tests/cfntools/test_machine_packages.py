"""Packages with the real managers, from repositories that are made here: versions up and down, and nothing twice."""

import hashlib
import json
import re
import textwrap

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

SPEC = """
Name: hello-rpm
Version: {version}
Release: {release}
Summary: says which version it is
License: MIT
BuildArch: noarch
%description
says which version it is
%install
mkdir -p %{{buildroot}}/opt
echo {version}-{release} >%{{buildroot}}/opt/hello-rpm
%files
/opt/hello-rpm
"""
CONTROL = "Package: {}\nVersion: {}\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: x\n"
SETUP = "from setuptools import setup; setup(name='hello-py', version='{}', py_modules=['hello_py'])"
HOLD = """
import fcntl, subprocess, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("/held", "w").close()
while subprocess.call(["pgrep", "-f", "apt-get .* install"], stdout=subprocess.DEVNULL):
    time.sleep(0.1)
time.sleep(3)  # apt-get has begun: without waiting it would have failed by now
"""
GEM = """
Gem::Specification.new do |s|
  s.name = 'hello-gem'; s.version = '{}'; s.summary = 's'; s.authors = ['a']; s.files = []; s.license = 'MIT'
  s.homepage = 'https://gems.example/'
end
"""


def summary(done) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("packages: "))


def indexed(machine, control: str, name: str) -> str:
    data = machine.path(f"/repo/{name}").read_bytes()
    return f"{control}Filename: ./{name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"


def apt_repository(machine, versions: list[str]) -> None:
    index = ""
    for version in versions:
        control = CONTROL.format("hello-deb", version)
        machine.write("/build/DEBIAN/control", control)
        machine.write("/build/opt/hello-deb", version)
        name = f"hello-deb_{version}_all.deb"
        machine.sh(f"mkdir -p /repo && dpkg-deb --root-owner-group -b /build /repo/{name}")
        index += indexed(machine, control, name)
    machine.write("/repo/Packages", index)
    machine.write("/etc/apt/sources.list", "deb [trusted=yes] file:///repo ./\n")


def rpm_repository(machine) -> None:
    for version, release in (("1.0", "1"), ("1.9", "2"), ("1.10", "1")):
        machine.write("/build/x.spec", SPEC.format(version=version, release=release))
        machine.sh("rpmbuild -bb --quiet --define '_topdir /build' --define '_rpmdir /repo' /build/x.spec 2>&1")
    machine.sh("createrepo_c -q /repo")
    machine.write("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n")  # Debian's rpm would look in the home directory
    repository = "[here]\nname=here\nbaseurl=file:///repo\nenabled=1\ngpgcheck=0\n"
    machine.write("/etc/yum.repos.d/here.repo", repository)
    machine.write("/etc/zypp/repos.d/here.repo", repository + "autorefresh=0\n")


def test_apt_installs_the_highest_version_listed_and_leaves_alone_what_is_there(machine):
    apt_repository(machine, ["1.9", "1.10", "2.0"])
    wanted = {"hello-deb": ["1.9", "1.10"]}
    assert summary(machine.init({"packages": {"apt": wanted}})) == "packages: 1 changed, 0 unchanged"
    assert machine.read("/opt/hello-deb") == "1.10"
    again = machine.init({"packages": {"apt": {"hello-deb": []}}})
    assert "nothing changed" in again.stdout
    assert "Reading package lists" not in again.stdout, "apt-get is not even called"
    assert summary(machine.init({"packages": {"apt": {"hello-deb": "1.9"}}})) == "packages: 1 changed, 0 unchanged"
    assert machine.read("/opt/hello-deb") == "1.9"
    failed = machine.init({"packages": {"apt": {"nosuch-package": []}}})
    assert failed.returncode == 1
    assert "Unable to locate package nosuch-package" in failed.stderr
    assert re.search(r"cfn-init: apt-get .*install nosuch-package: exit code 100", failed.stderr)


def test_apt_takes_the_path_of_a_package_and_what_only_apt_knows(machine):
    apt_repository(machine, ["1"])
    for wanted in ("/repo/hello-deb_1_all.deb", "/repo/./hello-deb_1_all.deb"):
        first = not machine.has("/opt/hello-deb")
        told = summary(machine.init({"packages": {"apt": {wanted: []}}}))
        assert told == ("packages: 1 changed, 0 unchanged" if first else "packages: 0 changed, 1 unchanged")
        assert machine.read("/opt/hello-deb") == "1"
    assert machine.init({"packages": {"apt": {"/repo/none.deb": []}}}).returncode == 1


def test_f087_twenty_packages_are_one_transaction_that_waits_for_the_lock(machine):
    apt_repository(machine, ["1"])
    index = machine.read("/repo/Packages")
    names = [f"hello-{number:02}" for number in range(20)]
    for name in names:
        machine.sh(
            f"cd /build && sed -i 's/^Package:.*/Package: {name}/' DEBIAN/control && rm -rf opt && "
            f"dpkg-deb --root-owner-group -b . /repo/{name}.deb >/dev/null"
        )
        index += indexed(machine, CONTROL.format(name, "1"), f"{name}.deb")
    machine.write("/repo/Packages", index)
    config = {"AWS::CloudFormation::Init": {"config": {"packages": {"apt": {name: [] for name in names}}}}}
    machine.write("/root/m.json", json.dumps(config))
    machine.write("/root/hold.py", HOLD)
    machine.sh("python3 /root/hold.py & while [ ! -e /held ]; do sleep 0.1; done; cfn-init /root/m.json >/out; wait")
    said = machine.read("/out")
    assert "20 newly installed" in said, "one transaction"
    assert "packages: 20 changed, 0 unchanged" in said


@pytest.mark.parametrize("manager", ["dnf", "yum", "zypper"])
def test_rpm_distributions_go_up_and_down_to_the_version_asked_for(machine, manager):
    rpm_repository(machine)
    assert summary(machine.init({"packages": {manager: {"hello-rpm": ["1.9", "1.0"]}}})).startswith(
        "packages: 1 changed"
    )
    assert machine.read("/opt/hello-rpm").strip() == "1.9-2"
    assert "nothing changed" in machine.init({"packages": {manager: {"hello-rpm": []}}}).stdout
    assert "nothing changed" in machine.init({"packages": {manager: {"hello-rpm": "1.9-2"}}}).stdout
    assert summary(machine.init({"packages": {manager: {"hello-rpm": "1.10"}}})).startswith("packages: 1 changed")
    assert machine.read("/opt/hello-rpm").strip() == "1.10-1"
    assert summary(machine.init({"packages": {manager: {"hello-rpm": "1.0-1"}}})).startswith("packages: 1 changed")
    assert machine.read("/opt/hello-rpm").strip() == "1.0-1"
    assert machine.init({"packages": {manager: {"nosuch-package": []}}}).returncode == 1


def test_rpm_installs_from_an_address_what_is_not_there_in_exactly_that_version(machine):
    rpm_repository(machine)
    machine.write(
        "/usr/local/bin/rpm", '#!/bin/sh\nexec /usr/bin/rpm --force-debian "$@"\n', 0o755
    )  # Debian's asks for it
    old, new = ("/repo/noarch/hello-rpm-1.0-1.noarch.rpm", "file:///repo/noarch/hello-rpm-1.10-1.noarch.rpm")
    for address in (new, old):
        assert summary(machine.init({"packages": {"rpm": {"hello": address}}})) == "packages: 1 changed, 0 unchanged"
        assert "nothing changed" in machine.init({"packages": {"rpm": {"hello": [address]}}}).stdout
    assert machine.read("/opt/hello-rpm").strip() == "1.0-1"
    failed = machine.init({"packages": {"rpm": {"hello": "/repo/none.rpm"}}})
    assert failed.returncode == 1
    assert "packages: rpm: hello: " in failed.stderr


def test_python_packages_by_pip_with_ranges(machine):
    for version in ("1.0", "1.5", "2.0"):
        machine.write("/src/setup.py", SETUP.format(version))
        machine.write("/src/hello_py.py", f"version = '{version}'\n")
        machine.sh("cd /src && python3 setup.py -q sdist -d /wheels 2>&1")
    machine.write("/etc/pip.conf", "[global]\nno-index = true\nfind-links = /wheels\nno-build-isolation = false\n")

    def version() -> str:
        return machine.sh("cd / && python3 -c 'import hello_py; print(hello_py.version)'").strip()

    assert (
        summary(machine.init({"packages": {"python": {"hello-py": [">=1", "<2"]}}}))
        == "packages: 1 changed, 0 unchanged"
    )
    assert version() == "1.5"
    assert "nothing changed" in machine.init({"packages": {"python": {"Hello_Py": []}}}).stdout
    assert "nothing changed" in machine.init({"packages": {"python": {"hello-py": [">=1", "<2"]}}}).stdout
    assert summary(machine.init({"packages": {"python": {"hello-py": "1.0"}}})) == "packages: 1 changed, 0 unchanged"
    assert version() == "1.0"
    assert machine.init({"packages": {"python": {"hello-py": "9"}}}).returncode == 1


def test_gems_in_the_versions_that_are_listed(machine):
    for version in ("1.0.0", "1.2.0"):
        machine.write("/src/x.gemspec", GEM.format(version))
        machine.sh(
            "mkdir -p /gems/gems && cd /src && gem build -q x.gemspec -o /gems/gems/hello-gem-$(cat /dev/null)x.gem"
        )
        machine.sh(f"mv /gems/gems/hello-gem-x.gem /gems/gems/hello-gem-{version}.gem")
    machine.sh("gem generate_index -q -d /gems")
    machine.write(
        "/root/.gemrc",
        textwrap.dedent("""\
        :sources: ["file:///gems/"]
    """),
    )
    assert summary(machine.init({"packages": {"rubygems": {"hello-gem": "~> 1.0.0"}}})).startswith(
        "packages: 1 changed"
    )
    assert "hello-gem (1.0.0)" in machine.sh("gem list --local")
    assert "nothing changed" in machine.init({"packages": {"rubygems": {"hello-gem": []}}}).stdout
    both = {"hello-gem": ["1.0.0", "1.2.0"]}
    assert summary(machine.init({"packages": {"rubygems": both}})).startswith("packages: 1 changed")
    assert "hello-gem (1.2.0, 1.0.0)" in machine.sh("gem list --local")
    assert machine.init({"packages": {"rubygems": {"hello-gem": "9"}}}).returncode == 1
