"""Every page does what it says: its files are written, its commands run, its output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_thinkingbox.plugin.options import _SETTINGS
from tests.pages import Reader, blocks_of

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [README, *PAGES, *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"))]
_LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")


@pytest.fixture
def reader(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(pytester, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_does_what_it_says(page: Path, reader: Reader) -> None:
    """Pages lean on the example of the README."""
    reader.write_files(README)
    reader.follow(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["writing-tasks.md", "tutorial.md"])
def test_a_proof_says_what_its_page_shows(page: str, reader: Reader) -> None:
    reader.follow(ROOT / "docs" / page, prove=True)


def test_the_pages_show_commands_to_be_tried() -> None:
    commands = {page.name for page in PAGES for block in blocks_of(page) if block.language == "console"}
    assert {
        "tutorial.md", "writing-tasks.md", "outcomes.md", "agents.md", "records.md", "options.md"
    } <= commands  # fmt: skip


def test_nothing_passes_a_task_of_the_guide_without_doing_it(reader: Reader) -> None:
    reader.follow(ROOT / "docs" / "writing-tasks.md")
    assert reader.attempts("--tb-agent=none") == {"failed": 8}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_links_lead_to_files(text: Path) -> None:
    targets = [link for link in _LINK.findall(text.read_text("utf-8")) if "://" not in link]
    assert [link for link in targets if not (text.parent / link).exists()] == []


def test_every_option_is_explained_with_its_default(pytestconfig: pytest.Config) -> None:
    rows = dict(re.findall(r"^\| `(--tb-[a-z-]+)(?:=[A-Z]+)?` \| (.*?) \|", _options(), re.MULTILINE))
    assert rows.keys() == _known(pytestconfig)
    for name, default in ((f"--tb-{one.name.replace('_', '-')}", one.default) for one in _SETTINGS):
        if default is not None:
            assert rows[name].strip("`") == str(default)


def test_the_page_names_the_option_by_which_its_value_is_called() -> None:
    shown = dict(re.findall(r"^\| `(--tb-[a-z-]+)=([A-Z]+)`", _options(), re.MULTILINE))
    for one in _SETTINGS:
        assert shown[f"--tb-{one.name.replace('_', '-')}"] == one.metavar


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_no_page_names_an_option_that_is_not_there(text: Path, pytestconfig: pytest.Config) -> None:
    named = set(re.findall(r"--tb-[a-z-]+", text.read_text("utf-8")))
    assert named - _known(pytestconfig) == set()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--tb-agent=solution"], 0),
        (["--tb-agent=none"], 1),
        (["--tb-model="], 4),
    ],
    ids=["holds", "fails", "lost model"],
)
def test_the_job_of_an_agent_in_ci_ends_as_the_page_says(
    arguments: list[str], status: int, reader: Reader, pytester: pytest.Pytester
) -> None:
    reader.write_files(README)
    options = ["--tb-attempts=20", "--tb-min-pass-rate=0.8", "--tb-concurrency=16"]
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert [option for option in options if option not in page] == []
    assert pytester.runpytest_inprocess(*options, *arguments).ret == status


def _known(config: pytest.Config) -> set[str]:
    """Every option of this package, but for the one by which it speaks to itself."""
    names = {name for name in vars(config.option) if name.startswith("tb_")} - {"tb_proof_plan"}
    return {f"--{name.replace('_', '-')}" for name in names}


def _options() -> str:
    return (ROOT / "docs" / "options.md").read_text("utf-8")
