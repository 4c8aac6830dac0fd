"""Importing a folder: its files as documents, and waiting for their jobs."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from accounts.models import User
from knowledge.errors import KnowledgeError
from knowledge.folders import FolderFile
from knowledge.liveness import liveness
from knowledge.models import IngestJob, Scope
from knowledge.running import run_queue
from knowledge.uploads import accept_upload

_SECONDS_BETWEEN_LOOKS = 0.3


class Refused(NamedTuple):
    source_key: str
    text: str


class Imported(NamedTuple):
    """What came of a folder: files by outcome, those refused, and the jobs that will index the others."""

    outcomes: dict[str, int]
    refused: list[Refused]
    job_ids: list[int]


def import_files(
    files: Sequence[FolderFile],
    *,
    scope: Scope,
    user: User | None,
    note: str = "",
    on_progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    outcomes: Counter[str] = Counter()
    refused: list[Refused] = []
    job_ids: list[int] = []
    for done, file in enumerate(files, start=1):
        try:
            with file.path.open("rb") as content:
                accepted = accept_upload(
                    scope=scope,
                    source_key=file.source_key,
                    file_name=file.path.name,
                    content=content,
                    note=note,
                    user=user,
                )
        except KnowledgeError as error:
            refused.append(Refused(file.source_key, error.told))
        except OSError as error:
            refused.append(Refused(file.source_key, error.strerror or "can't be read"))
        else:
            outcomes[accepted.outcome] += 1
            if accepted.job is not None:
                job_ids.append(accepted.job.pk)
        on_progress(done)
    return Imported(dict(outcomes), refused, job_ids)


def wait_for_jobs(job_ids: Sequence[int], *, on_progress: Callable[[int], None] = lambda done: None) -> None:
    """Wait until these jobs have finished; where no worker is alive, run them in this process."""
    unfinished = [IngestJob.State.QUEUED, IngestJob.State.RUNNING]
    while left := IngestJob.objects.filter(pk__in=job_ids, state__in=unfinished).count():
        on_progress(len(job_ids) - left)
        if not liveness().worker_alive:
            run_queue(seconds=1.0)
        else:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    on_progress(len(job_ids))
