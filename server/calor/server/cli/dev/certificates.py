"""The certificates of ``calor dev --tls``: a private authority, as many clouds have, and one certificate of it."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from calor.server.devcloud import state
from calor.server.devcloud.driver import GUEST_API_ADDRESS

AUTHORITY, CERTIFICATE, KEY = "ca.crt", "server.crt", "server.key"
_LIFE = datetime.timedelta(days=3650)
_NAMES = ("localhost",)
_ADDRESSES = ("127.0.0.1", GUEST_API_ADDRESS)


def folder(directory: Path) -> Path:
    return directory / "tls"


def ensure(directory: Path) -> None:
    """Make the certificates where they are missing. The authority's key is not kept: it signs once."""
    place = folder(directory)
    if all((place / name).exists() for name in (AUTHORITY, CERTIFICATE, KEY)):
        return
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _name("Calor dev cloud: private authority")
    root = _builder(authority, authority, authority_key, is_authority=True).sign(authority_key, hashes.SHA256())
    certificate = (
        _builder(_name("localhost"), authority, key, is_authority=False)
        .add_extension(_reached_as(), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    state.write_private(place / KEY, private.decode())
    state.write_private(place / CERTIFICATE, _pem(certificate))
    state.write_private(place / AUTHORITY, _pem(root))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _reached_as() -> x509.SubjectAlternativeName:
    addresses = [x509.IPAddress(ipaddress.ip_address(one)) for one in _ADDRESSES]
    return x509.SubjectAlternativeName([*(x509.DNSName(one) for one in _NAMES), *addresses])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
