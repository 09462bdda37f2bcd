"""Run by the Python that has `openstack-heat`, not by ours: Heat's own reading of templates, without a cloud.

`python inside_heat.py REPEATS FILE` prints, for each time, the seconds of CPU that parsing, validation and the graph of
dependencies took.
"""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

from heat.common import context, template_format  # type: ignore[import-not-found]
from heat.engine import environment, resources, stack, template  # type: ignore[import-not-found]
from oslo_config import cfg

NO_LIMIT = 1 << 30
ZONES = ["az1", "az2"]


def set_up() -> None:
    """Heat's types and defaults; no database is written, no service asked."""
    logging.disable(logging.CRITICAL)
    cfg.CONF([], project="heat")
    cfg.CONF.set_override("connection", "sqlite://", group="database")
    cfg.CONF.set_override("max_template_size", NO_LIMIT)
    resources.initialise()


def caller() -> Any:
    facts = {"tenant_id": "project-1", "tenant": "p", "username": "u", "user_id": "u1", "password": "", "roles": []}
    door = {"auth_url": "http://127.0.0.1:9/v3", "auth_token": "x", "trust_id": None, "region_name": None}
    return context.RequestContext.from_dict({**facts, **door, "is_admin": False})


def stack_of(parsed: Any, settings: Any, files: Any = None, **more: Any) -> Any:
    """A stack of Heat's that is not stored. ``settings`` is an `environment.Environment`."""
    made = stack.Stack(caller(), "mystack", template.Template(parsed, files=files or {}, env=settings), **more)
    made.defn.get_availability_zones = lambda: ZONES
    return made


def read(text: str) -> int:
    """Parse, validate and order, as the create call does; how many resources there are."""
    made = stack_of(template_format.parse(text), environment.Environment({}))
    made.validate()
    return len(list(made.dependencies))


def main() -> None:
    repeats, path = int(sys.argv[1]), sys.argv[2]
    set_up()
    text = Path(path).read_text(encoding="utf-8")
    for _ in range(repeats):
        began = time.process_time()
        count = read(text)
        print(json.dumps({"resources": count, "cpu_s": round(time.process_time() - began, 4)}), flush=True)


if __name__ == "__main__":
    main()
