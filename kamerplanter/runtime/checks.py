"""`./test`: every check and every test, against real services in a home of their own.

    python -m kamerplanter.runtime.checks [arguments for pytest]

All steps run, also after one has failed; the exit status is 0 only if none has.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from kamerplanter.runtime.embedded import provided_services, say
from kamerplanter.runtime.errors import RuntimeProblem
from kamerplanter.runtime.home import CHECKOUT, Home

PYTHON = sys.executable
TOOLS = Path(PYTHON).parent
CHECKS: dict[str, list[str]] = {
    "ruff check": [PYTHON, "-m", "ruff", "check", "."],
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy", "."],
    "import-linter": [str(TOOLS / "lint-imports")],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"],
}


def main(arguments: list[str]) -> int:
    try:
        with temporary_home() as home, provided_services(home, up_to_date=False):
            os.environ["KAMERPLANTER_HOME"] = str(home.path)
            if chromium := find_chromium():
                os.environ["KAMERPLANTER_CHROMIUM"] = chromium
            failed = [name for name, command in CHECKS.items() if not passes(name, command)]
            say(
                f"Checks: {len(CHECKS) - len(failed)} passed, {len(failed)} failed{': ' if failed else ''}"
                f"{', '.join(failed)}"
            )
            # The plugin repeats what failed above at the end, where one looks.
            os.environ["KAMERPLANTER_FAILED_CHECKS"] = ", ".join(failed)
            say("== pytest")
            plugin = ["-p", "kamerplanter.runtime.pytest_report"]
            status = status_of([PYTHON, "-m", "pytest", *plugin, *arguments])
    except RuntimeProblem as reason:
        say(str(reason))
        return 1
    except KeyboardInterrupt:
        return 130
    return status or (1 if failed else 0)


@contextmanager
def temporary_home() -> Iterator[Home]:
    """A home that goes when the tests are done, in a place the services' user can enter."""
    path = Path(tempfile.mkdtemp(prefix="kamerplanter-test-"))
    path.chmod(0o711)
    before = os.environ.get("KAMERPLANTER_HOME")
    os.environ["KAMERPLANTER_HOME"] = str(path)
    try:
        home = Home.open()
        yield home
    finally:
        elsewhere = path / "data-elsewhere"
        if elsewhere.exists():
            shutil.rmtree(elsewhere.read_text().strip(), ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)
        if before is None:
            os.environ.pop("KAMERPLANTER_HOME", None)
        else:
            os.environ["KAMERPLANTER_HOME"] = before


def passes(name: str, command: list[str]) -> bool:
    say(f"== {name}")
    began = time.monotonic()
    status = status_of(command)
    say(f"   {name}: {'passed' if status == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s")
    return status == 0


def status_of(command: list[str]) -> int:
    """Run it; when we are told to stop, tell it once and let it clear up."""
    process = subprocess.Popen(command, cwd=CHECKOUT, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
        raise


def find_chromium() -> str | None:
    """The Chromium of this machine; root gets Debian's where there is none."""
    for named in (os.environ.get("KAMERPLANTER_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if named and (found := shutil.which(named)):
            return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("== Installing Chromium for the browser tests")
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "chromium"]):
            if subprocess.run(command, env=quiet, stdout=sys.stderr).returncode:
                break
        if found := shutil.which("chromium"):
            return found
    say(
        "No Chromium here, so the browser tests are left out; install it (Debian: apt-get install chromium) "
        "or name it in KAMERPLANTER_CHROMIUM."
    )
    return None


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _stop)
    sys.exit(main(sys.argv[1:]))
