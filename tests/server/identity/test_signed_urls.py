"""Signed URLs: the same each time, bound to one resource, never expired by a clock."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.errors import Forbidden
from calor.server.identity import Keys, SignedTarget, UrlKind, UrlSigner

KEYS = Keys.generate()
SIGNER = UrlSigner.of(KEYS)
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def target(resource_name: str = "web", kind: UrlKind = UrlKind.SIGNAL) -> SignedTarget:
    return SignedTarget(
        kind=kind,
        project_id="f00d",
        stack_name="shop",
        stack_id="5b0a8d0e-0000-4000-8000-000000000001",
        resource_name=resource_name,
        resource_id="5b0a8d0e-0000-4000-8000-0000000000aa",
    )


def parts(url: str) -> tuple[str, dict[str, str]]:
    split = urlsplit(url)
    return split.path, dict(parse_qsl(split.query))


def test_a_url_carries_heats_query_parameters() -> None:
    path, query = parts(SIGNER.sign("http://[fd00::1]:8000", target(), at=MADE))
    assert path.startswith("/v1/signal/arn%3Aopenstack%3Aheat%3A%3Af00d%3Astacks/shop/")
    assert query.keys() == {"AWSAccessKeyId", "Signature", "SignatureMethod", "SignatureVersion", "Timestamp"}
    assert (query["SignatureMethod"], query["SignatureVersion"]) == ("HmacSHA256", "2")
    assert query["Timestamp"] == "2026-01-02T03:04:05Z"


def test_a_url_without_time_has_no_timestamp() -> None:
    assert "Timestamp" not in parts(SIGNER.sign("http://h", target(), at=None))[1]


def test_the_url_of_a_resource_is_the_same_each_time() -> None:
    assert SIGNER.sign("http://h", target(), at=MADE) == UrlSigner.of(KEYS).sign("http://h", target(), at=MADE)


@given(st.text(min_size=1).filter(lambda name: "/" not in name).filter(lambda name: name.isprintable()))
def test_every_resource_name_comes_back(name: str) -> None:
    url = SIGNER.sign("http://h:8000/", target(name), at=MADE)
    assert SIGNER.read(*parts(url)) == target(name)


@pytest.mark.parametrize("change", ["Signature", "AWSAccessKeyId", "Timestamp", "path", "kind", "extra"])
def test_a_changed_url_is_refused(change: str) -> None:
    path, query = parts(SIGNER.sign("http://h", target(), at=MADE))
    if change == "path":
        path = path.replace("web", "db")
    elif change == "kind":
        path = path.replace("/signal/", "/waitcondition/")
    else:
        query[change] = query.get(change, "") + "x"
    with pytest.raises(Forbidden):
        SIGNER.read(path, query)


@pytest.mark.parametrize("path", ["", "/", "/v1/", "/v1/signal/", "/v1/other/arn", "/v1/signal/arn:openstack:heat::p"])
def test_a_path_that_is_none_of_ours_is_refused(path: str) -> None:
    with pytest.raises(Forbidden):
        SIGNER.read(path, {"AWSAccessKeyId": "x", "Signature": "é\ud800"})


def test_a_url_outlives_a_new_signing_key() -> None:
    url = SIGNER.sign("http://h", target(), at=MADE)
    newer = Keys(signing=(Keys.generate().signing[0], *KEYS.signing), sealing=KEYS.sealing)
    assert UrlSigner.of(newer).read(*parts(url)) == target()
    with pytest.raises(Forbidden):
        UrlSigner.of(Keys.generate()).read(*parts(url))
