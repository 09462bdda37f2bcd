"""Whole images, built by other tools and looked into. Minutes each: scripts/test-vm runs them (CALOR_IMAGES)."""

import os

collect_ignore_glob = [] if os.environ.get("CALOR_IMAGES") else ["test_*.py"]
