"""The embedded Valkey: broker, cache and streams. What it holds outlives a restart (append-only file)."""

import signal
from pathlib import Path

import redis.asyncio
from redis.exceptions import RedisError

from kamerplanter.runtime.account import Place
from kamerplanter.runtime.home import Home
from kamerplanter.runtime.processes import Program

NAME = "Valkey"


def url(home: Home, port: int) -> str:
    return f"redis://:{home.secret('valkey_password')}@127.0.0.1:{port}/0"


def program(home: Home, place: Place, *, port: int, lock: int) -> Program:
    folder = place.data / "valkey"
    folder.mkdir(exist_ok=True)
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "requirepass": home.secret("valkey_password"),
        "dir": f'"{folder}"',
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        # Messages must not vanish to make room: a full memory is an error the writer sees.
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "loglevel": "notice",
    }
    return Program(
        name=NAME,
        # Settings through stdin: the password belongs neither on a command line nor in a second file.
        argv=[place.valkey_program, "-"],
        stdin="".join(f"{name} {value}\n" for name, value in settings.items()).encode(),
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        cwd=Path(folder),
        log=home.log("valkey"),
        account=place.account,
        keep_open=[lock],
        stop=[(signal.SIGTERM, 15), (signal.SIGKILL, 5)],
        death_signal=signal.SIGTERM,
    )


async def answers(redis_url: str) -> bool:
    client = redis.asyncio.from_url(redis_url, socket_connect_timeout=2, socket_timeout=2)
    try:
        await client.ping()
    except (RedisError, OSError):
        return False
    finally:
        await client.aclose()
    return True
