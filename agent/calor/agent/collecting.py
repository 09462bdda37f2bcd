"""What a source of deployments gives, whichever way they come."""

from typing import List, NamedTuple, Optional

from calor.agent.deployments import Deployment


class Collection(NamedTuple):
    """All deployments of this server, in the order in which they are applied; run ids that are to be ended."""

    deployments: List[Deployment]
    cancelled: List[str]


class Collector:
    """A source. ``waits`` where ``collect`` itself waits for news (a long poll); ``is_native`` where results go
    back by the native protocol; ``stands_by`` where it gives nothing until another source has failed.
    ``longest_pause``: seconds between two looks, where its own configuration says so."""

    name = ""
    waits = False
    is_native = False
    stands_by = False
    longest_pause: Optional[float] = None

    def collect(self) -> Optional[Collection]:
        """What is there now; None if nothing is new. Raises httpclient.TransportError, identity.Refused or
        identity.NotEnrolled."""
        raise NotImplementedError
