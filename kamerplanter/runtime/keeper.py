"""Keep one program running: watch it, start it again when it ends, and say so."""

import asyncio
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TextIO

from kamerplanter.runtime.errors import DidNotStart
from kamerplanter.runtime.home import trim_log
from kamerplanter.runtime.processes import Program, how_it_ended, last_line, start, stop

# Seconds before the next start, by how many ends the last minute saw.
PAUSES_S = (0.2, 0.5, 1.0, 2.0)
WINDOW_S = 60.0
OFTEN = 5
SLOWLY_S = 30.0
TRIES_AT_FIRST = 4
SILENT_S = 60.0


def say(text: str, *, to: TextIO | None = None) -> None:
    print(text, file=to or sys.stdout, flush=True)


class Keeper:
    def __init__(
        self,
        *,
        program: Program,
        answers: Callable[[], Awaitable[bool]],
        changed: Callable[[], None],
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.program = program
        self.answers = answers
        self.changed = changed
        self.before = before
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.log_starts_at = 0

    async def keep(self) -> None:
        """Run it for ever. Raises DidNotStart if it never once came up."""
        ends: deque[float] = deque()
        while True:
            self.before()
            trim_log(self.program.log)
            self.log_starts_at = self.program.log.stat().st_size if self.program.log.exists() else 0
            self.process = start(self.program)
            self.changed()
            status = await self._watch(back=bool(ends) and self.ready.is_set())
            now = time.monotonic()
            ends.append(now)
            while ends[0] < now - WINDOW_S:
                ends.popleft()
            name, log = self.program.name, self.program.log
            if not self.ready.is_set() and len(ends) >= TRIES_AT_FIRST:
                raise DidNotStart(name, log=log, reason=last_line(log))
            pause_s = PAUSES_S[min(len(ends), len(PAUSES_S)) - 1]
            if len(ends) >= OFTEN:
                pause_s = SLOWLY_S
                say(
                    f"{name} {how_it_ended(status)}, the {len(ends)}th time within a minute; "
                    f"what it said is in {log}. "
                    f"Trying again every {SLOWLY_S:.0f} seconds."
                )
            elif self.ready.is_set():
                say(f"{name} {how_it_ended(status)}; starting it again")
            await asyncio.sleep(pause_s)

    async def _watch(self, *, back: bool) -> int:
        """Wait for its end; mark it ready, and say that it is back, once it answers."""
        process = self.process
        assert process is not None
        answered = told = False
        since = time.monotonic()
        while process.poll() is None:
            if not (answered or told) and time.monotonic() - since > SILENT_S:
                told = True
                say(
                    f"{self.program.name} has not answered for {SILENT_S:.0f} seconds; see {self.program.log}"
                )
            if not answered and await self.answers() and process.poll() is None:
                answered = True
                self.ready.set()
                if back:
                    say(f"{self.program.name} is back")
            await asyncio.sleep(0.2 if answered else 0.05)
        return int(process.returncode)

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        if self.process is not None:
            await stop(self.program, self.process)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
