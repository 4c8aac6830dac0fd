"""Make the virtual environment and hand over to what runs in it.

Runs as a script in whatever Python the machine has (3.11 or newer), before anything is installed, so it uses
the standard library alone and imports nothing of the project. How pip reaches its index is the machine's own
business: pip's settings are left as they are, and none of them is written anywhere.

    bootstrap.py run|manage|test [arguments]
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

CHECKOUT = Path(__file__).resolve().parents[2]
REQUIREMENTS = {"run": "runtime", "manage": "runtime", "test": "dev"}
# Unpacked, with room for pip to work in.
NEEDED_MB = {"runtime": 700, "dev": 1100}


class CannotStart(Exception):
    """The environment cannot be made; the message is one sentence that says what to do."""


class Interrupted(Exception):
    """SIGINT or SIGTERM arrived; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: list[str]) -> None:
    what, rest = arguments[0], arguments[1:]
    home = Path(os.environ.get("KAMERPLANTER_HOME") or CHECKOUT / "var").absolute()
    environment = Path(os.environ.get("KAMERPLANTER_VENV") or CHECKOUT / ".venv").absolute()
    os.environ["KAMERPLANTER_HOME"] = str(home)
    _check_temporary_folder()
    python = ensure_environment(environment, requirements=REQUIREMENTS[what])
    sys.stdout.flush()
    sys.stderr.flush()
    if what == "manage":
        os.execv(python, [str(python), str(CHECKOUT / "manage.py"), *rest])
    os.chdir(CHECKOUT)
    module = {"run": "kamerplanter.runtime.supervisor", "test": "kamerplanter.runtime.checks"}[what]
    os.execv(python, [str(python), "-m", module, *rest])


def ensure_environment(environment: Path, *, requirements: str) -> Path:
    """Return the environment's Python, with `requirements/<requirements>.txt` installed.

    Does nothing when that file is the one installed last. A second caller waits for the first.
    Raises CannotStart.
    """
    wanted = hashlib.sha256((CHECKOUT / "requirements" / f"{requirements}.txt").read_bytes()).hexdigest()
    python = environment / "bin" / "python"
    if _installed(environment).get(requirements) == wanted and _works(python):
        return python
    environment.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(environment.parent):
        if _installed(environment).get(requirements) == wanted and _works(python):
            return python
        _check_room(environment.parent, requirements=requirements)
        if not _works(python, "-m", "pip", "--version"):
            _create(environment)
        # Forgotten first: an installation that is cut off must not pass for the old one.
        (environment / "installed.json").unlink(missing_ok=True)
        _install(environment, requirements=requirements)
        installed = {requirements: wanted}
        if requirements == "dev":  # dev.txt holds everything of runtime.txt
            runtime = (CHECKOUT / "requirements" / "runtime.txt").read_bytes()
            installed["runtime"] = hashlib.sha256(runtime).hexdigest()
        (environment / "installed.json").write_text(json.dumps(installed))
    return python


def _installed(environment: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((environment / "installed.json").read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return found


def _works(python: Path, *arguments: str) -> bool:
    check = arguments or ("-c", "import sys; sys.exit(sys.version_info < (3, 11))")
    try:
        return subprocess.run([python, *check], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
    except PermissionError:
        raise CannotStart(
            f"{python} may not be run by this user; open it or set KAMERPLANTER_VENV to another folder."
        ) from None
    except OSError:
        return False


def _create(environment: Path) -> None:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise CannotStart(
            f"Python at {sys.executable} lacks its venv and ensurepip modules; install them "
            f"(Debian, Ubuntu: apt-get install python{version}-venv) and start again."
        ) from None
    if environment.exists() and any(environment.iterdir()):
        if not (environment / "pyvenv.cfg").exists():
            raise CannotStart(
                f"{environment} exists and is no virtual environment; move it away or set KAMERPLANTER_VENV."
            )
        shutil.rmtree(environment)
    _say(f"Making a virtual environment in {environment}")
    _run_to_end([sys.executable, "-m", "venv", str(environment)], shown=_Lines())


def _install(environment: Path, *, requirements: str) -> None:
    file = CHECKOUT / "requirements" / f"{requirements}.txt"
    total = len(re.findall(r"^[A-Za-z0-9][^ ]*==", file.read_text(), flags=re.MULTILINE))
    _say(f"Installing {total} packages (pinned and hashed in requirements/{file.name})")
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--require-hashes"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "-r", str(file)]
    _run_to_end(command, shown=_Progress(environment, total=total))


class _Lines:
    """Keeps what a program prints, to name the cause should it fail."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def line(self, text: str) -> None:
        self.kept.append(text)

    def pause(self) -> None:
        """Called about twice a second while the program prints nothing."""


class _Progress(_Lines):
    """Turns pip's output into one line a package, and counts while pip unpacks without a word."""

    def __init__(self, environment: Path, *, total: int) -> None:
        super().__init__()
        self.environment, self.total = environment, total
        self.fetched = self.unpacked = 0
        self.unpacking = False

    def line(self, text: str) -> None:
        super().line(text)
        if found := re.match(r"(?:Collecting|Processing|Requirement already satisfied:) ([^ ]+)", text):
            self.fetched += 1
            name = found[1].rsplit("/", 1)[-1]
            self._show(f"  fetch   {min(self.fetched, self.total):3}/{self.total}  {name}")
        elif text.startswith("Installing collected packages"):
            self.unpacking = True

    def pause(self) -> None:
        if not self.unpacking:
            return
        there = sorted(self.environment.glob("lib/python*/site-packages/*.dist-info"), key=_changed)
        if len(there) > self.unpacked:
            self.unpacked = len(there)
            name = there[-1].name.removesuffix(".dist-info")
            self._show(f"  unpack  {min(self.unpacked, self.total):3}/{self.total}  {name}")

    def _show(self, text: str) -> None:
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _run_to_end(command: list[str], *, shown: _Lines) -> None:
    """Run, feed `shown`, take the program down with us; raise CannotStart if it fails."""
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in {"PIP_TARGET", "PIP_PREFIX", "PYTHONPATH", "PYTHONHOME"}
    }
    env |= {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    rest = b""
    try:
        while True:
            ended = process.poll() is not None
            *lines, rest = (rest + (process.stdout.read() or b"")).split(b"\n")
            for line in lines:
                shown.line(line.decode(errors="replace").rstrip())
            if ended:
                break
            shown.pause()
            time.sleep(0.2)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        if isinstance(shown, _Progress) and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)
    if process.returncode:
        raise CannotStart(_cause(shown.kept))


def _cause(lines: list[str]) -> str:
    text = "\n".join(lines)
    if "No space left on device" in text:
        return f"The disk is full; free about 1 GB where {CHECKOUT} lies and start again."
    if "DO NOT MATCH THE HASHES" in text:
        return "A package is not the one this project was tested with (hash mismatch); nothing was installed."
    errors = [line for line in lines if line.lower().startswith("error")] or [line for line in lines if line][
        -1:
    ]
    what = errors[0].split(":", 1)[-1].strip() if errors else "no output"
    return (
        f"The packages could not be installed ({what}); check the network and pip's settings and start again."
    )


def _check_room(folder: Path, *, requirements: str) -> None:
    if not os.access(folder, os.W_OK):
        raise CannotStart(
            f"{folder} may not be written by this user; change its owner, "
            "or set KAMERPLANTER_VENV to a folder of yours."
        )
    free = shutil.disk_usage(folder).free // 2**20
    if free < NEEDED_MB[requirements]:
        raise CannotStart(
            f"Only {free} MB are free where {folder} lies and the packages need {NEEDED_MB[requirements]}; "
            "free some space or set KAMERPLANTER_VENV to a folder on another disk."
        )


def _check_temporary_folder() -> None:
    # A TMPDIR that is gone makes pip fail far from the cause.
    if (folder := os.environ.get("TMPDIR")) and not os.access(folder, os.W_OK):
        raise CannotStart(f"TMPDIR is {folder}, where nothing can be written; correct it or unset it.")


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    # The folder itself is the lock: nothing to clean up, and it goes with the process.
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another command is installing the packages; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN or each != signal.SIGHUP:
            signal.signal(each, _interrupt)
    try:
        main(sys.argv[1:])
    except CannotStart as reason:
        _say(str(reason))
        sys.exit(1)
    except Interrupted as stop:
        _say("Stopped; the next start goes on from here.")
        sys.exit(128 + stop.number)
    except OSError as reason:
        _say(f"{reason.filename or CHECKOUT}: {reason.strerror}; mend that and start again.")
        sys.exit(1)
