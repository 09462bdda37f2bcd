"""A real guest: a stock image boots, fetches the agent, runs a script, and its outputs come back."""

import hashlib
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]  # openstacksdk of itself
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "02-script.yaml"
TEXT = "the quick brown fox"
LIMIT = 900  # software emulation beside other load; about 120 s alone


def test_a_stock_image_fetches_the_agent_and_its_scripts_outputs_come_back(lab: Any, cli: Any, stacks: Any) -> None:
    if lab.place.guest is None:
        pytest.skip("servers of this cloud are records only")
    image, flavor, zone = lab.place.guest
    text = EXAMPLE.read_text().replace(
        "image: {get_param: image}", f"image: {{get_param: image}}\n      availability_zone: {zone}"
    )
    stacks.write((EXAMPLE.parent / "scripts" / "digest.sh").read_text(), "digest.sh")
    template = text.replace("scripts/digest.sh", "digest.sh")
    began = time.monotonic()
    name = stacks.create(
        "guest", template, "--parameter", f"image={image}", "--parameter", f"flavor={flavor}", "--timeout", "15"
    )
    seen, took = cli.outputs(name), time.monotonic() - began
    assert took < LIMIT
    digest = hashlib.sha256(f"{seen['salt']}{TEXT}".encode()).hexdigest()
    newline = hashlib.sha256(f"{seen['salt']}{TEXT}\n".encode()).hexdigest()
    assert seen["digest"] in (digest, newline), "made inside, of a random value"
    machine = cli.connection().compute.get_server(cli.physical(name)["server"])
    assert machine.hypervisor_hostname is None or machine.availability_zone == zone
    assert machine.name in seen["said"]
    stacks.delete(name)
