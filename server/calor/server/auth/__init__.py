"""Who calls and what he may."""

from calor.server.auth.enforcement import Policy
from calor.server.auth.keystone import KeystoneTokens

__all__ = ["KeystoneTokens", "Policy"]
