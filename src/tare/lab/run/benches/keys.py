"""Keys and certificates of a set of benches: one authority for all, which forgets its own key.

Each file holds a certificate and its key. Nobody can add another later: that takes new ones for
all, and the old ones are then worth nothing.
"""

import datetime
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tare.lab.errors import TareError
from tare.model.benches import AUTHORITY, COORDINATOR, Benches

CERTIFICATE = f"{AUTHORITY}.pem"
"""The authority's; its key is forgotten."""
VALID_DAYS = 365
_SKEW = datetime.timedelta(hours=1)
"""By how much a bench's clock may be behind."""


def make(benches: Benches) -> list[Path]:
    """Write new keys for the coordinator and every bench, and return the files. Raises OSError."""
    folder = Path(benches.keys)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = _named("tare benches")
    authority = _certificate(issuer, key, issuer, key, is_authority=True)
    files = {CERTIFICATE: _pem(authority)}
    for name in (COORDINATOR, *benches.benches):
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(_named(name), own, issuer, key, is_authority=False)
        private = own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        files[f"{name}.pem"] = _pem(signed) + private
    for name, content in files.items():
        _write(folder / name, content)
    return [folder / name for name in files]


def files_of(benches: Benches, name: str) -> tuple[Path, Path]:
    """Return the authority's certificate, and the file of `name`.

    Raises TareError if one is missing, or if others may read the key.
    """
    folder = Path(benches.keys)
    authority, own = folder / CERTIFICATE, folder / f"{name}.pem"
    for file in (authority, own):
        if not file.is_file():
            raise TareError(
                f"{file}: there is no such file; make keys once with: tare hosts keys FILE, and "
                f"copy {CERTIFICATE} and {name}.pem here"
            )
    if own.stat().st_mode & 0o077:
        raise TareError(f"{own}: others may read this key; run: chmod 600 {own}")
    return authority, own


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .sign(signer, hashes.SHA256())
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(file: Path, content: bytes) -> None:
    """Replace a file whole, readable by its owner only."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    fresh.replace(file)
