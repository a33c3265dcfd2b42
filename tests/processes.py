"""Runs tests in several processes that are forked after the collection: modules are imported once, not once a process.

Every process takes the next file whose tests no process has yet, and sends its reports to the first process, which shows
them. Tests marked `serial` run alone in the first process when the others have ended. A test without a report has failed.
"""

import gc
import itertools
import os
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

_BYTES = 2  # of a file's number in the queue


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=0, help="run the tests in so many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests side by side, then those that must run alone."""
    options = session.config.option
    if not options.processes or options.collectonly or session.testsfailed:
        return None
    alone = [item for item in session.items if item.get_closest_marker("serial")]
    others = [item for item in session.items if not item.get_closest_marker("serial")]
    files = [list(items) for _, items in itertools.groupby(others, key=lambda item: item.path)]
    _run_side_by_side(session, files, min(options.processes, len(files)))
    _run_items(session, iter(alone))
    return True


def _run_items(session: pytest.Session, items: Iterator[pytest.Item]) -> None:
    for item, following in itertools.pairwise(itertools.chain(items, [None])):
        if session.shouldfail or session.shouldstop:
            return
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _run_side_by_side(session: pytest.Session, files: list[list[pytest.Item]], count: int) -> None:
    hook, config = session.config.hook, session.config
    waiting = {item.nodeid: item for items in files for item in items}
    queue, numbers = os.pipe()
    os.write(numbers, b"".join(n.to_bytes(_BYTES, "big") for n in range(len(files))))
    os.close(numbers)
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)  # with 700 a tenth of the time goes into looking for garbage
    talks = [_fork(session, files, queue, number) for number in range(count)]
    while talks:
        for talk in wait(list(talks)):
            assert isinstance(talk, Connection)
            try:
                message = talk.recv()
            except EOFError:
                talks.remove(talk)
                continue
            report = hook.pytest_report_from_serializable(config=config, data=message)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                waiting.pop(report.nodeid, None)
        if session.shouldfail or session.shouldstop:
            while os.read(queue, 1 << 16):
                pass
            waiting.clear()
    os.close(queue)
    for _ in range(count):
        os.wait()
    for item in waiting.values():
        hook.pytest_runtest_logreport(report=_report_missing(item))


def _fork(
    session: pytest.Session, files: list[list[pytest.Item]], queue: int, number: int
) -> Connection:
    receiving, sending = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        sending.close()
        return receiving
    code = 1
    try:
        receiving.close()
        _begin(session.config, sending, number)
        _run_items(session, itertools.chain.from_iterable(_take_files(files, queue)))
        code = 0
    finally:
        sending.close()
        os._exit(code)


def _begin(config: pytest.Config, sending: Connection, number: int) -> None:
    """Give this process its own captured output, temporary folder and random numbers."""
    plugins = config.pluginmanager
    plugins.unregister(plugins.getplugin("terminalreporter"))
    plugins.register(_Sender(config, sending))
    if capture := plugins.getplugin("capturemanager"):
        capture.stop_global_capturing()
        capture.start_global_capturing()
    folders: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"process-{number}"
    folders._basetemp.mkdir(mode=0o700)
    random.seed()


def _take_files(files: list[list[pytest.Item]], queue: int) -> Iterator[list[pytest.Item]]:
    while taken := os.read(queue, _BYTES):
        yield files[int.from_bytes(taken, "big")]


class _Sender:
    def __init__(self, config: pytest.Config, sending: Connection) -> None:
        self._config, self._sending = config, sending

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._sending.send(data)


def _report_missing(item: pytest.Item) -> pytest.TestReport:
    why = "no report came: the process that ran it, or should have, ended early"
    return pytest.TestReport(
        item.nodeid, item.location, {}, "failed", why, "call", start=time.time(), stop=time.time()
    )
