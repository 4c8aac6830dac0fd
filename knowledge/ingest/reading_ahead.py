"""Reading the next job's file, in the process that reads files, while the current one is embedded."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from django.db import connection

from knowledge.ingest.pipeline import read_version
from knowledge.models import DocumentVersion, ExtractedText, IngestJob

logger = logging.getLogger(__name__)


class ReadAhead:
    """One version read ahead, in a thread of its own. It changes nothing but to store the version's text."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._version_id: int | None = None
        self._done: Future[ExtractedText] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Asked for within the thread: each has a connection of its own.
        self._thread.submit(lambda: connection.close())
        self._thread.shutdown()

    def begin(self) -> None:
        """Begin with the version that the first waiting job activates."""
        job = IngestJob.objects.filter(state=IngestJob.State.QUEUED).order_by("pk").first()
        if job is not None and job.version_id is not None:
            version = DocumentVersion.objects.select_related("document__scope").get(pk=job.version_id)
            self._version_id = version.pk
            self._done = self._thread.submit(read_version, version)

    def wait_for(self, version: DocumentVersion) -> None:
        """Wait until this version is read, if that has begun.

        A failure is left to its own job, which meets it again and reports it.
        """
        if self._done is not None and self._version_id == version.pk:
            error = self._done.exception()
            if error is not None:
                logger.info("read_ahead_failed version=%s error=%s", version.pk, type(error).__name__)
        self._done = None
