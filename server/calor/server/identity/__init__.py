"""Identity: who calls, and what this server signs, checks and seals with its own keys."""

from calor.server.identity.bearer import BearerTokens, BootstrapTokens, InstanceClaims, is_instance_token
from calor.server.identity.callers import Caller
from calor.server.identity.keys import KeyFileFault, Keys
from calor.server.identity.secret_values import (
    hash_secret,
    is_secret_of,
    random_access_key,
    random_id,
    random_secret,
    same,
)
from calor.server.identity.signed_urls import SignedTarget, UrlKind, UrlSigner
from calor.server.identity.vault import SealBroken, Vault

__all__ = [
    "BearerTokens",
    "BootstrapTokens",
    "Caller",
    "InstanceClaims",
    "KeyFileFault",
    "Keys",
    "SealBroken",
    "SignedTarget",
    "UrlKind",
    "UrlSigner",
    "Vault",
    "hash_secret",
    "is_instance_token",
    "is_secret_of",
    "random_access_key",
    "random_id",
    "random_secret",
    "same",
]
