"""What can go wrong at the cloud, as the callers need to tell it apart."""

from calor.server.errors import CalorError


class CloudError(CalorError):
    """Any failure of a cloud call. ``code`` is the HTTP status the cloud gave, 0 when there was none."""

    status, title = 502, "Bad Gateway"

    def __init__(self, detail: str, *, code: int = 0) -> None:
        super().__init__(detail)
        self.code = code


class CloudMissing(CloudError):
    """404."""


class CloudAmbiguous(CloudError):
    """A name that several objects have."""


class CloudConflict(CloudError):
    """409, or a 400 that says the object is in use or in the wrong state: worth trying again."""


class CloudRefused(CloudError):
    """Any other 4xx: trying again is no use."""


class CloudQuota(CloudError):
    """A quota is used up: reported as such, at once."""


class CloudUncertain(CloudError):
    """The connection broke, or the service failed, after the request was sent: it may have taken effect."""


class CloudFailed(CloudError):
    """An object went into an error state; the detail has the cloud's own words (a server's fault)."""
