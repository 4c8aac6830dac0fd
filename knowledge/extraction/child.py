"""The reading process: `python -m knowledge.extraction.child FD`, started by `extract`.

It imports the readers once, stays single-threaded, and forks for each file, so that every file has
a fresh process with its own limits and a crash costs nothing but that file. A request is a datagram
on the socket FD: JSON, with three descriptors beside it: the file, where the answer goes, and a
socket on which one line says how the fork ended. When FD is closed, it and its forks go.
"""

from __future__ import annotations

import contextlib
import gc
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
from typing import IO, Any

from knowledge.errors import ExtractionFailed, ExtractorCrashed, TooLarge
from knowledge.errors import translatable as _
from knowledge.extraction.extracted import DEFAULT, MIB, ExtractionLimits
from knowledge.extraction.reading import read

REQUEST_BYTES = 65_536
TICK_S = 0.2  # how late a deadline may be noticed
WARM_UP = (
    ("a.md", "---\ntitle: Beet\n---\n# Größe\n\nText."),
    ("a.txt", "Полив"),
    ("a.yaml", "title: a\nchunks:\n- {id: a, content: b}\n"),
)
EXIT_UNFORESEEN = 70
EXIT_OUT_OF_MEMORY = 71


class _Fork:
    """A fork at work on one file, seen from the process that forked it."""

    def __init__(
        self, *, pid: int, status: socket.socket, errors: IO[bytes], limits: ExtractionLimits
    ) -> None:
        self.pid = pid
        self.status = status
        self.errors = errors
        self.limits = limits
        self.deadline = time.monotonic() + limits.seconds
        self.timed_out = False

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def report(self, wait_status: int, usage: resource.struct_rusage) -> None:
        """Tell the caller how the fork ended: one JSON line, then end of file."""
        self.errors.seek(0)
        said = self.errors.read(4096)
        peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        ending = {
            "exit": os.waitstatus_to_exitcode(wait_status),
            "timed_out": self.timed_out,
            "out_of_memory": b"memory allocation" in said
            or b"bad_alloc" in said
            or peak_bytes > 0.9 * self.limits.memory_bytes,
        }
        with contextlib.suppress(OSError):  # the caller may have gone
            self.status.sendall(json.dumps(ending).encode() + b"\n")
        self.close()

    def close(self) -> None:
        self.status.close()
        self.errors.close()


class _Server:
    """Forks for each request on control until the other side closes it."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.forks: dict[int, _Fork] = {}
        # Signals of ended forks wake the wait up through this pair.
        self.wake, self.waker = socket.socketpair()
        self.wake.setblocking(False)
        self.waker.setblocking(False)
        self.mapped_bytes = _mapped_bytes()

    def serve(self) -> None:
        signal.set_wakeup_fd(self.waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            watched = [self.control, self.wake, *(fork.status for fork in self.forks.values())]
            ready, _, _ = select.select(watched, [], [], TICK_S if self.forks else None)
            if self.wake in ready:
                with contextlib.suppress(BlockingIOError):
                    self.wake.recv(4096)
            self._reap()
            for fork in self.forks.values():
                fork.timed_out = fork.timed_out or time.monotonic() > fork.deadline
                if fork.timed_out or fork.status in ready:  # callers only ever close it
                    fork.kill()
            if self.control in ready:
                message, descriptors, _, _ = socket.recv_fds(self.control, REQUEST_BYTES, 3)
                if not message:
                    break
                self._start(json.loads(message), *descriptors)
        for fork in self.forks.values():
            fork.kill()
            os.waitpid(fork.pid, 0)

    def _reap(self) -> None:
        for pid in list(self.forks):
            done, wait_status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                self.forks.pop(pid).report(wait_status, usage)

    def _start(self, request: dict[str, Any], source: int, target: int, status: int) -> None:
        limits = ExtractionLimits(**request["limits"])
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - outlives this function
        pid = os.fork()
        if pid == 0:
            code = EXIT_UNFORESEEN
            try:
                os.close(status)
                self._leave()
                os.dup2(errors.fileno(), 2)
                _bound(limits, mapped_bytes=self.mapped_bytes)
                answer = _answer(request, source, limits)
                with os.fdopen(target, "wb") as out:
                    out.write(answer)
                code = 0
            except MemoryError:
                code = EXIT_OUT_OF_MEMORY
            finally:
                os._exit(code)  # at once: no atexit, no waiting for the threads of the readers
        os.close(source)
        os.close(target)
        self.forks[pid] = _Fork(pid=pid, status=socket.socket(fileno=status), errors=errors, limits=limits)

    def _leave(self) -> None:
        """In a fork: let go of what belongs to the server, so that its ends of file are seen."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for connection in (self.control, self.wake, self.waker):
            connection.close()
        for fork in self.forks.values():
            fork.close()


def _mapped_bytes() -> int | None:
    """The address space that this process has by now; None where the kernel keeps no limit on it."""
    if not sys.platform.startswith("linux"):
        return None
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def _bound(limits: ExtractionLimits, *, mapped_bytes: int | None) -> None:
    """Keep this fork within its limits, even if the process that forked it should die."""
    seconds = int(limits.seconds) + 2
    signal.alarm(seconds)  # no handler: it ends the process
    _limit(resource.RLIMIT_CPU, 2 * seconds)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 8 * limits.max_chars)
    if mapped_bytes is not None:
        _limit(resource.RLIMIT_AS, mapped_bytes + limits.memory_bytes)


def _limit(which: int, value: int) -> None:
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _answer(request: dict[str, Any], source: int, limits: ExtractionLimits) -> bytes:
    """Return the outcome as JSON: {"extracted": ...} or {"failed": code, "fields": ...}."""
    try:
        if os.fstat(source).st_size > limits.file_bytes:
            raise TooLarge(limit=_("%(amount)s MB"), amount=limits.file_bytes // MIB)
        with os.fdopen(source, "rb") as file:
            data = file.read()
        extracted = read(data, file_name=request["file_name"], password=request["password"], limits=limits)
        outcome: dict[str, Any] = {"extracted": asdict(extracted)}
        outcome["extracted"]["entries"] = [list(entry) for entry in extracted.entries]
    except ExtractionFailed as error:
        outcome = {"failed": error.code, "fields": error.fields}
    except MemoryError:
        raise
    except BaseException as error:  # a panic of a native reader is none of Exception
        # The type only: the message may quote the document.
        outcome = {"failed": ExtractorCrashed.code, "fields": {"reason": type(error).__name__}}
    return json.dumps(outcome, ensure_ascii=False).encode("utf-8", "replace")


def _warm_up() -> None:
    """Compile and load on text what else each fork would; kreuzberg would start threads."""
    for file_name, text in WARM_UP:
        read(text.encode(), file_name=file_name, password=None, limits=DEFAULT)
    gc.collect()
    gc.freeze()  # so that a collection in a fork does not copy every page


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's; it closes the socket
    control = socket.socket(fileno=int(sys.argv[1]))
    _warm_up()
    _Server(control).serve()


if __name__ == "__main__":
    main()
