"""Certificates of a cluster: one authority, made by its first node, and a key for each node.

Whoever has no certificate of the authority is told nothing and can say nothing, but for the one
message by which a node asks for its certificate: that has the cluster's token in it. Who joins
knows the first node by its certificate's fingerprint, which is the other half of the token.
"""

import hashlib
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from gossamer.durable import replace_file
from gossamer.errors import ConfigError

VALID_DAYS = 3650
AUTHORITY, AUTHORITY_KEY = "authority.crt", "authority.key"
NODE, NODE_KEY = "node.crt", "node.key"
INSTALL = "certificates need the package cryptography: pip install cryptography"


class SignedKey(NamedTuple):
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes


class NodeCertificates(NamedTuple):
    """What a node needs to talk to the others."""

    authority: bytes
    node: SignedKey


def new_authority(now: datetime | None = None) -> SignedKey:
    """Return a key of a new cluster, with a certificate that it has signed itself."""
    return _signed("gossamer cluster", None, now or datetime.now(UTC))


def new_node(name: str, authority: SignedKey, now: datetime | None = None) -> SignedKey:
    """Return a key for a node, with a certificate of the cluster's authority."""
    return _signed(name, authority, now or datetime.now(UTC))


def _signed(name: str, authority: SignedKey | None, now: datetime) -> SignedKey:
    try:
        from cryptography import x509  # noqa: PLC0415 - only who makes certificates needs it
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - the same
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - the same
    except ImportError as error:
        raise ConfigError(INSTALL) from error
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])])
    issuer, signer = subject, key
    if authority is not None:
        issuer = x509.load_pem_x509_certificate(authority.certificate).subject
        loaded = serialization.load_pem_private_key(authority.key, None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ConfigError(f"{AUTHORITY_KEY} is not a key that `gossamer cluster up` has made")
        signer = loaded
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    return SignedKey(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def fingerprint(pem: bytes) -> str:
    """Return what names a certificate."""
    return fingerprint_of(ssl.PEM_cert_to_DER_cert(pem.decode()))


def fingerprint_of(certificate: bytes) -> str:
    """Return what names a certificate in binary form: the SHA-256 of its bytes."""
    return hashlib.sha256(certificate).hexdigest()


def write_certificates(folder: Path, certificates: NodeCertificates) -> None:
    """Keep a node's certificates in a folder; keys are its owner's alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(folder / AUTHORITY, certificates.authority)
    replace_file(folder / NODE, certificates.node.certificate)
    write_key(folder / NODE_KEY, certificates.node.key)


def write_key(path: Path, key: bytes) -> None:
    """Keep a private key in a file that nobody else may read, at no moment."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def server_context(folder: Path) -> ssl.SSLContext:
    """Return how a node of a cluster is called: by who has a certificate, or wants one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _prepare(context, folder)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def client_context(folder: Path) -> ssl.SSLContext:
    """Return how a node calls another: only one with a certificate of the cluster."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # addresses change; what counts is the cluster's authority
    _prepare(context, folder)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def joining_context() -> ssl.SSLContext:
    """Return how a machine calls that has no certificate yet: it looks at the fingerprint."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _prepare(context: ssl.SSLContext, folder: Path) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(folder / NODE, folder / NODE_KEY)
    context.load_verify_locations(folder / AUTHORITY)
