"""Calor's own verbs as commands of the ``openstack`` client, next to those that python-heatclient brings.

The client imports this module at each start (entry point ``openstack.cli.extension``), so it imports nothing itself.
"""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calor.server.cli.client import Client

API_NAME = "calor"
API_VERSION_OPTION = "os_calor_api_version"
API_VERSIONS = ("1",)
DEFAULT_API_VERSION = "1"


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """No global option is needed: there is one version."""
    return parser


def make_client(instance: Any) -> "Client":
    """The client of `calor stack`, with the session that the ``openstack`` client has logged in with."""
    from keystoneauth1.adapter import Adapter

    from calor.server.cli.client import Client
    from calor.server.cli.cloud_config import SERVICE

    adapter = Adapter(
        instance.session,
        service_type=SERVICE,
        interface=instance.interface,
        region_name=instance.region_name,
        user_agent="calor",
    )
    return Client(cloud=instance._cli_options.name, adapter=adapter)  # it has no public name
