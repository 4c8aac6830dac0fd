"""KAMERPLANTER_HOME: everything one installation keeps, so that two checkouts live side by side.

secrets/      one file a secret, 0600          log/       what each process says
postgres/     valkey/                          data, only for the user those run as
runtime.json  who runs, at which addresses     lock/      held by whoever runs the services
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kamerplanter.runtime.errors import NoRoom, NotWritable

LOG_BYTES = 20 * 2**20
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass
class State:
    """What `runtime.json` says. Addresses come without passwords; those are in `secrets/`.

    kind is "run" (the supervisor) or "command" (services for one command's duration).
    """

    kind: str
    pid: int
    url: str | None = None
    database_url: str | None = None
    redis_url: str | None = None
    embedded: list[str] = field(default_factory=list)
    processes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Home:
    path: Path

    @classmethod
    def open(cls) -> "Home":
        """The home named by KAMERPLANTER_HOME (default `var` in the checkout), made where it is missing.

        Raises NotWritable, NoRoom.
        """
        home = cls(Path(os.environ.get("KAMERPLANTER_HOME") or CHECKOUT / "var").resolve())
        with explained(home.path):
            if not home.path.exists():
                home.path.mkdir(parents=True)
                # The services' user passes through on its way to its own folder, and lists nothing.
                home.path.chmod(0o711)
            for name, mode in (("secrets", 0o700), ("log", 0o700), ("lock", 0o700)):
                (home.path / name).mkdir(exist_ok=True)
                (home.path / name).chmod(mode)
            (home.path / "lock" / "written").write_text("")
        return home

    def log(self, name: str) -> Path:
        return self.path / "log" / f"{name}.log"

    def secret(self, name: str) -> str:
        """The secret of that name, made on first use. Raises NotWritable, NoRoom."""
        file = self.path / "secrets" / name
        with explained(file):
            if not file.exists():
                fresh = file.with_name(f".{name}.{os.getpid()}")
                with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
                    out.write(secrets.token_urlsafe(48))
                    out.flush()
                    os.fsync(out.fileno())
                try:
                    os.link(fresh, file)  # unlike a rename it lets the first of two win
                except FileExistsError:
                    pass
                finally:
                    fresh.unlink()
            return file.read_text().strip()

    def has_secret(self, name: str) -> bool:
        return (self.path / "secrets" / name).exists()

    def state(self) -> State | None:
        try:
            return State(**json.loads((self.path / "runtime.json").read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write_state(self, state: State) -> None:
        file = self.path / "runtime.json"
        with explained(file):
            fresh = file.with_name(".runtime.json")
            fresh.write_text(json.dumps(asdict(state), indent=1))
            fresh.replace(file)

    def forget_state(self) -> None:
        (self.path / "runtime.json").unlink(missing_ok=True)

    def lock(self, name: str, *, shared: bool = False, wait: bool = False) -> int | None:
        """A descriptor that holds the lock until closed, or None where another process has it.

        The kernel lets go of it when the last process that holds the descriptor ends, however it ends.
        """
        handle = os.open(self.path / "lock" / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        return handle


def trim_log(file: Path) -> None:
    """Move a log past LOG_BYTES to `<name>.log.1`. Its writers append, so they go on in the emptied file."""
    try:
        if file.stat().st_size <= LOG_BYTES:
            return
        older = file.with_name(file.name + ".1")
        older.write_bytes(file.read_bytes())
        os.truncate(file, 0)
    except FileNotFoundError:
        return


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what to do about a full disk and a closed folder."""
    try:
        yield
    except OSError as error:
        raise explanation(error, path=path) from None


def explanation(error: OSError, *, path: Path) -> NoRoom | NotWritable:
    if error.errno in {28, 122}:  # ENOSPC, EDQUOT
        return NoRoom(path)
    return NotWritable(
        Path(error.filename) if isinstance(error.filename, str) else path, error.strerror or str(error)
    )
