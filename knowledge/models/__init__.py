"""The knowledge base: documents and their versions, jobs that change the index, and the index itself."""

from knowledge.models.documents import Document, DocumentVersion, ExtractedText, Scope
from knowledge.models.index import (
    CachedEmbedding,
    Chunk,
    IndexBuild,
    IndexVersion,
    Posting,
    PostingBlock,
    Segment,
    SegmentSpan,
)
from knowledge.models.jobs import Heartbeat, IngestJob, JobLogEntry, WriterFence

__all__ = [
    "CachedEmbedding",
    "Chunk",
    "Document",
    "DocumentVersion",
    "ExtractedText",
    "Heartbeat",
    "IndexBuild",
    "IndexVersion",
    "IngestJob",
    "JobLogEntry",
    "Posting",
    "PostingBlock",
    "Scope",
    "Segment",
    "SegmentSpan",
    "WriterFence",
]
