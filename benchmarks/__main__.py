"""`python -m benchmarks [NAME …]`: run all or the named measurements, one JSON object a line."""

import asyncio
import json
import sys

from benchmarks import beside_heat, fleet, guests, language, process, servers, signals, stacks

BENCHES = {
    "cold-start": process.cold_start,
    "idle": process.idle,
    "flat-1000": stacks.flat_1000,
    "chain-200": stacks.chain_200,
    "many-100": stacks.many_100,
    "validate-1000": language.validate_1000,
    "language-in-process": language.in_process,
    "language-beside-heat": beside_heat.language_beside_heat,
    "signal-to-complete": signals.signal_to_complete,
    "metadata-polls": signals.metadata_polls,
    "guest-polls": guests.guest_polls,
    "waiting-agents": fleet.waiting_agents,
    "agents-heat": fleet.heat_pollers,
    "agents-cfn": fleet.cfn_pollers,
    "server-boot": guests.server_boot,
    "deployment-to-hook": guests.deployment_to_hook,
    "servers": servers.servers,
}


async def run(names: list[str]) -> None:
    for name in names:
        async for row in BENCHES[name]():
            print(json.dumps(row), flush=True)


def main() -> None:
    names = sys.argv[1:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.exit(f"No measurement named {', '.join(unknown)}. There are: {', '.join(BENCHES)}.")
    asyncio.run(run(names))


if __name__ == "__main__":
    main()
