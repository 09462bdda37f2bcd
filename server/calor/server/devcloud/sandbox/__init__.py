"""The sandbox driver: servers as Linux namespaces, networks as namespaces of the dev cloud's own.

Public: `driver.SandboxDriver`, `requirements.missing`, `enter.shell`, `enter.run`, `forward.serve`. This file
imports none of them, since the launcher must start fast.
"""
