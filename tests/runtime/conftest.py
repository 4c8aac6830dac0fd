"""Start the real `./run` on a home of its own and look at it from outside, as its user does."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def until(claim: Callable[[], Any], *, within_s: float = 60.0) -> Any:
    """Wait for a true value and return it; fail when it does not come."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if value := claim():
            return value
        time.sleep(0.1)
    pytest.fail(f"waited {within_s:.0f} s for {claim.__name__}")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def bare_environment(home: Path, **more: str) -> dict[str, str]:
    """What a fresh machine has: no settings of ours, and no services of the surrounding test run."""
    venv = {name: os.environ[name] for name in ("KAMERPLANTER_VENV",) if name in os.environ}
    return {"PATH": os.environ["PATH"], "KAMERPLANTER_HOME": str(home), **venv, **more}


class Run:
    """One `./run` and what it has said."""

    def __init__(self, home: Path, *, port: int = 0, sample: bool = False, **environment: str) -> None:
        self.home = home
        self.output = home.with_name(home.name + ".out")
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                [CHECKOUT / "run", "--port", str(port), *([] if sample else ["--without-sample"])],
                env=bare_environment(home, **environment),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def ready(self, *, within_s: float = 90.0) -> "Run":
        def url_or_end() -> bool:
            return "Ready: " in self.said() or self.process.poll() is not None

        until(url_or_end, within_s=within_s)
        assert "Ready: " in self.said(), self.said()
        return self

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self.home / "runtime.json").read_text())
        return state

    @property
    def processes(self) -> dict[str, int]:
        processes: dict[str, int] = self.state["processes"]
        return processes

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.state["url"], timeout=10) as response:
                return bool(response.status < 500)
        except urllib.error.HTTPError as error:
            return error.code < 500
        except OSError:
            return False

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop, as Ctrl-C or a service manager does, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=60)


def remove(home: Path) -> None:
    if (elsewhere := home / "data-elsewhere").exists():
        shutil.rmtree(elsewhere.read_text().strip(), ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    home.with_name(home.name + ".out").unlink(missing_ok=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home to be made. Not in pytest's own folder: that one is closed to the services' user."""
    parent = Path(tempfile.mkdtemp(prefix="kp-run-"))
    parent.chmod(0o755)
    yield parent / "var"
    remove(parent / "var")
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture(scope="module")
def lived_in() -> Iterator[Path]:
    """A home for the tests that start on what another start left."""
    parent = Path(tempfile.mkdtemp(prefix="kp-run-"))
    parent.chmod(0o755)
    yield parent / "var"
    remove(parent / "var")
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def run(home: Path) -> Iterator[Callable[..., Run]]:
    """Starts `./run` on `home`; whatever is still up at the end is stopped."""
    started: list[Run] = []

    def start(at: Path = home, **options: Any) -> Run:
        started.append(Run(at, **options))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture(scope="module")
def running() -> Iterator[Run]:
    """One `./run` for the tests that only look, or break something it mends."""
    parent = Path(tempfile.mkdtemp(prefix="kp-run-"))
    parent.chmod(0o755)
    one = Run(parent / "var")
    try:
        yield one.ready()
    finally:
        one.end()
        remove(parent / "var")
        shutil.rmtree(parent, ignore_errors=True)
