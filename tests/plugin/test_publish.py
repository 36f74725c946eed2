"""What a campaign leaves for CI: figures in JUnit's file, a summary of the job."""

from __future__ import annotations

from xml.etree import ElementTree

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def test_junit_carries_the_figures_of_the_campaign(suite, run_everywhere, pytester):
    suite(CLOSES)
    run_everywhere("--tb-attempts=3", "--tb-min-pass-rate=0.5", "--junitxml=junit.xml")
    properties = {
        one.get("name"): one.get("value")
        for one in ElementTree.parse(pytester.path / "junit.xml").iter("property")
    }
    assert properties["thinkingbox.attempts"] == "3/3 passed, 3 of 3 valid"
    assert properties["thinkingbox.every_attempt"] == "1 of 1 task passed every attempt"
    assert properties["thinkingbox.gate.1"] == "pass rate >= 0.5: holds: 1.000 (3/3 passed, 3 of 3 valid)"
    assert properties["thinkingbox.exit_status"] == "0"


def test_the_summary_of_a_job_on_github_is_appended_to(suite, run, pytester, monkeypatch):
    summary = pytester.path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    suite(CLOSES)
    assert run("--tb-attempts=2").status == 0
    text = summary.read_text().replace("\\", "")
    assert text.startswith("before\n## thinkingbox: holds\n")
    assert "| test_shop.py::test_close | 2/2 | 100.0 % |" in text


def test_a_summary_that_cannot_be_written_is_said_and_breaks_nothing(suite, run, pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "nowhere" / "summary.md"))
    suite(CLOSES)
    outcome = run("--tb-attempts=2")
    assert outcome.status == 0
    assert "no summary for the job: GITHUB_STEP_SUMMARY=" in outcome.text
    assert "summary.md: No such file or directory" in outcome.text


def test_ordinary_tests_have_no_summary(pytester, monkeypatch):
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    pytester.makepyfile("def test_a(): pass")
    assert pytester.runpytest_inprocess("-pno:asyncio").ret == 0
    assert not summary.exists()
