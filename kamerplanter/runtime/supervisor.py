"""`./run`: the embedded services, web, worker and beat, each watched and started again when it ends.

    python -m kamerplanter.runtime.supervisor [--port N] [--host ADDRESS] [--without-sample]

Order of starting: PostgreSQL and Valkey; then the database is brought up to date; then web, worker and beat
together. Order of stopping: the other way round, so that whoever works can still save.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path

from kamerplanter.runtime import postgres, prepare
from kamerplanter.runtime.embedded import (
    Service,
    Services,
    await_predecessor,
    bring_up_to_date,
    choose_services,
    without_password,
)
from kamerplanter.runtime.errors import AlreadyRunning, CannotListen, PortTaken, RuntimeProblem
from kamerplanter.runtime.home import CHECKOUT, Home, State, explanation, trim_log
from kamerplanter.runtime.keeper import Keeper, say
from kamerplanter.runtime.processes import Program

TRIM_LOGS_EVERY_S = 60.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run", description="Start Kamerplanter; Ctrl-C stops it.")
    parser.add_argument(
        "--port", type=int, default=8000, help="port of the web pages (default 8000; 0: any free one)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine)"
    )
    parser.add_argument("--without-sample", action="store_true", help="start with an empty knowledge base")
    options = parser.parse_args(arguments)
    path = Path(os.environ.get("KAMERPLANTER_HOME") or CHECKOUT / "var")
    try:
        home = Home.open()
        supervisor = Supervisor(home, host=options.host, port=options.port, sample=not options.without_sample)
        return asyncio.run(supervisor.run())
    except RuntimeProblem as reason:
        say(str(reason), to=sys.stderr)
    except OSError as reason:
        say(str(explanation(reason, path=path)), to=sys.stderr)
    return 1


def listen(host: str, port: int) -> socket.socket:
    """The web server's socket. Ours, so that the port stays ours while the web server is started again.

    Raises PortTaken, CannotListen.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by each connection: streamed words go out one by one, not gathered.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        if error.errno == 98 or "in use" in str(error):
            raise PortTaken(host, port) from None
        raise CannotListen(host, port, error.strerror or str(error)) from None
    except OverflowError:
        raise CannotListen(host, port, "no such port") from None
    return listener


class Supervisor:
    def __init__(self, home: Home, *, host: str, port: int, sample: bool) -> None:
        self.home = home
        self.host = host
        self.port = port
        self.sample = sample
        self.state = State(kind="run", pid=os.getpid())
        self.stages: list[list[Keeper]] = []  # in order of starting
        self.stop_asked = asyncio.Event()
        self.without_data: list[Keeper] = []

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self.ask_to_stop)
        stopping = asyncio.create_task(self.stop_asked.wait())
        working = asyncio.create_task(self.work())
        try:
            await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self.stop_asked.is_set():
                say("Stopping")
            working.cancel()
            outcome = (await asyncio.gather(working, return_exceptions=True))[0]
        if isinstance(outcome, Exception):
            raise outcome
        say("Stopped")
        return 0

    def ask_to_stop(self) -> None:
        if self.stop_asked.is_set():
            # Asked twice: whoever holds no data of its own goes at once.
            for keeper in self.without_data:
                keeper.kill()
        self.stop_asked.set()

    async def work(self) -> None:
        """Start everything, then watch until cancelled. Raises RuntimeProblem."""
        owner = await self.own_home()
        try:
            with listen(self.host, self.port) as listener:
                lock = await await_predecessor(self.home)
                self.write_state()
                try:
                    services = await choose_services(self.home, lock=lock)
                    await self.start_stage([self.keeper_of(service) for service in services.embedded])
                    self.state.embedded = [service.program.name for service in services.embedded]
                    await self.prepare(services)
                    # Commands join us from here on; before, they would find no tables.
                    self.state.database_url = without_password(services.database_url)
                    self.state.redis_url = without_password(services.redis_url)
                    await self.start_stage(self.applications(services, listener))
                    self.port = listener.getsockname()[1]
                    self.state.url = self.url()
                    self.write_state()
                    say(f"Ready: {self.state.url}")
                    await self.watch()
                finally:
                    # The services still need the lock and the owner mark while they stop.
                    await self.stop()
                    os.close(lock)
        finally:
            self.home.forget_state()
            os.close(owner)

    async def own_home(self) -> int:
        """Be the one that runs this home's services. Raises AlreadyRunning; waits for a mere command."""
        told = False
        while (owner := self.home.lock("owner")) is None:
            state = self.home.state()
            if state is not None and state.kind == "run":
                raise AlreadyRunning(home=self.home.path, url=state.url, pid=state.pid)
            if not told:
                told = True
                say(
                    "Waiting for a command that uses the database"
                    + (f" (process {state.pid})" if state else "")
                )
            await asyncio.sleep(0.2)
        return owner

    def keeper_of(self, service: Service) -> Keeper:
        return Keeper(
            program=service.program, answers=service.answers, before=service.before, changed=self.write_state
        )

    async def start_stage(self, keepers: list[Keeper]) -> None:
        """Start them together; return when all are ready. Raises what keeps one from starting."""
        self.stages.append(keepers)
        for keeper in keepers:
            keeper.task = asyncio.create_task(keeper.keep())
        kept = [keeper.task for keeper in keepers if keeper.task]

        async def all_are_ready() -> None:
            for keeper in keepers:
                await keeper.ready.wait()

        ready = asyncio.create_task(all_are_ready())
        try:
            await asyncio.wait([ready, *kept], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        for task in kept:
            if task.done():
                task.result()

    async def prepare(self, services: Services) -> None:
        """Migrations, sample base, admin. Skipped where this home's own database has had them already."""
        if postgres.NAME in self.state.embedded and prepare.is_prepared(self.home, step="prepared"):
            return
        await bring_up_to_date(self.home, services, only="" if self.sample else "--without-sample")

    def applications(self, services: Services, listener: socket.socket) -> list[Keeper]:
        python = sys.executable
        # Static files come out of the packages; the folder for collected ones only has to be there.
        (self.home.path / "static").mkdir(exist_ok=True)
        web = Program(
            name="web",
            # No access log: addresses of pages can hold what people asked.
            argv=[
                *(python, "-m", "uvicorn", "kamerplanter.asgi:application", "--fd", str(listener.fileno())),
                *("--lifespan", "off", "--no-access-log", "--timeout-graceful-shutdown", "5"),
            ],
            env=os.environ | services.environment(self.home) | {"PYTHONUNBUFFERED": "1"},
            cwd=CHECKOUT,
            log=self.home.log("web"),
            keep_open=[listener.fileno()],
            stop=[(signal.SIGTERM, 8), (signal.SIGKILL, 5)],
        )
        celery = [python, "-m", "celery", "-A", "kamerplanter"]
        worker = replace(
            web,
            name="worker",
            argv=[
                *(*celery, "worker", "--pool", "prefork", "--concurrency", "2", "--loglevel", "INFO"),
                *("--hostname", "worker@%h", "--without-gossip", "--without-mingle"),
            ],
            log=self.home.log("worker"),
            keep_open=(),
            # Asked nicely it finishes the task at hand; a longer one is taken up again after the next start.
            stop=[(signal.SIGTERM, 10), (signal.SIGQUIT, 3), (signal.SIGKILL, 5)],
        )
        beat = replace(
            web,
            name="beat",
            argv=[*celery, "beat", "--loglevel", "INFO"],
            log=self.home.log("beat"),
            keep_open=(),
            stop=[(signal.SIGTERM, 5), (signal.SIGKILL, 5)],
        )
        host, port = listener.getsockname()[:2]
        keepers = []
        for program in (web, worker, beat):
            keeper = Keeper(program=program, answers=_never, changed=self.write_state)
            keepers.append(keeper)
        keepers[0].answers = lambda: _web_answers(_own_address(host), port)
        keepers[1].answers = lambda: _worker_answers(services.redis_url)
        keepers[2].answers = lambda: _has_said(keepers[2], b"beat: Starting")
        self.without_data = keepers
        return keepers

    async def watch(self) -> None:
        """Keep the logs short until cancelled; what a keeper cannot mend ends the watch."""
        tasks = {keeper.task for stage in self.stages for keeper in stage if keeper.task}
        while True:
            done, _ = await asyncio.wait(
                tasks, timeout=TRIM_LOGS_EVERY_S, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            for stage in self.stages:
                for keeper in stage:
                    trim_log(keeper.program.log)

    async def stop(self) -> None:
        """Last started, first stopped; PostgreSQL last of all, when nobody can write any more."""
        while self.stages:
            stage = self.stages.pop()
            if any(keeper.program.name == postgres.NAME for keeper in stage):
                for keeper in reversed(stage):
                    await keeper.stop()
            else:
                await asyncio.gather(*(keeper.stop() for keeper in stage))

    def write_state(self) -> None:
        self.state.processes = {
            keeper.program.name: keeper.process.pid
            for stage in self.stages
            for keeper in stage
            if keeper.process is not None
        }
        self.home.write_state(self.state)

    def url(self) -> str:
        host = _own_address(self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def _own_address(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


async def _never() -> bool:
    return False


async def _web_answers(host: str, port: int) -> bool:
    """Whether a page is answered, whatever it says, as long as it is no error of ours."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 5)
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            status = await asyncio.wait_for(reader.readline(), 30)
        finally:
            writer.close()
    except (OSError, TimeoutError):
        return False
    parts = status.split()
    return len(parts) > 1 and parts[1].isdigit() and int(parts[1]) < 500


async def _worker_answers(redis_url: str) -> bool:
    def ping() -> bool:
        from celery import Celery

        with Celery("ping", broker=redis_url, set_as_current=False) as app:
            return bool(app.control.ping(timeout=0.5))

    try:
        return await asyncio.to_thread(ping)
    except Exception:
        return False


async def _has_said(keeper: Keeper, words: bytes) -> bool:
    with keeper.program.log.open("rb") as log:
        log.seek(keeper.log_starts_at)
        return words in log.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
