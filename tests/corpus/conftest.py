"""A dev cloud whose image ``host`` also has the names that templates of the corpus write out."""

from collections.abc import Iterator
from typing import Any

import image_cache
import pytest

NAMED = ("ubuntu-software-config-os-init", "ubuntu-12.04-software-config-os-init")


@pytest.fixture(scope="session")
def cloud(dev_cloud_type: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home = tmp_path_factory.mktemp("images")
    image_cache.fill(home, {name: {} for name in NAMED})
    found = dev_cloud_type(tmp_path_factory.mktemp("corpus") / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        found.start()
    yield found
    found.stop()
