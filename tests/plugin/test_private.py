"""Canaries: the private names of pytest and pytest-xdist that the plugin leans on still mean what they meant."""

from __future__ import annotations

import ast
import logging

import pytest

from pytest_thinkingbox.plugin import private


def collect(pytester, source):
    return pytester.getitem(source)


def test_a_skip_mark_skips(pytester):
    assert private.is_skipped_by_mark(
        collect(pytester, "import pytest\n@pytest.mark.skip\ndef test_func(): pass")
    )


def test_without_a_mark_nothing_is_skipped(pytester):
    assert not private.is_skipped_by_mark(collect(pytester, "def test_func(): pass"))


def test_a_false_skipif_skips_nothing(pytester):
    item = collect(pytester, "import pytest\n@pytest.mark.skipif(False, reason='x')\ndef test_func(): pass")
    assert not private.is_skipped_by_mark(item)


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("xfail(reason='x')", (True, True, False)),
        ("xfail(reason='x', strict=True)", (True, True, True)),
        ("xfail(reason='x', run=False)", (True, False, False)),
        ("xfail(False, reason='x')", (False, True, False)),
        ("usefixtures('tmp_path')", (False, True, False)),
    ],
)
def test_xfail_marks_are_evaluated(pytester, mark, expected):
    pytester.makeini("[pytest]\nxfail_strict = false\n")
    item = collect(pytester, f"import pytest\n@pytest.mark.{mark}\ndef test_func(): pass")
    assert private.xfail_of(item) == expected


def test_the_log_handlers_of_pytest_are_found(request):
    handlers = private.capture_handlers(request.config)
    assert len(handlers) == 2
    assert all(isinstance(one, logging.Handler) for one in handlers)


def test_a_hidden_report_is_not_among_the_failures_but_counted(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_thinkingbox.plugin.private import hide_failure_text

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(report):
            if report.failed:
                hide_failure_text(report)
        """
    )
    pytester.makepyfile("def test_a():\n    assert 'a reason that would be shown' == ''\n")
    result = pytester.runpytest_inprocess("--tb=long")
    assert result.parseoutcomes() == {"failed": 1}
    assert (
        "assert 'a reason that would be shown' == ''"
        not in result.stdout.str().partition("short test summary")[0]
    )


def test_the_column_of_the_progress_line_is_known(request):
    assert private.column_of_progress(request.config) >= 0


def test_a_worker_knows_what_is_queued(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_thinkingbox.plugin.private import worker_queue

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            queue = worker_queue(item.config)
            if queue is None:
                return
            names = [item.session.items[index].name for index in queue()]
            expected = [] if nextitem is None else [nextitem.name]
            assert names[:1] == expected, (names, expected)
        """
    )
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_a(n): pass\n")
    assert pytester.runpytest_inprocess("-n2").parseoutcomes() == {"passed": 8}


def test_outside_a_worker_nothing_is_queued(request):
    if not hasattr(request.config, "workerinput"):
        assert private.worker_queue(request.config) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["--color=yes"], True), (["--color=no"], False), (["-p", "no:terminal"], False)],
)
def test_it_is_known_whether_pytest_writes_in_colors(pytester, arguments, expected):
    config = pytester.parseconfigure(*arguments)
    assert private.shows_colors(config) is expected


def test_what_an_item_does_not_share_with_the_next_is_torn_down(pytester):
    # In a run of its own: the session of the test that runs has a stack too.
    pytester.makeconftest(
        """
        import pytest
        from pytest_thinkingbox.plugin import private

        def pytest_runtestloop(session):
            first, second = session.items
            for item, after in ((first, second), (second, first)):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            assert first.module.events == ["set up", "test", "test"]
            private.tear_down(session, first)
            assert "end" not in first.module.events
            private.tear_down(session, None)
            assert first.module.events[-1] == "end"
            return True
        """
    )
    pytester.makepyfile(
        """
        import pytest
        events = []

        @pytest.fixture(scope="module", autouse=True)
        def shared():
            events.append("set up")
            yield
            events.append("end")

        def test_one(): events.append("test")
        def test_two(): events.append("test")
        """
    )
    assert pytester.runpytest_inprocess().ret == 0


def test_a_renewed_item_has_another_object_and_no_sections(pytester):
    item = collect(pytester, "class TestOne:\n    def test_func(self): pass")
    assert item.obj.__self__ is item.instance
    before = item.instance
    item.add_report_section("call", "stdout", "text")
    private.renew(item)
    assert item.instance is not before
    assert item._report_sections == []


def test_junit_properties_of_the_suite_reach_the_file(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_thinkingbox.plugin.private import add_junit_properties

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_sessionfinish(session):
            add_junit_properties(session.config, {"a.name": "<value>"})
            return (yield)
        """
    )
    pytester.makepyfile("def test_a(): pass")
    assert pytester.runpytest_inprocess("-pno:xdist").ret == 0
    assert pytester.runpytest_inprocess("-pno:xdist", "--junitxml=j.xml").ret == 0
    assert '<property name="a.name" value="&lt;value&gt;"' in (pytester.path / "j.xml").read_text()


def test_a_made_module_is_collected_like_one_that_was_imported(pytester):
    pytester.makeconftest(
        "from types import ModuleType\n"
        "from pytest_thinkingbox.plugin.private import MadeModule\n"
        "def pytest_collect_file(file_path, parent):\n"
        "    if file_path.name != 'made.txt':\n"
        "        return None\n"
        "    def one(tmp_path): assert tmp_path.is_dir()\n"
        "    one.__test__ = True\n"
        "    def make():\n"
        "        module = ModuleType('made')\n"
        "        module.one = one\n"
        "        return module\n"
        "    file = MadeModule.from_parent(parent, path=file_path, nodeid='made.py')\n"
        "    file.make = make\n"
        "    return file\n"
    )
    pytester.makefile(".txt", made="raise SystemExit\n")
    result = pytester.runpytest_inprocess("-v", "-p", "no:randomly")
    result.stdout.fnmatch_lines(["*made.py::one PASSED*", "*1 passed*"])


def test_an_assertion_of_a_syntax_tree_explains_itself(pytestconfig, tmp_path):
    path = tmp_path / "one.py"
    path.write_text("def one(a):\n    assert a == 2\n", encoding="utf-8")
    tree = ast.parse(path.read_text("utf-8"))
    private.explain_assertions(tree, path=path, config=pytestconfig)
    names = {}
    exec(compile(tree, str(path), "exec"), names)
    with pytest.raises(AssertionError, match="assert 1 == 2"):
        names["one"](1)


def test_threads_may_add_loggers_while_pytest_walks_through_them(monkeypatch):
    monkeypatch.setattr(logging.root.manager, "loggerDict", dict(logging.root.manager.loggerDict))

    def walk():
        for number, _ in enumerate(logging.root.manager.loggerDict.values()):
            logging.getLogger(f"thinkingbox_test_{number}")

    with pytest.raises(RuntimeError, match="dictionary changed size"):
        walk()
    private.let_threads_add_loggers()
    walk()
    assert "thinkingbox_test_0" in logging.root.manager.loggerDict


def test_pytest_walks_through_loggers_by_their_values(pytester):
    pytester.makepyfile("""
        import logging

        def test_walk(monkeypatch):
            class Loggers(dict):
                walked = 0

                def values(self):
                    Loggers.walked += 1
                    return list(super().values())

            monkeypatch.setattr(logging.root.manager, "loggerDict", Loggers(logging.root.manager.loggerDict))
            from _pytest.logging import LogCaptureHandler, catching_logs

            with catching_logs(LogCaptureHandler()):
                assert Loggers.walked == 1
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_pytest_explains_only_what_the_given_function_does_not(pytester):
    pytester.makeconftest("""
        import pytest
        from pytest_thinkingbox.plugin import private

        asked = []

        def pytest_assertrepr_compare(left):
            asked.append(left)
            return ["the hooks were asked", ""]

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol():
            with private.explained_by(lambda op, left, right: ["50% off", "two\\nlines"] if left == "ours" else None):
                return (yield)

        @pytest.fixture
        def asked_for():
            return asked
    """)
    pytester.makepyfile("""
        import pytest

        def test_ours(asked_for):
            with pytest.raises(AssertionError) as caught:
                assert "ours" == "other"
            assert str(caught.value) == "assert 50% off\\n  two\\\\nlines"
            assert asked_for == []

        def test_theirs(asked_for):
            with pytest.raises(AssertionError, match="the hooks were asked"):
                assert "theirs" == "other"
            assert asked_for == ["theirs"]
    """)
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=2)


def test_pytest_explains_all_again_after_the_given_function(pytester):
    pytester.makepyfile("""
        import pytest
        from pytest_thinkingbox.plugin import private

        def test_inside_and_after():
            with private.explained_by(lambda op, left, right: ["ours"]):
                with pytest.raises(AssertionError, match="ours"):
                    assert 1 == 2
            with pytest.raises(AssertionError, match="assert 1 == 2"):
                assert 1 == 2
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_conftest_files_of_a_path_are_asked_for_once_and_stay_its_own(pytester):
    pytester.makepyfile(
        **{
            "one/conftest": "def pytest_runtest_setup(item): item.user_properties.append('one')",
            "one/test_one": "def test_func(): pass",
            "other/test_two": "def test_func(): pass",
        }
    )
    items, _ = pytester.inline_genitems()
    [session] = {item.session for item in items}
    private.keep_hook_proxies(session)
    for item in items:
        proxy = item.ihook
        assert item.ihook is proxy
        for setup in proxy.pytest_runtest_setup.get_hookimpls():
            if setup.plugin_name.endswith("conftest.py"):
                setup.function(item)
    assert [item.user_properties for item in items] == [["one"], []]
