"""The list of templates with software configuration in docs/compatibility.md: every one of the corpus is in it, run by
a test that is there, or with the reason why not."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/compatibility.md"
MARK = "<!-- software configuration: {} -->"
DEPLOYMENT = re.compile(r"OS::Heat::(Software|Structured)Deployment")


def rows(begin: str, end: str) -> dict[str, str]:
    text = PAGE.read_text()
    part = text[text.index(MARK.format(begin)) : text.index(MARK.format(end))]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", part, re.MULTILINE))


def wanted(corpus: Path) -> set[str]:
    """Heat's examples and those for Windows, and every template of the corpus that deploys software."""
    found = {path for folder in ("software-config/example-templates", "Windows") for path in examples(corpus, folder)}
    for path in corpus.rglob("*.yaml"):
        text = path.read_text(errors="replace")
        if "heat_template_version" in text and DEPLOYMENT.search(text):
            found.add(path)
    return {str(path.relative_to(corpus)) for path in found}


def examples(corpus: Path, folder: str) -> list[Path]:
    found = (corpus / "openstack__heat-templates/hot" / folder).rglob("*.yaml")
    return [path for path in found if not path.stem.endswith("_env") and "heat_template_version" in path.read_text()]


def test_every_template_with_software_configuration_is_listed_once(shared: Path) -> None:
    run, not_run = rows("run", "not run"), rows("not run", "end")
    assert not set(run) & set(not_run)
    assert set(run) | set(not_run) == wanted(shared / "corpus")


def test_the_tests_that_the_list_names_are_there() -> None:
    for template, test in rows("run", "not run").items():
        file, _, name = test.strip("`").partition("::")
        assert f"def {name}(" in (HERE / file).read_text(), template
        assert Path(template).stem in (HERE / file).read_text(), template
