"""PostgreSQL and Valkey for whoever needs them: `./run`, a management command, the tests.

Where DATABASE_URL and REDIS_URL are set those servers are used. Otherwise one process at a time owns the
embedded services of a home; commands that come while it does use them along with it.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis
from redis.exceptions import RedisError

from kamerplanter.runtime import postgres, valkey
from kamerplanter.runtime.account import place_services
from kamerplanter.runtime.errors import DidNotStart, RuntimeProblem, ServerUnreachable
from kamerplanter.runtime.home import CHECKOUT, Home, State
from kamerplanter.runtime.prepare import is_prepared, note
from kamerplanter.runtime.processes import Program, last_line, run_to_end, start, stop

MIGRATE_ONLY = "--migrate-only"
READY_WITHIN_S = 600.0  # recovery after a crash may have much to read again


@dataclass(frozen=True)
class Service:
    """An embedded server: its program, whether it answers, and what to clear away before each start."""

    program: Program
    answers: Callable[[], Awaitable[bool]]
    before: Callable[[], None]


@dataclass(frozen=True)
class Services:
    """The addresses carry passwords: for the environment of children, never for a log."""

    database_url: str
    redis_url: str
    embedded: list[Service]

    def environment(self, home: Home) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "SECRET_KEY": os.environ.get("SECRET_KEY") or home.secret("secret_key"),
            "KAMERPLANTER_HOME": str(home.path),
        }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def choose_services(home: Home, *, lock: int) -> Services:
    """Check the servers named by the environment; make ready to start the others.

    Raises RuntimeProblem.
    """
    database_url, redis_url = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
    embedded: list[Service] = []
    if database_url:
        _check_database(database_url)
    if redis_url:
        _check_redis(redis_url)
    if not database_url or not redis_url:
        place = place_services(home)
        if not database_url:
            for name in [name for name in os.environ if name.startswith("PG")]:
                del os.environ[name]  # meant for another server; each would change how ours is reached
            await postgres.make_database(home, place, say=say)
            port = _free_port()
            at = database_url = postgres.url(home, port)
            embedded.append(
                Service(
                    program=postgres.program(home, place, port=port, lock=lock),
                    answers=lambda: postgres.answers(at),
                    before=lambda: postgres.clear_stale(place),
                )
            )
        if not redis_url:
            port = _free_port()
            there = redis_url = valkey.url(home, port)
            embedded.append(
                Service(
                    program=valkey.program(home, place, port=port, lock=lock),
                    answers=lambda: valkey.answers(there),
                    before=lambda: None,
                )
            )
    return Services(database_url=database_url, redis_url=redis_url, embedded=embedded)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def without_password(url: str) -> str:
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def _check_database(url: str) -> None:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise ServerUnreachable(
            variable="DATABASE_URL",
            address=without_password(url),
            reason=reason.removeprefix("connection failed: "),
        ) from None


def _check_redis(url: str) -> None:
    try:
        client = redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5)
        client.ping()
        client.close()
    except (RedisError, OSError, ValueError) as error:
        raise ServerUnreachable(
            variable="REDIS_URL",
            address=without_password(url),
            reason=str(error).rstrip(".") or type(error).__name__,
        ) from None


async def start_service(service: Service) -> subprocess.Popen[bytes]:
    """Start it and wait until it answers. Raises DidNotStart.

    PostgreSQL may have to be asked more than once after a kill: its last children hold the shared memory
    for a moment longer than it lives.
    """
    for attempt in range(6):
        await asyncio.sleep(0.4 * attempt)
        service.before()
        process = start(service.program)
        try:
            until = time.monotonic() + READY_WITHIN_S
            while process.poll() is None and time.monotonic() < until:
                if await service.answers():
                    return process
                await asyncio.sleep(0.05)
        except BaseException:
            await stop(service.program, process)
            raise
        await stop(service.program, process)
    log = service.program.log
    raise DidNotStart(service.program.name, log=log, reason=last_line(log))


async def bring_up_to_date(home: Home, services: Services, *, only: str = "") -> None:
    """Run `prepare` on these services, and note it where the database is this home's.

    only: one of its options, or "" for everything. Raises DidNotStart.
    """
    log = home.log("prepare")
    name = "Preparing the database"
    say("Bringing the database up to date")
    program = Program(
        name=name,
        argv=[sys.executable, "-m", "kamerplanter.runtime.prepare", *([only] if only else [])],
        env=os.environ | services.environment(home),
        cwd=CHECKOUT,
        log=log,
        stop=[(signal.SIGTERM, 10), (signal.SIGKILL, 5)],
        shows_output=only != MIGRATE_ONLY,
    )
    if await run_to_end(program):
        raise DidNotStart(name, log=log, reason=last_line(log))
    if any(service.program.name == postgres.NAME for service in services.embedded):
        note(home, step="migrated" if only == MIGRATE_ONLY else "prepared")


async def await_predecessor(home: Home) -> int:
    """Take over the services' lock; services whose owner was killed are asked to end first.

    They hold the lock until they are gone, so nothing starts on data that is still being written.
    """
    told = False
    until = time.monotonic() + 90
    while (handle := home.lock("services")) is None:
        if not told:
            told = True
            say("Waiting for the services of the last start to end")
            if state := home.state():
                _ask_to_end(home, state)
        if time.monotonic() > until:
            raise DidNotStart(
                postgres.NAME, log=home.log("postgres"), reason="the one of the last start does not end"
            )
        await asyncio.sleep(0.1)
    return handle


def _ask_to_end(home: Home, state: State) -> None:
    pointer = home.path / "data-elsewhere"
    data = Path(pointer.read_text().strip()) if pointer.exists() else home.path
    for name, number in ((postgres.NAME, signal.SIGINT), (valkey.NAME, signal.SIGTERM)):
        pid = state.processes.get(name)
        try:
            # The number may belong to another process by now; ours work in our folders.
            if pid and Path(f"/proc/{pid}/cwd").readlink().is_relative_to(data):
                os.kill(pid, number)
        except OSError:
            continue


@contextmanager
def provided_services(home: Home, *, up_to_date: bool) -> Iterator[None]:
    """Put the services' addresses into this process' environment.

    Joins whoever owns the services of this home, or owns them for the duration. up_to_date: where we own
    the database, migrations that it lacks are applied first. Raises RuntimeProblem.
    """
    if os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"):
        if not os.environ.get("SECRET_KEY"):
            os.environ["SECRET_KEY"] = home.secret("secret_key")
        yield
        return
    waited_since = time.monotonic()
    while True:
        if (owner := home.lock("owner")) is not None:
            with _owned(home, owner, up_to_date=up_to_date):
                yield
            return
        # Held while we work, so that an owning command waits with stopping; it cannot begin to in between.
        user = home.lock("users", shared=True)
        state = home.state()
        if user is not None and state is not None and state.database_url and state.redis_url:
            try:
                os.environ.update(_joined(home, state))
                yield
            finally:
                os.close(user)
            return
        if user is not None:
            os.close(user)
        if time.monotonic() - waited_since > 300:
            raise RuntimeProblem(
                f"Kamerplanter has been starting for five minutes; look into {home.path / 'log'}."
            )
        time.sleep(0.1)


def _joined(home: Home, state: State) -> dict[str, str]:
    """The environment for using the services `state` tells of."""
    environment = {"SECRET_KEY": os.environ.get("SECRET_KEY") or home.secret("secret_key")}
    for variable, name, address, secret in (
        ("DATABASE_URL", postgres.NAME, state.database_url, "database_password"),
        ("REDIS_URL", valkey.NAME, state.redis_url, "valkey_password"),
    ):
        if os.environ.get(variable):
            continue
        if name not in state.embedded:
            raise RuntimeProblem(
                f"Kamerplanter runs with {variable} at {address}; set the same {variable} for this command."
            )
        parts = urlsplit(address or "")
        user = postgres.ROLE if name == postgres.NAME else ""
        environment[variable] = parts._replace(netloc=f"{user}:{home.secret(secret)}@{parts.netloc}").geturl()
    return environment


@contextmanager
def _owned(home: Home, owner: int, *, up_to_date: bool) -> Iterator[None]:
    running: list[tuple[Program, subprocess.Popen[bytes]]] = []
    users: int | None = None

    def names() -> list[str]:
        return [program.name for program, _ in running]

    async def begin() -> Services:
        lock = await await_predecessor(home)
        try:
            home.write_state(State(kind="command", pid=os.getpid()))
            services = await choose_services(home, lock=lock)
            for service in services.embedded:
                running.append((service.program, await start_service(service)))
        finally:
            os.close(lock)  # the services hold it now
        if up_to_date and postgres.NAME in names() and not is_prepared(home, step="migrated"):
            await bring_up_to_date(home, services, only=MIGRATE_ONLY)
        return services

    async def end() -> None:
        for program, process in reversed(running):
            await stop(program, process)

    try:
        services = asyncio.run(begin())
        home.write_state(
            State(
                kind="command",
                pid=os.getpid(),
                database_url=without_password(services.database_url),
                redis_url=without_password(services.redis_url),
                embedded=names(),
                processes={program.name: process.pid for program, process in running},
            )
        )
        os.environ.update(services.environment(home))
        try:
            yield
        finally:
            if (users := home.lock("users")) is None:
                say("Waiting for another command that uses the same services")
                users = home.lock("users", wait=True)
    finally:
        home.forget_state()
        asyncio.run(end())
        if users is not None:
            os.close(users)
        os.close(owner)
