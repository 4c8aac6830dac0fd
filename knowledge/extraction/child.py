"""The reading process: `python -m knowledge.extraction.child FD`, started by `extract`.

It imports the readers once, stays single-threaded, and forks for each file, so that every file has
a fresh process with its own limits and a crash costs nothing but that file. A request is a datagram
on the socket FD: JSON, with three descriptors beside it: the file, where the answer goes, and a
socket on which one line says how the fork ended. When FD is closed, it and its forks go.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any

from knowledge.errors import ExtractionFailed, TooLarge
from knowledge.extraction.extracted import MIB, ExtractionLimits
from knowledge.extraction.reading import read

REQUEST_BYTES = 65_536
# How often forks are looked after when none has ended: bounds how late a deadline is kept.
TICK_S = 0.2


class _Fork:
    """A fork at work on one file."""

    def __init__(self, *, pid: int, status: socket.socket, errors: Any, limits: ExtractionLimits) -> None:
        self.pid = pid
        self.status = status
        self.errors = errors
        self.limits = limits
        self.deadline = time.monotonic() + limits.seconds
        self.timed_out = False

    def report(self, wait_status: int, usage: resource.struct_rusage) -> None:
        """Tell the caller how the fork ended: one JSON line, then end of file."""
        self.errors.seek(0)
        said = self.errors.read(4096)
        self.errors.close()
        out_of_memory = (
            b"memory allocation" in said
            or b"bad_alloc" in said
            or usage.ru_maxrss * 1024 > 0.9 * self.limits.memory_bytes
        )
        ending = {
            "exit": os.waitstatus_to_exitcode(wait_status),
            "timed_out": self.timed_out,
            "out_of_memory": out_of_memory,
        }
        with contextlib.suppress(OSError):  # the caller may have gone
            self.status.sendall(json.dumps(ending).encode() + b"\n")
        self.status.close()


def serve(control: socket.socket) -> None:
    """Fork for each request until the other side closes."""
    forks: dict[int, _Fork] = {}
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        watched = [control, wake_read, *(fork.status for fork in forks.values())]
        ready, _, _ = select.select(watched, [], [], TICK_S if forks else None)
        if wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
        _reap(forks)
        for fork in forks.values():
            gone = fork.status in ready  # callers send nothing, so this is their end of file
            fork.timed_out = fork.timed_out or time.monotonic() > fork.deadline
            if gone or fork.timed_out:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(fork.pid, signal.SIGKILL)
        if control in ready:
            message, descriptors, _, _ = socket.recv_fds(control, REQUEST_BYTES, 3)
            if not message:
                break
            _start(
                json.loads(message),
                descriptors,
                control=control,
                forks=forks,
                inherited=(wake_read, wake_write),
            )
    for pid in forks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in forks:
        os.waitpid(pid, 0)


def _reap(forks: dict[int, _Fork]) -> None:
    for pid in list(forks):
        done, wait_status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            forks.pop(pid).report(wait_status, usage)


def _start(
    request: dict[str, Any],
    descriptors: list[int],
    *,
    control: socket.socket,
    forks: dict[int, _Fork],
    inherited: tuple[int, int],
) -> None:
    source, target, status_fd = descriptors
    limits = ExtractionLimits(**request["limits"])
    errors = tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            os.close(status_fd)
            for descriptor in inherited:
                os.close(descriptor)
            for fork in forks.values():
                fork.status.close()
                fork.errors.close()
            os.dup2(errors.fileno(), 2)
            _bound(limits)
            answer = _answer(request, source, limits)
            with os.fdopen(target, "wb") as out:
                out.write(answer)
            code = 0
        except MemoryError:
            code = 71
        finally:
            os._exit(code)
    os.close(source)
    os.close(target)
    forks[pid] = _Fork(pid=pid, status=socket.socket(fileno=status_fd), errors=errors, limits=limits)


def _bound(limits: ExtractionLimits) -> None:
    """Keep this fork within its limits, even if the process that forked it should die."""
    seconds = int(limits.seconds) + 2
    signal.alarm(seconds)  # no handler: it ends the process
    _limit(resource.RLIMIT_CPU, 2 * seconds)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 8 * limits.max_chars)
    if sys.platform.startswith("linux"):  # elsewhere the kernel doesn't keep it
        with open("/proc/self/statm", encoding="ascii") as statm:
            mapped = int(statm.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, mapped + limits.memory_bytes)


def _limit(which: int, value: int) -> None:
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _answer(request: dict[str, Any], source: int, limits: ExtractionLimits) -> bytes:
    """Return the outcome as JSON: {"extracted": ...} or {"failed": code, "fields": ...}."""
    try:
        if os.fstat(source).st_size > limits.file_bytes:
            raise TooLarge(limit=f"{limits.file_bytes // MIB} MB")
        with os.fdopen(source, "rb") as file:
            file.seek(0)
            data = file.read(limits.file_bytes + 1)
        extracted = read(data, file_name=request["file_name"], password=request["password"], limits=limits)
        outcome: dict[str, Any] = {"extracted": asdict(extracted)}
        outcome["extracted"]["entries"] = [list(entry) for entry in extracted.entries]
    except ExtractionFailed as error:
        outcome = {"failed": error.code, "fields": error.fields}
    return json.dumps(outcome, ensure_ascii=False).encode("utf-8")


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's; it closes the socket
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
