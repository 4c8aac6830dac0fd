"""The cockpit: thin pages over the verbs of the knowledge base. Nothing is ever indexed in a request."""

from knowledge.admin.documents import DocumentAdmin
from knowledge.admin.index import IndexVersionAdmin
from knowledge.admin.jobs import IngestJobAdmin
from knowledge.admin.playground import PlaygroundAdmin

__all__ = ["DocumentAdmin", "IndexVersionAdmin", "IngestJobAdmin", "PlaygroundAdmin"]
