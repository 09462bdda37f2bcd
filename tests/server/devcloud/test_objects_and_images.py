"""Swift with TempURL, and Glance."""

import hashlib
import hmac
import io
import time

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from calor.server.devcloud.swift import temp_urls

KEY = "s3cret"


def signed(url, path, method, *, key=KEY, expires=None, digest="sha256"):
    expires = int(time.time()) + 60 if expires is None else expires
    sig = hmac.new(key.encode(), f"{method}\n{expires}\n{path}".encode(), digest).hexdigest()
    return f"{url}?temp_url_sig={sig}&temp_url_expires={expires}"


@pytest.fixture
def place(demo):
    """(object URL, its path as signed by clients that know our prefix, as signed by those that do not)."""
    account = demo.object_store.get_endpoint()
    requests.post(account, headers={"X-Auth-Token": demo.auth_token, "X-Account-Meta-Temp-URL-Key": KEY}, timeout=5)
    demo.object_store.create_container(name="c")
    path = "/object-store" + account.partition("/object-store")[2] + "/c/some/o.json"
    return account + "/c/some/o.json", path, path.removeprefix("/object-store")


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha512"])
@pytest.mark.parametrize("which", [1, 2])
def test_a_temp_url_puts_and_gets_one_object(place, digest, which):
    url, path = place[0], place[which]
    assert requests.get(signed(url, path, "GET", digest=digest), timeout=5).status_code == 404
    put = requests.put(signed(url, path, "PUT", digest=digest), data=b"hello", timeout=5)
    assert put.status_code == 201
    got = requests.get(signed(url, path, "GET", digest=digest), timeout=5)
    assert got.content == b"hello"
    assert "GMT" in got.headers["Last-Modified"]
    assert requests.head(signed(url, path, "GET", digest=digest), timeout=5).headers["Content-Length"] == "5"


def test_a_temp_url_of_another_method_key_path_or_time_is_refused(place):
    url, path, _ = place
    requests.put(signed(url, path, "PUT"), data=b"x", timeout=5)
    for bad in (
        signed(url, path, "GET", key="other"),
        signed(url, path + "x", "GET"),
        signed(url, path, "GET", expires=int(time.time()) - 1),
        signed(url, path, "PUT"),
        url,
    ):
        assert requests.get(bad, timeout=5).status_code == 401


@given(st.text(max_size=70), st.text(max_size=20))
def test_no_rubbish_is_a_signature(sig, expires):
    query = {"temp_url_sig": sig, "temp_url_expires": expires}
    assert not temp_urls.is_allowed("GET", ["/v1/a/c/o"], query, [KEY], 0)


def test_containers_and_objects_by_sdk(demo):
    demo.object_store.create_container(name="c")
    demo.object_store.upload_object("c", "o", data="text")
    assert demo.object_store.download_object("o", container="c") == b"text"
    assert [o.name for o in demo.object_store.objects("c")] == ["o"]
    assert (
        requests.delete(
            demo.object_store.get_endpoint() + "/c", headers={"X-Auth-Token": demo.auth_token}, timeout=5
        ).status_code
        == 409
    )
    demo.object_store.delete_object("o", container="c", ignore_missing=False)
    demo.object_store.delete_container("c", ignore_missing=False)


def test_an_etag_that_does_not_match_keeps_nothing(demo, place):
    headers = {"X-Auth-Token": demo.auth_token, "ETag": "0" * 32}
    assert requests.put(place[0], data=b"x", headers=headers, timeout=5).status_code == 422
    assert requests.get(place[0], headers=headers, timeout=5).status_code == 404


def test_objects_of_another_account_are_forbidden(demo, admin):
    own = demo.object_store.get_endpoint()
    other = admin.object_store.get_endpoint()
    assert own != other
    assert requests.get(other, headers={"X-Auth-Token": demo.auth_token}, timeout=5).status_code == 403


def test_an_image_is_uploaded_changed_downloaded_and_deleted(dev_cloud, demo):
    image = demo.image.create_image(
        name="i", data=io.BytesIO(b"disk"), disk_format="raw", container_format="bare", wait=True, my_key="v"
    )
    image = demo.image.get_image(image.id)
    assert (image.status, image.size, image.hash_value) == ("active", 4, hashlib.sha512(b"disk").hexdigest())
    assert image.properties["my_key"] == "v"
    demo.image.update_image(image, name="j", other="w")
    assert demo.image.get_image(image.id).properties["other"] == "w"
    assert demo.image.download_image(image).content == b"disk"
    demo.image.delete_image(image, ignore_missing=False)
    assert not (dev_cloud.directory / "images" / image.id).exists()


def test_only_the_admin_publishes_images(demo):
    with pytest.raises(Exception, match="403"):
        demo.image.create_image(name="i", disk_format="raw", container_format="bare", visibility="public")
