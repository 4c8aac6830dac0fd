"""Celery's way in; the work itself is in the modules called."""

import logging
import time
from typing import Any

from celery import current_app, shared_task
from celery.signals import before_task_publish, heartbeat_sent
from django.db import connection

from knowledge.liveness import note_alive
from knowledge.models import Heartbeat
from knowledge.running import run_queue

logger = logging.getLogger(__name__)

SECONDS_PER_TASK = 5.0
_SECONDS_BETWEEN_SIGNS = 10.0
_last_sign = 0.0


@shared_task(ignore_result=True)
def work_queue() -> None:
    """Run waiting jobs for a few seconds, then hand on to the next task: between two, a worker can stop."""
    if run_queue(seconds=SECONDS_PER_TASK):
        work_queue.delay()


@shared_task(ignore_result=True)
def note_beat() -> None:
    """Sent by beat to be sent: see `beat_is_alive`."""


@before_task_publish.connect(sender="knowledge.tasks.note_beat")
def beat_is_alive(**kwargs: Any) -> None:
    """Runs in beat itself, each time it sends `note_beat`, whether or not a worker is there."""
    note_alive(Heartbeat.Kind.BEAT)


@heartbeat_sent.connect
def worker_is_alive(**kwargs: Any) -> None:
    """Runs in the worker's main process, however long its jobs take."""
    global _last_sign
    if time.monotonic() - _last_sign >= _SECONDS_BETWEEN_SIGNS:
        _last_sign = time.monotonic()
        note_alive(Heartbeat.Kind.WORKER)
        # The pool's processes are forked from this one and must not share its connection.
        connection.close()


def broker_answers() -> bool:
    """Whether the broker can be reached now."""
    try:
        with current_app.connection_for_read(connect_timeout=2) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    except Exception as error:
        # Kombu's transports raise errors of their own kinds, the operating system's among them.
        logger.info("broker_unreachable error=%s", type(error).__name__)
        return False
    return True
