"""What an operator may set of the engine; the command line fills it from ``calor.conf``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from calor.server.engine.workers.workers import WorkerLimits


@dataclass(frozen=True, kw_only=True)
class Settings:
    """``guest_orchestration`` and ``guest_cfn`` are the base URLs as *guests* reach this server (F047).

    ``contact_timeout`` is how long a guest with our agent may stay silent, from ACTIVE or from its last contact,
    before its deployments fail with what is known; zero switches it off. ``options`` is what resource types read.
    """

    guest_orchestration: str = "http://127.0.0.1:8004"
    guest_cfn: str = "http://127.0.0.1:8000"
    guest_signals: str = ""
    """Where signed URLs lead, if elsewhere than ``guest_cfn`` (``heat_waitcondition_server_url``)."""
    guest_object_store: str = ""
    """Scheme, host and port by which guests reach the object store, if not as the catalog says."""
    allow_loopback: bool = False
    guest_ca_certificate: str | None = None
    identity_url: str = ""
    region: str | None = None
    stack_timeout: timedelta = timedelta(seconds=3600)
    lease_ttl: timedelta = timedelta(seconds=12)
    contact_timeout: timedelta = timedelta(minutes=10)
    gone_server_patience: timedelta = timedelta(seconds=40)
    cancel_patience: timedelta = timedelta(seconds=30)
    """How long a guest may take to confirm that it has ended a run."""
    keep_run_output: timedelta = timedelta(days=7)
    create_grace: timedelta = timedelta(seconds=60)
    twin_patience: timedelta = timedelta(seconds=8)
    """How long a cloud may take to carry out a creation whose sender has died."""
    delete_backoff_first: float = 0.5
    delete_backoff_last: float = 15.0
    bearer_seconds: int = 3600
    max_stacks_per_tenant: int = 512
    max_resources_per_stack: int = 1000
    max_nested_stack_depth: int = 5
    max_software_configs_per_tenant: int = 4096
    max_software_deployments_per_tenant: int = 4096
    max_template_size: int = 524288
    max_json_body_size: int = 1048576
    worker_threshold: int = 100_000
    """Characters above which a request's template is first read by a worker process (`gate`)."""
    workers: WorkerLimits = field(default_factory=WorkerLimits)
    hidden_stack_tags: frozenset[str] = frozenset()
    report_interval: int = 60
    agent_files: Mapping[str, Path] = field(default_factory=dict)
    """Released agents by SHA-256; the last one is served to new instances."""
    options: Mapping[str, Any] = field(default_factory=lambda: {"max_server_user_data_size": 49150})
