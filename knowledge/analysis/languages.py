"""The languages that knowledge may be in."""

LANGUAGES = ("de", "en", "ru")
