"""What this machine must have before sandboxes can run on it."""

import os
import shutil
from pathlib import Path

TOOLS = {"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux", "losetup": "mount", "mount": "mount"}
"""Program to the Debian package that brings it."""


def missing() -> list[str]:
    """One sentence for each thing that is not there; empty where sandboxes can run."""
    if os.geteuid() != 0:
        return [
            "Sandboxes need root (namespaces, mounts). Start it as root, or with --driver record (the default without "
            "root): templates, plans and APIs work, servers do not run."
        ]
    found = {package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    problems = [f"Programs are missing: apt-get install {' '.join(sorted(found))}"] if found else []
    problems += [
        f"This kernel has no {what} ({proof} is absent)."
        for proof, what in (("/proc/self/ns/user", "user namespaces"), ("/proc/self/ns/net", "network namespaces"))
        if not Path(proof).exists()
    ]
    if "overlay" not in Path("/proc/filesystems").read_text().split():
        problems.append("This kernel has no overlay file system loaded: modprobe overlay.")
    return problems
