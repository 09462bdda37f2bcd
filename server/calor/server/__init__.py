"""The orchestration server: templates in, configured instances out."""

__version__ = "0.1.0"
