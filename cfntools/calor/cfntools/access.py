"""How this instance may ask the CloudFormation API: with an EC2 key pair, else as itself."""

from typing import Callable, Optional

from calor.cfntools import cloudformation, credentials, ec2

Native = Callable[[str], Optional[cloudformation.Ask]]
"""The root directory -> the API asked with the identity of the agent of this instance; None where it has none. What
knows the agent hands it in."""


class NoAccess(Exception):
    """This instance has neither a key pair with an address, nor an identity."""


def no_identity(_root: str) -> Optional[cloudformation.Ask]:
    return None


def find(given: credentials.Given, native: Native) -> cloudformation.Ask:
    """Raises NoAccess, and credentials.Unreadable."""
    endpoint = credentials.find_endpoint(given)
    if endpoint is not None:
        return ec2.asker(endpoint)
    found = native(given.root)
    if found is None:
        raise NoAccess("CloudFormation API: no address or no EC2 key pair, and no identity of a Calor agent")
    return found
