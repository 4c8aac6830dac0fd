"""Hostile files, limits and crashes: each ends with a clear error, and nothing is left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge.errors import ExtractionFailed, ExtractorCrashed, TookTooLong, TooLarge
from knowledge.extraction import DEFAULT, ExtractionLimits, extract
from knowledge.extraction.process import stop
from tests.extraction import samples
from tests.extraction.conftest import Read

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes in /proc")
SLOW = samples.pdf_bomb(150)


def _children(pid: int) -> list[int]:
    """Children of all threads of a process."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return found


def _readers() -> list[int]:
    """The reading processes of this process."""
    return [pid for pid in _children(os.getpid()) if b"knowledge.extraction.child" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def _wait_for_fork(*, within_s: float = 10.0) -> int:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        for reader in _readers():
            for fork in _children(reader):
                return fork
        time.sleep(0.002)
    raise AssertionError("no fork was seen")


@pytest.fixture
def slow_file(tmp_path: Path) -> Path:
    path = tmp_path / "slow.pdf"
    path.write_bytes(SLOW)
    return path


@pytest.fixture(autouse=True)
def nothing_is_left(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No fork, no zombie, no descriptor and no file in the temporary folder outlives a test."""
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    stop()  # the next reading process sees this folder
    descriptors = len(os.listdir("/proc/self/fd"))
    yield
    deadline = time.monotonic() + 5
    while any(_children(reader) for reader in _readers()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [_children(reader) for reader in _readers()] in ([], [[]])
    stop()
    assert _readers() == []
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert list(scratch.iterdir()) == []


def _in_background(path: Path) -> tuple[threading.Thread, list[object]]:
    outcome: list[object] = []

    def work() -> None:
        try:
            outcome.append(extract(path=path, file_name="slow.pdf"))
        except ExtractionFailed as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, outcome


def test_time_is_bounded(slow_file: Path, read: Read) -> None:
    with pytest.raises(TookTooLong) as caught:
        extract(path=slow_file, file_name="a.pdf", limits=dataclasses.replace(DEFAULT, seconds=0.2))
    assert caught.value.seconds == 0.2
    assert read("Danach geht es weiter.", "a.txt").text


def test_memory_is_bounded(slow_file: Path, read: Read) -> None:
    with pytest.raises(TooLarge) as caught:
        extract(path=slow_file, file_name="a.pdf", limits=ExtractionLimits(memory_bytes=64 * 1024 * 1024))
    assert "memory" in caught.value.limit
    assert read("Danach geht es weiter.", "a.txt").text


def test_size_of_file_and_text_is_bounded(read: Read) -> None:
    with pytest.raises(TooLarge):
        read("a" * 2000, "a.txt", limits=dataclasses.replace(DEFAULT, max_chars=1000))
    with pytest.raises(TooLarge):
        read(samples.pdf([["a" * 60] * 30]), "a.pdf", limits=dataclasses.replace(DEFAULT, max_chars=1000))
    with pytest.raises(TooLarge):
        read("a" * 2000, "a.txt", limits=dataclasses.replace(DEFAULT, file_bytes=1000))


def test_a_fork_that_is_killed_costs_only_its_file(slow_file: Path, read: Read) -> None:
    read("Wärmt auf.", "a.txt")
    (reader,) = _readers()
    thread, outcome = _in_background(slow_file)
    os.kill(_wait_for_fork(), signal.SIGSEGV)
    thread.join(30)
    assert isinstance(outcome[0], ExtractorCrashed)
    assert read("Danach geht es weiter.", "a.txt").text
    assert _readers() == [reader]


def test_a_reading_process_that_is_killed_is_started_anew(slow_file: Path, read: Read) -> None:
    read("Wärmt auf.", "a.txt")
    thread, outcome = _in_background(slow_file)
    fork = _wait_for_fork()
    (reader,) = _readers()
    os.kill(reader, signal.SIGKILL)
    thread.join(30)
    assert isinstance(outcome[0], ExtractorCrashed)
    assert read("Danach geht es weiter.", "a.txt").text
    assert _readers() != [reader]
    os.kill(fork, signal.SIGKILL)  # it would end by its own alarm, but this test does not wait for that


def test_a_fork_ends_when_nobody_waits_for_it(slow_file: Path) -> None:
    thread, outcome = _in_background(slow_file)
    _wait_for_fork()
    stop()
    thread.join(30)
    assert isinstance(outcome[0], ExtractorCrashed)
    assert _readers() == []


def test_many_threads_at_once(tmp_path: Path) -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        for turn in range(5):
            path = tmp_path / f"{number}-{turn}"
            path.write_bytes(
                samples.pdf([[f"Seite {number} {turn}"]]) if turn % 2 else f"Text {number} {turn}".encode()
            )
            found[number * 10 + turn] = extract(path=path, file_name="a.txt").text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {
        n * 10 + turn: f"{'Seite' if turn % 2 else 'Text'} {n} {turn}" for n in range(8) for turn in range(5)
    }
    assert len(_readers()) == 1


def test_a_forked_worker_has_a_reading_process_of_its_own(read: Read, tmp_path: Path) -> None:
    """As in a prefork worker, whose parent may have read a file before it forked."""
    read("Wärmt auf.", "a.txt")
    path = tmp_path / "b.txt"
    path.write_text("Im Kind.")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if extract(path=path, file_name="b.txt").text == "Im Kind." else 2
            stop()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert read("Im Elternprozess.", "a.txt").text == "Im Elternprozess."
