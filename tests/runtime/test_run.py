"""`./run` from its user's side: it starts, says where, keeps the data, mends what dies, stops cleanly."""

import os
import re
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.runtime.conftest import CHECKOUT, Run, alive, bare_environment, until

EVERY_PROCESS = ["web", "worker", "beat", "Valkey", "PostgreSQL"]


def manage(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CHECKOUT / "manage", *arguments],
        env=bare_environment(home, **environment),
        capture_output=True,
        text=True,
        timeout=120,
    )


def count_users(home: Path) -> str:
    """Asked through `./manage`, which finds the services by itself."""
    script = "from accounts.models import User; print('users', User.objects.count())"
    done = manage(home, "shell", "--no-imports", "--command", script)
    assert done.returncode == 0, done.stderr
    said: str = done.stdout
    return said.strip()


def database_url(one: Run) -> str:
    password = (one.home / "secrets" / "database_password").read_text()
    url: str = one.state["database_url"]
    return url.replace("://", f"://kamerplanter:{password}@")


class TestRunning:
    def test_says_where_and_answers_there(self, running: Run) -> None:
        assert f"Ready: {running.state['url']}" in running.said()
        assert running.answers()
        assert sorted(running.processes) == sorted(EVERY_PROCESS)

    def test_first_start_prints_a_password_that_logs_in(self, running: Run) -> None:
        found = re.search(r"as admin with the password (\S+)", running.said())
        assert found
        script = (
            "import sys; from accounts.models import User; "
            "print(User.objects.get(username='admin').check_password(sys.stdin.read()))"
        )
        done = subprocess.run(
            [CHECKOUT / "manage", "shell", "--no-imports", "--command", script],
            env=bare_environment(running.home),
            input=found[1],
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == "True", done.stderr

    def test_second_run_on_the_same_home_says_where_the_first_is(self, running: Run) -> None:
        second = subprocess.run(
            [CHECKOUT / "run"], env=bare_environment(running.home), capture_output=True, text=True, timeout=60
        )
        assert second.returncode == 1
        assert second.stderr.count("\n") == 1
        assert f"already running at {running.state['url']} (process {running.process.pid}" in second.stderr

    def test_a_taken_port_is_one_sentence(self, running: Run, home: Path) -> None:
        port = running.state["url"].rsplit(":", 1)[1]
        second = subprocess.run(
            [CHECKOUT / "run", "--port", port],
            env=bare_environment(home),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert second.returncode == 1
        assert second.stderr.startswith(f"Port {port} on 127.0.0.1 is used by another program")
        assert second.stderr.count("\n") == 1

    def test_secrets_are_closed_and_shown_nowhere(self, running: Run) -> None:
        folder = running.home / "secrets"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        secrets = {file.name: file.read_text() for file in folder.iterdir()}
        assert sorted(secrets) == ["database_password", "secret_key", "valkey_password"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
        told = running.said() + (running.home / "runtime.json").read_text()
        told += "".join(log.read_text(errors="replace") for log in (running.home / "log").iterdir())
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in running.processes.values()]
        for secret in secrets.values():
            assert secret not in told
            assert not [command for command in commands if secret in command]

    def test_database_takes_the_password_and_nobody_else(self, running: Run) -> None:
        with psycopg.connect(database_url(running)) as connection:
            assert connection.execute(
                "select rolsuper from pg_roles where rolname = current_user"
            ).fetchone() == (False,)
            version = connection.execute("show server_version_num").fetchone()
            assert version is not None
            assert version[0].startswith("18")
            assert connection.execute(
                "select count(*) from pg_extension where extname = 'vector'"
            ).fetchone() == (1,)
            assert connection.execute("show data_checksums").fetchone() == ("on",)
        for other in ("postgres", "kamerplanter"):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(running.state["database_url"].replace("://", f"://{other}:wrong@"))

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
    def test_services_do_not_run_as_root(self, running: Run) -> None:
        owners = {name: Path(f"/proc/{pid}").stat().st_uid for name, pid in running.processes.items()}
        assert owners["PostgreSQL"] == owners["Valkey"] != 0

    @pytest.mark.parametrize("name", EVERY_PROCESS)
    def test_what_is_killed_comes_back(self, running: Run, name: str) -> None:
        before = running.processes[name]
        said_before = running.said()
        os.kill(before, signal.SIGKILL)

        def it_is_back() -> bool:
            return f"{name} is back" in running.said()[len(said_before) :]

        until(it_is_back)
        assert f"{name} was ended by SIGKILL; starting it again" in running.said()[len(said_before) :]
        assert running.processes[name] != before
        until(running.answers)
        assert count_users(running.home) == "users 1"

    def test_worker_still_takes_messages_after_its_broker_died(self, running: Run) -> None:
        """After the kills above: a message sent now reaches the worker that was there before."""
        script = "from kamerplanter.celery import app; print(sorted(app.control.ping(timeout=2)[0].values()))"

        def worker_answers() -> bool:
            return "'ok': 'pong'" in manage(running.home, "shell", "--no-imports", "--command", script).stdout

        until(worker_answers)

    def test_what_keeps_ending_is_named_with_its_log(self, running: Run) -> None:
        said_before = running.said()

        def named() -> bool:
            pid = running.processes["beat"]
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
            return "Trying again every 30 seconds" in running.said()[len(said_before) :]

        until(named)
        assert f"what it said is in {running.home / 'log' / 'beat.log'}" in running.said()[len(said_before) :]
        assert running.answers()

    def test_help_and_checks_need_no_services_and_print_only_theirs(self, home: Path) -> None:
        done = manage(home, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith("\nType 'manage.py help")
        assert not home.exists()


def test_stops_cleanly_keeps_the_data_and_starts_again(run: Callable[..., Run], home: Path) -> None:
    first = run().ready()
    pids = list(first.processes.values())
    children = [
        int(pid) for pid in subprocess.check_output(["pgrep", "-P", str(first.processes["worker"])]).split()
    ]
    assert count_users(home) == "users 1"
    with psycopg.connect(database_url(first)) as connection:
        connection.execute("create table kept as select 42 as answer")

    assert first.end(signal.SIGINT) == 0
    assert first.said().endswith("Stopping\nStopped\n")
    assert not [pid for pid in pids + children if alive(pid)]
    assert not (home / "runtime.json").exists()
    assert "database system is shut down" in (home / "log" / "postgres.log").read_text()

    # In between a command has services of its own, and leaves none behind.
    assert count_users(home) == "users 1"
    assert not (home / "runtime.json").exists()

    second = run().ready()
    assert "password" not in second.said()
    with psycopg.connect(database_url(second)) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_supervisor_killed_takes_all_along_and_the_next_start_works(
    run: Callable[..., Run], lived_in: Path
) -> None:
    first = run(lived_in).ready()
    pids = first.processes
    with psycopg.connect(database_url(first)) as connection:
        connection.execute("create table kept as select 42 as answer")
    first.process.kill()
    second = run(lived_in).ready()
    assert not [name for name, pid in pids.items() if alive(pid)]
    with psycopg.connect(database_url(second)) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def test_everything_killed_at_once_loses_nothing_committed(run: Callable[..., Run], lived_in: Path) -> None:
    first = run(lived_in).ready()
    pids = first.processes
    with psycopg.connect(database_url(first)) as connection:
        connection.execute("create table kept_too as select 42 as answer")
    first.process.send_signal(signal.SIGSTOP)  # so that it mends nothing meanwhile
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    first.process.kill()
    # The number in the file left behind belongs to somebody else by now.
    pid_file = next(lived_in.rglob("postmaster.pid"))
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    second = run(lived_in).ready()
    with psycopg.connect(database_url(second)) as connection:
        assert connection.execute("select answer from kept_too").fetchone() == (42,)


def test_stopped_while_still_starting(run: Callable[..., Run], home: Path) -> None:
    one = run()

    def making() -> bool:
        return "Making the database" in one.said()

    until(making)
    assert one.end(signal.SIGTERM) == 0
    assert not subprocess.run(["pgrep", "-f", str(home)], capture_output=True).stdout
    run().ready()


def test_real_servers_are_used_when_they_are_named(running: Run, run: Callable[..., Run], home: Path) -> None:
    valkey = (running.home / "secrets" / "valkey_password").read_text()
    database = database_url(running)
    one = run(
        DATABASE_URL=database,
        REDIS_URL=running.state["redis_url"].replace("://", f"://:{valkey}@").replace("/0", "/1"),
    ).ready()
    assert sorted(one.processes) == ["beat", "web", "worker"]
    assert one.state["database_url"] == running.state["database_url"]
    assert not (home / "postgres").exists()
    refused = manage(home, "showmigrations")
    assert refused.returncode == 1
    assert "set the same DATABASE_URL for this command" in refused.stderr


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("DATABASE_URL", "postgresql://me:geheim@127.0.0.1:1/db"),
        ("REDIS_URL", "redis://:geheim@127.0.0.1:1/0"),
    ],
)
def test_a_real_server_that_is_not_there_is_one_sentence(home: Path, variable: str, url: str) -> None:
    done = subprocess.run(
        [CHECKOUT / "run", "--port", "0"],
        env=bare_environment(home, **{variable: url}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{variable} points at ")
    assert "127.0.0.1:1" in done.stderr
    assert "geheim" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_two_commands_at_once_share_services(home: Path) -> None:
    script = (
        "import time; from accounts.models import User; User.objects.count(); time.sleep(3); print('done')"
    )
    both = [
        subprocess.Popen(
            [CHECKOUT / "manage", "shell", "--no-imports", "--command", script],
            env=bare_environment(home),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [one.communicate(timeout=120)[0] for one in both] == ["done\n", "done\n"]
    assert not (home / "runtime.json").exists()
    assert not subprocess.run(["pgrep", "-f", str(home)], capture_output=True).stdout


def test_a_failing_command_fails_and_stops_its_services(home: Path) -> None:
    done = manage(home, "no_such_command")
    assert done.returncode == 1
    assert not subprocess.run(["pgrep", "-f", str(home)], capture_output=True).stdout
