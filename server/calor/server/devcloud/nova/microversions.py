"""Which microversion a call speaks."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Call

MINIMUM, MAXIMUM = (2, 1), (2, 87)

Version = tuple[int, int]


def text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def asked(call: Call) -> Version:
    """The microversion of the headers; 2.1 without one. Raises 406 beyond what is known."""
    word = call.request.headers.get("X-OpenStack-Nova-API-Version", "")
    for part in call.request.headers.get("OpenStack-API-Version", "").split(","):
        service, _, number = part.strip().partition(" ")
        if service == "compute":
            word = number.strip()
    if not word:
        return MINIMUM
    if word == "latest":
        return MAXIMUM
    major, _, minor = word.partition(".")
    if not (major.isdecimal() and minor.isdecimal() and len(word) < 20):
        raise ApiError(400, f"API Version String {word} is of invalid format. Must be of format MajorNum.MinorNum.")
    version = (int(major), int(minor))
    if not MINIMUM <= version <= MAXIMUM:
        raise ApiError(
            406,
            f"Version {word} is not supported by the API. Minimum is {text(MINIMUM)} and maximum is {text(MAXIMUM)}.",
        )
    return version
