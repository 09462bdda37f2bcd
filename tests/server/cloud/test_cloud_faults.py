"""What services say, in their many shapes, comes out as the error its reader can act on."""

from typing import Any

import pytest

from calor.server.cloud.errors import CloudConflict, CloudError, CloudMissing, CloudQuota, CloudRefused
from calor.server.cloud.faults import Answer, fault_of


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, {"itemNotFound": {"message": "Instance x could not be found.", "code": 404}}, CloudMissing),
        (
            403,
            {"forbidden": {"message": "Quota exceeded for cores: Requested 4, used 18 of 20"}},
            CloudQuota,
        ),
        (413, {"overLimit": {"message": "VolumeSizeExceedsAvailableQuota: 600G, have 371G"}}, CloudQuota),
        (409, {"NeutronError": {"type": "OverQuota", "message": "No more for network", "detail": ""}}, CloudQuota),
        (409, {"NeutronError": {"type": "PortInUse", "message": "Port in use", "detail": ""}}, CloudConflict),
        (400, {"badRequest": {"message": "Invalid volume: Volume status must be available or error"}}, CloudConflict),
        (400, {"badRequest": {"message": "Invalid key_name provided."}}, CloudRefused),
        (403, {"forbidden": {"message": "Policy does not allow it"}}, CloudRefused),
        (401, {"error": {"message": "The request you have made requires authentication."}}, CloudRefused),
        (500, "<html><title>x</title><h1>Internal</h1> Server Error</html>", CloudError),
    ],
)
def test_a_fault_is_what_its_service_means(status: int, body: Any, kind: type[CloudError]) -> None:
    fault = fault_of(Answer(status, body), "compute")
    assert type(fault) is kind
    assert fault.code == status and f"HTTP {status} from the compute service" in fault.detail


def test_the_services_own_sentence_is_kept_and_markup_is_not() -> None:
    fault = fault_of(Answer(503, "<html><title>t</title><p>No  server\n available</p></html>"), "block_storage")
    assert fault.detail == "No server available (HTTP 503 from the block storage service)"


def test_f151_a_quota_error_has_the_numbers_of_the_service() -> None:
    """Unlimited quotas (-1) are never compared here: only what the service refuses is a quota error."""
    body = {"forbidden": {"message": "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"}}
    fault = fault_of(Answer(403, body), "compute")
    assert isinstance(fault, CloudQuota) and "10 of 10" in fault.detail
