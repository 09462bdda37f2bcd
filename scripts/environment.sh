# Sourced by the other scripts: brings what they need, once, and says what it does. Needs Debian's Python 3.11 only.
# Everything lands in .venv of this checkout (kept, so that the next run starts at once) and in apt's packages.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$checkout/.venv
started=$SECONDS

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# packages NAME[:PROGRAM] …: install the Debian packages whose program (by default the package's name; it may be a
# pattern of paths) is missing.
packages() {
    local entry missing=()
    for entry in "$@"; do
        command -v "${entry#*:}" >/dev/null 2>&1 || compgen -G "${entry#*:}" >/dev/null || missing+=("${entry%%:*}")
    done
    ((${#missing[@]})) || return 0
    [ "$(id -u)" -eq 0 ] || fail "Missing Debian packages, install them as root: apt-get install ${missing[*]}"
    say "Installing from Debian: ${missing[*]}"
    apt_install "${missing[@]}" || fail "apt-get could not install ${missing[*]}"
}

apt_install() {
    local install=(without_daemons env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$@")
    "${install[@]}" >/dev/null 2>&1 || { apt-get -qq update && "${install[@]}" >/dev/null; }  # lists may be old or absent
}

# without_daemons COMMAND …: run it while Debian's packages are told not to start what they bring.
without_daemons() (
    policy=/usr/sbin/policy-rc.d
    if ! [ -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 0755 "$policy"
    fi
    "$@"
)

python_with_venv() {
    local candidate
    for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
        if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# includes A,B,C B,C: whether all of the second list is in the first.
includes() {
    local wanted
    for wanted in ${2//,/ }; do
        [[ ,$1, == *,$wanted,* ]] || return 1
    done
}

# virtualenv EXTRAS: .venv with this checkout and the extras of pyproject.toml, made again when that file changes.
virtualenv() {
    local extras=$1 stamps stamp python
    stamps=$venv/.complete-$(sha256sum <"$checkout/pyproject.toml" | cut -c 1-16)
    for stamp in "$stamps"-*; do
        [ -e "$stamp" ] && includes "${stamp##*-}" "$extras" && return
    done
    stamp=$stamps-$extras
    if ! [ -x "$venv/bin/python" ]; then
        if ! python=$(python_with_venv); then
            command -v python3 >/dev/null 2>&1 || packages python3
            [ "$(id -u)" -eq 0 ] || fail "Missing Debian package, install it as root: apt-get install python3-venv"
            say "Installing from Debian: python3-venv"
            apt_install python3-venv || fail "apt-get could not install python3-venv"
            python=$(python_with_venv) || fail "Calor needs Python 3.11 or newer with venv; set PYTHON to one."
        fi
        "$python" -m venv "$venv"
    fi
    say "Installing Python packages into .venv (once, one to three minutes, without a word) …"
    if [ -x "$venv/bin/uv" ]; then
        "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --editable "$checkout[$extras]"
    else
        [ -x "$venv/bin/pip" ] || "$venv/bin/python" -m ensurepip >/dev/null
        "$venv/bin/pip" install --quiet --disable-pip-version-check --editable "$checkout[$extras]"
    fi
    touch "$stamp"
    say "Python packages are there after $((SECONDS - started)) s."
}

# What the dev cloud's sandboxes call (calor.server.devcloud.sandbox.requirements).
sandbox_packages() {
    [ "$(id -u)" -eq 0 ] || return 0
    packages iproute2:ip nftables:nft util-linux:nsenter mount:losetup curl
}

# What `calor image build --format qcow2` calls (calor.server.devcloud.images.disk).
image_packages() {
    packages mmdebstrap e2fsprogs:mke2fs qemu-utils:qemu-img grub-common:grub-mkimage mtools:mformat \
        grub-pc-bin:/usr/lib/grub/i386-pc/boot.img grub-efi-amd64-bin:/usr/lib/grub/x86_64-efi/normal.mod
}

# What the tests call beside that. The database servers run as private ones, in folders of their own.
test_packages() {
    sandbox_packages
    packages openssl graphviz:dot haproxy:/usr/sbin/haproxy mmdebstrap iputils-ping:ping \
        postgresql:/usr/lib/postgresql/*/bin/initdb mariadb-server-core:mariadbd mariadb-client-core:mariadb \
        qemu-system-x86:qemu-system-x86_64
    image_packages
    hook_packages
    newest_pythons
}

# The Pythons of Debian sid, for guest code only: unpacked beside the system, each with its own C library. Signatures
# are checked, the age of the mirror's lists is not.
newest_pythons() {
    local there=${XDG_CACHE_HOME:-$HOME/.cache}/calor/pythons half python
    [ "$(id -u)" -eq 0 ] && [ ! -e "$there" ] || return 0
    packages patchelf
    say "Unpacking the Pythons of Debian sid …"
    half=$there.partial
    rm -rf "$half"
    mkdir -p "$half"
    mmdebstrap --quiet --mode=root --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' \
        --include='?name(^python3\.[0-9]+-minimal$)' --include='?name(^libpython3\.[0-9]+-stdlib$)' sid "$half" ||
        fail "mmdebstrap could not unpack Debian sid's Pythons"
    for python in "$half"/usr/bin/python3.*; do
        patchelf --set-interpreter "$there/usr$(patchelf --print-interpreter "$python")" --force-rpath \
            --set-rpath "$(printf %s "$half"/usr/lib/*-linux-gnu | sed "s|^$half|$there|")" "$python"
    done
    mv "$half" "$there"
}

# The tools that the agent's hooks are tested with; nothing starts.
hook_packages() {
    packages git puppet-agent:puppet hiera docker-compose docker.io:/usr/sbin/dockerd podman runc \
        busybox-static:busybox \
        gcc libc6-dev:/usr/include/stdio.h python3-dev:/usr/include/python3*/Python.h  # salt is compiled
}
