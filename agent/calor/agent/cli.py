"""The verbs of ``calor-agent``."""

import argparse
import os
import sys
from typing import List, Optional, Tuple

from calor.agent import PROTOCOL, __version__, places, reports, settings


def main(words: List[str]) -> int:
    return _command(_parser().parse_args(words))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="calor-agent", description="Applies software deployments in this instance.")
    verbs = parser.add_subparsers(dest="verb", metavar="run|once|status|logs|version")
    verbs.required = True
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--root", default="", help="look for all files below this directory")
    options.add_argument("--config", help="configuration file (/etc/calor/agent.json)")
    options.add_argument("--state-dir", help="state directory (/var/lib/calor)")
    options.add_argument("--log-file", help="log file (/var/log/calor-agent.log)")
    options.add_argument("-v", "--verbose", action="store_true")
    verbs.add_parser("run", parents=[options], help="work until told to stop")
    verbs.add_parser("once", parents=[options], help="collect once, apply, report, end")
    verbs.add_parser("status", parents=[options], help="what has been run, and how it ended")
    logs = verbs.add_parser("logs", parents=[options], help="the agent's log, or the output of a run")
    logs.add_argument("run", nargs="?", help="a run id, or its beginning")
    verbs.add_parser("version", help="version and protocol")
    return parser


def _command(given: argparse.Namespace) -> int:
    if given.verb == "version":
        sys.stdout.write(
            "calor-agent {} (protocol {}, Python {})\n".format(__version__, PROTOCOL, sys.version.split()[0])
        )
        return 0
    for variable, value in _overrides(given):
        if value:
            os.environ[variable] = os.path.abspath(value)
    where = places.find(os.environ, given.root)
    if given.verb == "status":
        return reports.status(where)
    if given.verb == "logs":
        return reports.logs(where, given.run)
    from calor.agent import agent, log, sources  # only who works needs them

    log.set_up(where.log, where.under("/dev/console"), given.verbose)
    if given.verb == "run":
        sources.wait_for_configuration(where)
    try:
        found = agent.Agent(settings.load(where.config, os.environ), where)
    except (settings.SettingsError, agent.AlreadyRuns) as exc:
        sys.stderr.write("calor-agent: {}\n".format(exc))
        return 2
    except OSError as exc:
        agent.log.error("the agent cannot keep its state in %s: %s", where.state, exc, extra=log.CONSOLE)
        return 1
    return found.run() if given.verb == "run" else found.once()


def _overrides(given: argparse.Namespace) -> List[Tuple[str, Optional[str]]]:
    return [
        ("CALOR_AGENT_CONFIG", given.config),
        ("CALOR_STATE_DIR", given.state_dir),
        ("CALOR_LOG_FILE", given.log_file),
    ]
