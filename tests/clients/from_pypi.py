"""OpenStack's own programs, unmodified, from PyPI: kept in a folder between test runs."""

import subprocess
import sys
from pathlib import Path

import pytest


def environment(folder: Path, *packages: str, python: str = sys.executable) -> Path:
    """A virtual environment of ``python`` with these packages; skips where none can be had."""
    ready = folder / "complete"
    if not ready.exists():
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "-q"]
        # setuptools: what was written before Python 3.12 imports pkg_resources, which 81 lost
        for step in ([python, "-m", "venv", "--without-pip", str(folder)], [*pip, *packages, "setuptools<81"]):
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"{' '.join(packages)} cannot be had: {done.stderr[-300:]}")
        ready.touch()
    return folder


def heat_agents(folder: Path) -> Path:
    """The unpacked sdist of heat-agents, which holds the hooks and the elements: its wheel has neither."""
    found = next(folder.glob("heat?agents-*/setup.cfg"), None)
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        builders = environment(folder / "builders", "pip", "pbr", "wheel")
        words = ("download", "-q", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", str(folder))
        command = [str(builders / "bin/pip"), *words, "heat-agents"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        packed = next(folder.glob("heat?agents*.tar.gz"), None)
        if done.returncode != 0 or packed is None:
            pytest.skip(f"heat-agents cannot be had: {done.stderr[-300:]}")
        subprocess.run(["tar", "xzf", packed, "-C", folder], check=True)
        found = next(folder.glob("heat?agents-*/setup.cfg"))
    return found.parent
