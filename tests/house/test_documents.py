"""Pages, playbooks and templates that ship: they agree with the code, and nothing is fetched unprotected."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(
    path
    for folder in ("examples", "playbooks", "cloudinit/calor/cloudinit", "scripts")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)
UNPROTECTED = (
    r"\bcurl\b[^\n]*\s(-k|--insecure)\b",
    r"--no-check-certificate",
    r"validate_certs:\s*(no|false)",
    r"verify\s*=\s*False",
    r"ssl\._create_unverified_context",
    r"(gpgcheck|sslverify)\s*=\s*(0|false)",
    r"--allow-unauthenticated",
    r"\[trusted=yes\]",
)
LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]", "http://10.0.0.2:", "http://172.24.4.1:")
"""This machine, a sandbox, the network of the test cloud."""


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SHIPPED, ids=named)
def test_f166_nothing_that_ships_fetches_unprotected(path: Path) -> None:
    text = path.read_text()
    assert [found for pattern in UNPROTECTED if (found := re.search(pattern, text))] == []
    plain = [url for url in re.findall(r"http://[\w\[\].:-]+", text) if not url.startswith(LOCAL)]
    assert plain == []


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.suffix in (".yml", ".yaml")], ids=named)
def test_templates_and_playbooks_are_yaml_with_unique_keys(path: Path) -> None:
    class Strict(yaml.SafeLoader):
        """Refuses a duplicate key."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"{named(path)}: a key twice, line {node.start_mark.line + 1}"
            return super().construct_mapping(node, deep=deep)

    assert yaml.load(path.read_text(), Strict)


@pytest.mark.parametrize(
    "path", [path for path in SHIPPED if "playbooks" in path.parts and "tasks" in path.parts], ids=named
)
def test_tasks_have_names_and_fully_qualified_modules(path: Path) -> None:
    keywords = {"name", "when", "loop", "loop_control", "register", "vars", "delegate_to", "become", "changed_when"}
    keywords |= {"failed_when", "until", "retries", "delay"}
    for task in yaml.safe_load(path.read_text()):
        assert task["name"][0].isupper()
        modules = set(task) - keywords
        assert len(modules) == 1, f"{named(path)}: {task['name']}: {modules}"
        assert modules.pop().startswith("ansible.builtin."), f"{named(path)}: {task['name']}"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calor_docs", ROOT / "scripts/docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["calor_docs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["resource-types.md", "configuration.md"])
def test_reference_pages_agree_with_the_code(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == generator().pages()[name], "run scripts/docs"


def test_the_readme_begins_with_the_two_commands_and_ci_runs_the_second() -> None:
    readme = (ROOT / "README.md").read_text()
    first = re.search(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert first is not None
    commands = [line.split("#")[0].strip() for line in first[1].splitlines() if line.strip()]
    assert commands == ["scripts/demo", "scripts/test"]
    assert "/../scripts/test" in (ROOT / ".ci/run").read_text()


def test_paths_named_in_the_pages_exist() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "examples/README.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_every_word_of_the_glossary_is_explained_once() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert len(rows) > 20
    assert rows == sorted(set(rows), key=str.lower)
