"""Shared by all tests: the real model, and the rule that nothing is skipped in CI."""

import os
from pathlib import Path

import pytest

# Before torch is imported anywhere: tiny models are fastest on one thread, child processes inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def real_cache() -> Path:
    """The cache folder with the converted shelf model; fetched (93 MB) and converted on first use."""
    from engine import shelf

    shelf.path(shelf.CACHE)
    return shelf.CACHE


def _skips_forbidden() -> bool:
    return os.environ.get("CI") == "true"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = len(terminalreporter.stats.get("skipped", []))
    if skipped and _skips_forbidden():
        terminalreporter.write_line(f"{skipped} skipped: under CI=true a skipped test is a failure", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and _skips_forbidden() and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
