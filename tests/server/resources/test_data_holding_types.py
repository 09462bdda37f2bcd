"""Which types hold what users have put there: plans mark where that is lost, and updates can be guarded against it."""

import re
from typing import Any

import pytest

from calor.server.resources.registry import installed

HOLDING = re.compile(
    r"OS::Nova::Server|AWS::EC2::Instance|(OS::Cinder|AWS::EC2)::(Volume|Backup|VolumeSnapshot|Snapshot)"
    r"|OS::Glance::\w*Image|OS::Swift::Container|AWS::S3::Bucket|OS::Manila::Share\w*|OS::Trove::(Instance|Cluster)"
    r"|OS::Barbican::(Secret|GenericContainer)|AWS::RDS::DBInstance"
)
"""What an end of these takes with it cannot be made again from the template."""


@pytest.mark.parametrize("name", installed().names())
def test_a_type_that_stores_users_data_says_so_and_no_other_does(name: str) -> None:
    kind = installed().get(name)
    assert kind is not None
    assert kind.holds_data == bool(HOLDING.fullmatch(name))


@pytest.mark.parametrize(
    ("name", "changed", "want", "lost"),
    [
        ("OS::Nova::Server", {"image"}, {"image": "i2", "image_update_policy": "REBUILD"}, True),
        ("OS::Nova::Server", {"image"}, {"image": "i2", "image_update_policy": "REBUILD_PRESERVE_EPHEMERAL"}, True),
        ("OS::Nova::Server", {"user_data"}, {"user_data": "x", "user_data_update_policy": "REBUILD"}, True),
        ("OS::Nova::Server", {"user_data"}, {"user_data": "x", "user_data_update_policy": "IGNORE"}, False),
        ("OS::Nova::Server", {"flavor", "metadata"}, {"flavor": "f2"}, False),
        ("OS::Cinder::Volume", {"backup_id"}, {"backup_id": "b2"}, True),
        ("OS::Cinder::Volume", {"size"}, {"size": 2}, False),
    ],
)
def test_an_update_in_place_may_take_the_data_too(
    name: str, changed: set[str], want: dict[str, Any], lost: bool
) -> None:
    kind: Any = installed().get(name)
    assert bool(kind.overwrites({}, want, frozenset(changed))) is lost
