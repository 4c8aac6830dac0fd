"""What tests share: people, documents, and the real processes they talk to."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings as django_settings
from django.db import connection

from accounts.models import Membership, Tenant, User
from knowledge.models import Document, DocumentVersion, Scope
from knowledge.running import run_queue
from knowledge.scopes import scope_of
from knowledge.uploads import Accepted, accept_upload

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session", autouse=True)
def flush_reaches_every_table() -> Iterator[None]:
    """Between tests, tables that Django has no model of (the vectors) are emptied along with the others."""
    operations = type(connection.ops)
    flush = operations.sql_flush

    def flush_all(self, style, tables, **options):
        return flush(self, style, tables, **{**options, "allow_cascade": True})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(operations, "sql_flush", flush_all)
        yield


@pytest.fixture(autouse=True)
def files_folder(settings, tmp_path) -> Path:
    """Every test stores uploads in a folder of its own."""
    folder: Path = tmp_path / "files"
    settings.KNOWLEDGE_FILES = folder
    return folder


@pytest.fixture
def tenant(transactional_db) -> Tenant:
    return Tenant.objects.create(slug="garten", name="Garten am Hang")


@pytest.fixture
def make_user(transactional_db) -> Callable[..., User]:
    """make_user("anna", tenant, "editor") -> a user with PASSWORD, in a tenant or not."""

    def make(name: str, tenant: Tenant | None = None, role: str = "viewer", **fields: Any) -> User:
        user = User.objects.create_user(username=name, password=PASSWORD, **fields)
        if tenant is not None:
            Membership.objects.create(user=user, tenant=tenant, role=role)
        return user

    return make


@pytest.fixture
def make_staff(transactional_db) -> Callable[[str], User]:
    def make(name: str) -> User:
        return User.objects.create_superuser(username=name, password=PASSWORD)

    return make


@pytest.fixture
def upload(transactional_db) -> Callable[..., Accepted]:
    """upload("a.md", "# Text", scope=...) -> what came of it; the job waits for `run_jobs`."""

    def do(name: str, content: str | bytes, *, scope: Scope | None = None, **options: Any) -> Accepted:
        data = content.encode() if isinstance(content, str) else content
        return accept_upload(
            scope=scope or scope_of(None),
            source_key=options.pop("source_key", name),
            file_name=name,
            content=io.BytesIO(data),
            user=None,
            **options,
        )

    return do


@pytest.fixture
def run_jobs(transactional_db) -> Callable[[], bool]:
    """Do what a worker does, in this process."""
    return run_queue


@pytest.fixture
def active_version() -> Callable[[Document], DocumentVersion]:
    return lambda document: document.versions.get(active=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def process_environment(**changes: str) -> dict[str, str]:
    """The environment of a process that works on the test database."""
    database = connection.settings_dict
    secret = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    url = f"postgresql://{database['USER']}{secret}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
    return {
        **os.environ,
        "DATABASE_URL": url,
        "REDIS_URL": django_settings.REDIS_URL,
        "SECRET_KEY": django_settings.SECRET_KEY,
        "KAMERPLANTER_HOME": str(Path(django_settings.KNOWLEDGE_FILES).parent),
        **changes,
    }


@contextmanager
def running(*command: str, log: Path, **changes: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the product, stopped at the end; what it printed is in `log`."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=process_environment(**changes),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(5)


def wait_until(condition: Callable[[], object], *, seconds: float = 30, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.05)


WORKER = ("celery", "-A", "kamerplanter", "worker", "--concurrency", "1", "--loglevel", "INFO")


@pytest.fixture
def worker(transactional_db, files_folder, tmp_path) -> Iterator[subprocess.Popen[bytes]]:
    """A real Celery worker on the test database."""
    log = tmp_path / "worker.log"
    with running(*WORKER, log=log) as process:
        wait_until(lambda: b" ready." in log.read_bytes(), what="worker ready")
        yield process


@pytest.fixture
def site(transactional_db, files_folder, tmp_path) -> Iterator[str]:
    """The address of a real web server on the test database."""
    with web_server(tmp_path) as address:
        yield address


@contextmanager
def web_server(tmp_path: Path, *, port: int | None = None, **changes: str) -> Iterator[str]:
    port = port or free_port()
    log = tmp_path / f"web-{port}.log"
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/login/", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    command = ("uvicorn", "kamerplanter.asgi:application", "--port", str(port), "--log-level", "info")
    with running(*command, log=log, **changes):
        wait_until(answers, what="web server answering")
        yield address
