"""Configuration: ``calor.conf``, read by oslo.config into frozen sections."""

from calor.server.config.guest_urls import GuestUrls
from calor.server.config.loading import ConfigurationFault, Settings, load, sample
from calor.server.config.sections import (
    CfnListener,
    Clients,
    Database,
    General,
    Keystone,
    Limits,
    Listener,
    RestListener,
)

__all__ = [
    "CfnListener",
    "Clients",
    "ConfigurationFault",
    "Database",
    "General",
    "GuestUrls",
    "Keystone",
    "Limits",
    "Listener",
    "RestListener",
    "Settings",
    "load",
    "sample",
]
