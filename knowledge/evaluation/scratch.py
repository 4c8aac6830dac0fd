"""An index for the time of a measurement, of which nothing remains."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction

from accounts.models import Tenant
from knowledge.errors import ExtractionFailed
from knowledge.folders import FolderFile
from knowledge.index.merging import write_block
from knowledge.index.publication import close_version, store_segment
from knowledge.index.settings import IndexSettings
from knowledge.ingest.pipeline import Silent, embed_reading, read_text, store_extracted
from knowledge.models import Document, DocumentVersion, IndexBuild, Scope, SegmentSpan


@contextmanager
def scratch_index(
    files: Sequence[FolderFile], *, on_progress: Callable[[int], None] = lambda done: None
) -> Iterator[tuple[Scope, list[str]]]:
    """A scope with these files, made as ingest makes it, within a transaction that is rolled back.

    Yields the scope and the source keys of files that could not be read.
    """
    with transaction.atomic():
        try:
            yield _fill(files, on_progress)
        finally:
            transaction.set_rollback(True)


def _fill(files: Sequence[FolderFile], on_progress: Callable[[int], None]) -> tuple[Scope, list[str]]:
    slug = f"scratch-{uuid.uuid4().hex[:12]}"
    tenant = Tenant.objects.create(slug=slug, name=slug)
    scope = Scope.objects.create(tenant=tenant, key=f"tenant:{slug}")
    build = IndexBuild.objects.create(scope=scope, settings=IndexSettings.desired().as_dict())
    unread: list[str] = []
    segment_ids: list[int] = []
    for done, file in enumerate(files, start=1):
        document = Document.objects.create(scope=scope, source_key=file.source_key, title=file.path.name)
        version = DocumentVersion.objects.create(
            document=document,
            number=1,
            content_hash=hashlib.sha256(file.path.read_bytes()).hexdigest(),
            file_name=file.path.name,
            size=file.path.stat().st_size,
        )
        try:
            stored = store_extracted(version, path=file.path)
            prepared = embed_reading(
                read_text(stored, build=build), build=build, report=Silent(), keep_new=False
            )
        except ExtractionFailed:
            unread.append(file.source_key)
        else:
            segment = store_segment(build=build, version=version, prepared=prepared)
            segment_ids.append(segment.pk)
            SegmentSpan.objects.create(segment=segment, build=build, document=document, entered=1)
            if stored.title:
                Document.objects.filter(pk=document.pk).update(title=stored.title)
        on_progress(done)
    if segment_ids:
        write_block(build, segment_ids=segment_ids)
    close_version(scope=scope, build=build, number=1, user=None, reason="")
    scope.refresh_from_db()
    return scope, unread
