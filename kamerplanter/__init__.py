"""Kamerplanter: an edited, versioned knowledge base with grounded, cited answers."""

from kamerplanter.celery import app as celery_app

__all__ = ["celery_app"]
