"""One child process: how it is started, asked to stop, and taken along when we are killed."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kamerplanter.runtime.account import Account
from kamerplanter.runtime.home import explained

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run and how it ends.

    stop: signals in order, each with the seconds to wait for the end before the next.
    death_signal: what the kernel sends it should we be killed (Linux).
    keep_open: descriptors it inherits: a lock it shares, a socket it serves.
    stdin: fed to it and closed; the way for secrets, which have no place on a command line.
    """

    name: str
    argv: Sequence[str | Path]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    stop: Sequence[tuple[signal.Signals, float]]
    death_signal: signal.Signals = signal.SIGKILL
    account: Account | None = None
    keep_open: Sequence[int] = ()
    stdin: bytes = b""
    shows_output: bool = False


def start(program: Program) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, so that Ctrl-C reaches us alone and the order of stopping is ours."""
    us = os.getpid()
    account = program.account

    def follow_us_into_death() -> None:
        # After the change of user: that change clears it.
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(program.death_signal))
            if os.getppid() != us:
                os._exit(1)

    with explained(program.log), program.log.open("ab") as log:
        process = subprocess.Popen(
            [str(part) for part in program.argv],
            env=dict(program.env),
            cwd=program.cwd,
            stdin=subprocess.PIPE if program.stdin else subprocess.DEVNULL,
            stdout=None if program.shows_output else log,
            stderr=log,
            start_new_session=True,
            pass_fds=tuple(program.keep_open),
            preexec_fn=follow_us_into_death,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    if process.stdin is not None:
        try:
            process.stdin.write(program.stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended; whoever waits for it sees how
    return process


async def stop(program: Program, process: subprocess.Popen[bytes]) -> None:
    """Send the stop signals in turn until it has ended."""
    for number, patience_s in program.stop:
        if process.poll() is not None:
            return
        process.send_signal(number)
        until = time.monotonic() + patience_s
        while process.poll() is None and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def run_to_end(program: Program) -> int:
    """Run it and return its exit status; when we are cancelled it is stopped first."""
    process = start(program)
    try:
        while process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    finally:
        await stop(program, process)
    return int(process.returncode)


def how_it_ended(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def last_line(log: Path) -> str:
    """The last thing it said, for a message; "" if nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
            lines = [
                line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()
            ]
    except FileNotFoundError:
        return ""
    return lines[-1][:200] if lines else ""
