"""The agent inside an instance: collects software deployments, applies them by hooks, reports what came out.

Standard library only, Python 3.6 and newer. The protocol is ``docs/architecture.md``, "The guest protocol".
"""

__version__ = "0.1.0"
PROTOCOL = 1
