"""Trying again what a server or the network may do better the next time."""

import time
from typing import Callable, TypeVar

from calor.cfntools import httpclient

Result = TypeVar("Result")
WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


def is_transient(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status >= 500 or status in (408, 425, 429)


def check(answer: httpclient.Answer) -> httpclient.Answer:
    """The answer; TransportError for one that is worth another try."""
    if is_transient(answer.status):
        raise httpclient.TransportError(described(answer))
    return answer


def described(answer: httpclient.Answer) -> str:
    return "the server answered {}: {}".format(answer.status, " ".join(answer.text()[:300].split()))


def patiently(attempt: Callable[[], Result], seconds: float) -> Result:
    """What ``attempt`` gives; it is repeated after a TransportError until ``seconds`` have passed, then that is
    raised."""
    deadline = time.monotonic() + seconds
    number = 0
    while True:
        try:
            return attempt()
        except httpclient.TransportError:
            wait = WAITS[min(number, len(WAITS) - 1)]
            if time.monotonic() + wait > deadline:
                raise
        time.sleep(wait)
        number += 1
