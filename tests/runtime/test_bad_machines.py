"""Machines on which it cannot start: one sentence that says what to do, status 1, no traceback."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.conftest import CHECKOUT, Run, bare_environment, until

ROOT = os.geteuid() == 0
# Whom root becomes to be an ordinary user; None: we are one.
ORDINARY = 65534 if ROOT else None


def start(
    home: Path, *, run: Path = CHECKOUT / "run", user: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [run, "--port", "0"],
        env={name: value for name, value in (bare_environment(home) | environment).items() if value},
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def says(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)


def test_python_too_old(home: Path, tmp_path: Path) -> None:
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        program(tmp_path, name, "#!/bin/sh\nexit 1\n")
    says(start(home, PATH=str(tmp_path)), "Python 3.11 or newer", "install it")


def test_no_python_at_all(home: Path, tmp_path: Path) -> None:
    says(start(home, PATH=str(tmp_path)), "Python 3.11 or newer", "install it")


def test_only_a_versioned_python(home: Path, tmp_path: Path) -> None:
    """The first name is a version manager's shim without a Python; the next that works is taken."""
    program(tmp_path, "python3", "#!/bin/sh\nexit 127\n")
    program(tmp_path, "python3.13", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    done = subprocess.run(
        [CHECKOUT / "run", "--help"],
        env=bare_environment(home, PATH=str(tmp_path)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ./run")


def test_python_without_venv(home: Path, tmp_path: Path) -> None:
    """As on a Debian without python3-venv."""
    blocker = "import sys; sys.modules['ensurepip'] = None; import runpy; sys.argv = sys.argv[1:]; "
    blocker += "runpy.run_path(sys.argv[0], run_name='__main__')"
    program(
        tmp_path,
        "python3",
        f'#!/bin/sh\n[ "$2" = -c ] && exec {sys.executable} "$@"\n'
        f'shift\nexec {sys.executable} -I -c "{blocker}" "$@"\n',
    )
    done = start(home, PATH=f"{tmp_path}:/usr/bin:/bin", KAMERPLANTER_VENV=str(tmp_path / "venv"))
    says(done, "lacks its venv and ensurepip modules", "apt-get install python3")


def test_an_environment_folder_that_is_something_else(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    says(
        start(home, KAMERPLANTER_VENV=str(tmp_path / "mine")),
        "is no virtual environment",
        "KAMERPLANTER_VENV",
    )
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep me"


def test_a_file_where_the_home_should_be(home: Path) -> None:
    home.write_text("")
    says(start(home), str(home), "KAMERPLANTER_HOME")


def copy_checkout() -> Path:
    """A fresh checkout that the ordinary user owns, without environment, data or history."""
    copy = Path(tempfile.mkdtemp(prefix="kp-checkout-")) / "kamerplanter"
    left_out = shutil.ignore_patterns(".venv", "var", ".git", ".*_cache", "__pycache__")
    shutil.copytree(CHECKOUT, copy, ignore=left_out)
    for path in (copy.parent, copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        if ORDINARY is not None:
            os.chown(path, ORDINARY, ORDINARY)
    return copy


@pytest.fixture(scope="module")
def fresh_checkout() -> Iterator[Path]:
    copy = copy_checkout()
    yield copy
    shutil.rmtree(copy.parent)


def test_ordinary_user_from_a_fresh_checkout(fresh_checkout: Path) -> None:
    """Nothing in the environment but how this machine reaches its packages, and a HOME that is not there."""
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    output = fresh_checkout.parent / "out"
    with output.open("wb") as out:
        process = subprocess.Popen(
            [fresh_checkout / "run", "--port", "0"],
            env={"HOME": "/nonexistent", **pip},
            user=ORDINARY,
            group=ORDINARY,
            extra_groups=None if ORDINARY is None else [],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
        )
    try:

        def answered_or_ended() -> bool:
            return "Ready: http://127.0.0.1:" in output.read_text() or process.poll() is not None

        until(answered_or_ended, within_s=280)
        said = output.read_text()
        assert "Ready: http://127.0.0.1:" in said, said
        assert re.search(r"Installing \d+ packages", said)
        assert re.search(r"fetch +\d+/\d+  celery==", said)
        assert stat.S_IMODE((fresh_checkout / "var" / "postgres" / "data").stat().st_mode) == 0o700
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0


def test_ordinary_user_may_not_write_the_home(fresh_checkout: Path, home: Path) -> None:
    home.mkdir()
    home.chmod(0o555)
    done = start(home, run=fresh_checkout / "run", user=ORDINARY, KAMERPLANTER_VENV="")
    says(done, str(home), "cannot be written", "KAMERPLANTER_HOME")


def test_ordinary_user_may_not_write_the_checkout(home: Path) -> None:
    copy = copy_checkout()
    try:
        copy.chmod(0o555)
        done = start(home, run=copy / "run", user=ORDINARY, KAMERPLANTER_VENV="")
        says(done, "may not be written by this user", "KAMERPLANTER_VENV")
    finally:
        copy.chmod(0o755)
        shutil.rmtree(copy.parent)


@pytest.mark.skipif(not ROOT, reason="only root runs the services as another user")
def test_root_below_a_closed_folder(run: Callable[..., Run]) -> None:
    """The data goes where the services' user can reach it, and the way there is printed."""
    closed = Path(tempfile.mkdtemp(prefix="kp-closed-"))  # 0700
    try:
        one = run(closed / "var").ready()
        elsewhere = Path((closed / "var" / "data-elsewhere").read_text().strip())
        assert elsewhere.is_relative_to("/var/lib/kamerplanter")
        assert f"the databases lie in {elsewhere}" in one.said()
        assert stat.S_IMODE((elsewhere / "postgres" / "data").stat().st_mode) == 0o700
        assert one.end() == 0
        assert run(closed / "var").ready().end() == 0
        shutil.rmtree(elsewhere)
    finally:
        shutil.rmtree(closed)


@pytest.mark.skipif(not ROOT, reason="only root runs the services as another user")
def test_root_names_a_user_that_is_not_there(home: Path) -> None:
    says(start(home, KAMERPLANTER_SERVICE_USER="no-such-user"), "no-such-user", "KAMERPLANTER_SERVICE_USER")


def test_root_that_can_become_nobody_else(home: Path) -> None:
    """As in a container whose only user is root."""
    alone = ["unshare", "--user", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody make such a container")
    done = subprocess.run(
        [*alone, CHECKOUT / "run"], env=bare_environment(home), capture_output=True, text=True, timeout=60
    )
    says(done, "PostgreSQL does not run as root", "KAMERPLANTER_SERVICE_USER", "DATABASE_URL")


@pytest.mark.skipif(not ROOT, reason="only root can mount a small disk")
def test_full_disk(home: Path) -> None:
    home.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=711", "tmpfs", home], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        done = start(home)
        assert done.returncode == 1
        assert "is full; free at least" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    finally:
        subprocess.run(["umount", home], check=True)
