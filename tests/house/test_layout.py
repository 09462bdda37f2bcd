"""Where things lie, how large they are, and what guest code may import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("server", "agent", "cfntools", "cloudinit")
GUEST = ("agent/calor/agent", "cfntools/calor/cfntools", "cloudinit/calor/cloudinit/guest")
LARGEST_MODULE = 400
MODULES = sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [*MODULES, *sorted((ROOT / "scripts").glob("*.py"))], ids=named)
def test_a_module_can_be_grasped_in_one_sitting(path: Path) -> None:
    if "migrations" not in path.parts:
        assert len(path.read_text().splitlines()) <= LARGEST_MODULE


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_what_it_knows(path: Path) -> None:
    text = path.read_text()
    assert not text or ast.get_docstring(ast.parse(text)) is not None


def test_no_init_file_hides_the_other_parts_of_the_namespace() -> None:
    assert [source for source in SOURCES if (ROOT / source / "calor/__init__.py").exists()] == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_names_say_what_a_module_knows() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [named(path) for path in MODULES if path.stem in vague] == []


def packages() -> Iterator[str]:
    yield from ("agent", "cfntools", "cloudinit", "playbooks", "examples")
    for path in sorted((ROOT / "server/calor/server").iterdir()):
        if (path / "__init__.py").exists():
            yield f"server/{path.name}"


@pytest.mark.parametrize("package", tuple(packages()))
def test_each_package_has_tests(package: str) -> None:
    assert list((ROOT / "tests" / package).rglob("test_*.py")), f"tests/{package} holds no test"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(path)}:{node.lineno}: relative import"
            yield from (
                f"{node.module}.{alias.name}" if node.module == "calor" else str(node.module) for alias in node.names
            )


GUEST_MODULES = sorted(path for folder in GUEST for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", GUEST_MODULES, ids=named)
def test_guest_code_needs_the_standard_library_only(path: Path) -> None:
    ours = ("calor.agent", "calor.cfntools") if "agent" in path.parts else ("calor.cfntools",)
    foreign = {
        name
        for name in imports(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(ours)
    }
    assert foreign == set()


def test_guest_code_uses_nothing_newer_than_python_3_6() -> None:
    vermin = [str(Path(sys.executable).with_name("vermin")), "--quiet", "--no-tips", "--target=3.6-", "--violations"]
    done = subprocess.run([*vermin, *GUEST], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_point_one_way() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_f170_random_makes_jitter_and_nothing_else(path: Path) -> None:
    """A fraction of a pause may be guessed; whatever picks, shuffles or fills comes from `secrets`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.module != "random" or {alias.name for alias in node.names} <= {"random", "uniform"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random":
            assert node.attr in ("random", "uniform", "randrange", "Random"), (
                f"{named(path)}:{node.lineno}: random.{node.attr}"
            )
