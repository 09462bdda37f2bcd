"""``calor dev --tls``: the stock client and the agent inside a server trust a private authority (design §8)."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.root
def test_a_guest_brings_a_value_back_over_https_with_a_private_authority(dev_cloud: Callable[..., Any]) -> None:
    cloud = dev_cloud("--tls")
    assert cloud.ready["orchestration"].startswith("https://127.0.0.1:")
    cloud.openstack("stack", "create", "--wait", "-t", str(EXAMPLES / "02-script.yaml"), "script")
    assert len(cloud.outputs("script")["digest"]) == 64
    cloud.openstack("stack", "create", "--wait", "-t", str(EXAMPLES / "03-ansible.yaml"), "page")
    links = {link["href"] for link in cloud.json("stack", "show", "page")["links"]}
    assert all(link.startswith("https://") for link in links)


def test_tls_stays_as_chosen_and_only_the_authority_is_trusted(dev_cloud: Callable[..., Any]) -> None:
    cloud = dev_cloud("--tls", "--driver", "record")
    clouds = yaml.safe_load(Path(cloud.ready["clouds_yaml"]).read_text())["clouds"]
    authority = clouds["calor"]["cacert"]
    url = cloud.ready["orchestration"] + "/"
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(url, timeout=10, context=ssl.create_default_context())
    trusting = ssl.create_default_context(cafile=authority)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    with pytest.raises(urllib.error.HTTPError, match="300: Multiple Choices"):  # the list of versions
        urllib.request.urlopen(url, timeout=10, context=trusting)
    assert cloud.json("stack", "list") == []

    before = Path(authority).read_text()
    cloud.stop()
    cloud.options = ("--driver", "record")
    cloud.start()
    assert cloud.ready["orchestration"].startswith("https://")
    assert Path(authority).read_text() == before
    cloud.stop()
    cloud.options = ("--driver", "record", "--no-tls")
    cloud.start()
    assert cloud.ready["orchestration"].startswith("http://")
    assert cloud.json("stack", "list") == []
