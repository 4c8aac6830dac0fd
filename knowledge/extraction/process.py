"""The caller's side of the reading process: starts it once per process, asks it, hears how it ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge.errors import EXTRACTION_FAILURES, ExtractorCrashed, TookTooLong, TooLarge
from knowledge.errors import translatable as _
from knowledge.extraction.extracted import MIB, Entry, Extracted, ExtractionLimits

# On top of the limit in seconds: what the reading process may take to start and to answer.
GRACE_S = 30.0
# Files that one process has read at the same time; each may take the memory of a limit.
AT_ONCE = 4
ROOT = Path(__file__).resolve().parents[2]


class _Reader:
    """The running reading process of this process, if there is one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.places = threading.BoundedSemaphore(AT_ONCE)
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def send(self, request: bytes, descriptors: list[int]) -> None:
        """Hand a request over, starting the process if it doesn't run (any more)."""
        with self.lock:
            for attempt in (1, 2):
                if self.control is None or self.process is None or self.process.poll() is not None:
                    self._start()
                assert self.control is not None
                try:
                    socket.send_fds(self.control, [request], descriptors)
                    return
                except OSError as error:
                    self.stop()
                    if attempt == 2:
                        raise ExtractorCrashed(
                            reason=f"the reading process cannot be reached: {error}"
                        ) from error

    def _start(self) -> None:
        self.stop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            }
            environment.update(MALLOC_ARENA_MAX="2", RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1")
            self.process = subprocess.Popen(
                [sys.executable, "-m", "knowledge.extraction.child", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        self.control = ours

    def stop(self) -> None:
        """Close the socket, on which the process ends itself and its forks."""
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def forget(self) -> None:
        """In a fork of this process: the reading process belongs to the parent."""
        self.lock = threading.Lock()
        self.places = threading.BoundedSemaphore(AT_ONCE)
        if self.control is not None:
            self.control.close()
        self.control = None
        self.process = None


_reader = _Reader()
os.register_at_fork(after_in_child=_reader.forget)


def stop() -> None:
    """End the reading process of this process, if it runs; the next file starts another."""
    with _reader.lock:
        _reader.stop()


def read_in_child(*, path: Path, file_name: str, password: str | None, limits: ExtractionLimits) -> Extracted:
    """Have the file read by a fork of the reading process; safe to call from several threads."""
    request = json.dumps({"file_name": file_name, "password": password, "limits": asdict(limits)}).encode()
    with _reader.places, path.open("rb") as source, tempfile.TemporaryFile() as target:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                _reader.send(request, [source.fileno(), target.fileno(), theirs.fileno()])
            line = _last_words(ours, limits=limits)
        _check_ending(line, limits=limits)
        target.seek(0)
        return _outcome(json.loads(target.read()))


def _last_words(status: socket.socket, *, limits: ExtractionLimits) -> bytes:
    """What the reading process says of the fork's end; b"" if it has ended itself."""
    status.settimeout(limits.seconds + GRACE_S)
    line = b""
    try:
        while part := status.recv(4096):
            line += part
    except TimeoutError as error:
        raise TookTooLong(seconds=limits.seconds) from error
    except OSError as error:
        raise ExtractorCrashed(reason=str(error)) from error
    return line


def _check_ending(line: bytes, *, limits: ExtractionLimits) -> None:
    if not line:
        raise ExtractorCrashed(reason="the reading process ended")
    ending = json.loads(line)
    if ending["exit"] == 0:
        return
    if ending["timed_out"] or ending["exit"] in (-14, -24):  # SIGALRM, SIGXCPU
        raise TookTooLong(seconds=limits.seconds)
    if ending["exit"] == -25:  # SIGXFSZ
        raise TooLarge(limit=_("%(amount)s characters"), amount=limits.max_chars)
    if ending["exit"] == 71 or ending["out_of_memory"]:
        raise TooLarge(limit=_("%(amount)s MB of memory"), amount=limits.memory_bytes // MIB)
    raise ExtractorCrashed(reason=f"exit {ending['exit']}")


def _outcome(outcome: dict[str, Any]) -> Extracted:
    if "failed" in outcome:
        raise EXTRACTION_FAILURES[outcome["failed"]](**outcome["fields"])
    fields = outcome["extracted"]
    return Extracted(
        **{
            **fields,
            "pages": tuple(fields["pages"]),
            "entries": tuple(Entry(*entry) for entry in fields["entries"]),
            "warnings": tuple(fields["warnings"]),
        }
    )
