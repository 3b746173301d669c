"""What a machine knows of the cluster that it belongs to: a folder of its own, outside of crawls.

cluster.json                   name of the node, address of the head, the token
authority.crt node.crt node.key   certificates; the first node also has authority.key
node.pid node.log              the process that stands for this node
crawls/                        what shards that run here keep on this machine's disk
"""

import os
from pathlib import Path
from secrets import token_urlsafe
from typing import NamedTuple

import msgspec
from msgspec import Struct

from gossamer.cluster.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    NODE,
    NodeCertificates,
    fingerprint,
    new_authority,
    new_node,
    write_certificates,
    write_key,
)
from gossamer.errors import ConfigError

VARIABLE = "GOSSAMER_CLUSTER"
PROCESSES, RAY = "processes", "ray"
"""Engines: what starts shards on the machines of a cluster."""
AUTO, LOCAL = "auto", "local"
"""What --cluster takes: the cluster that this machine belongs to, or this machine alone."""
SECRET_BYTES = 18
TOKEN_MARK = "."  # noqa: S105 - what stands between the halves of a token


class Token(NamedTuple):
    """What a machine needs to join: how to know the head, and a secret that the head knows."""

    head: str
    secret: str
    fingerprint: str

    @property
    def words(self) -> str:
        """Return the token as it is typed."""
        return f"{self.secret}{TOKEN_MARK}{self.fingerprint}"


class ClusterMembership(Struct, frozen=True, kw_only=True):
    """What cluster.json says."""

    name: str
    head: str
    """HOST:PORT"""
    secret: str
    fingerprint: str
    """Of the head's certificate."""
    engine: str = PROCESSES
    ray: str = ""
    """HOST:PORT of Ray's head, where Ray starts the shards."""
    host: str = ""
    """This machine's address, as others reach it."""
    listen: str = ""
    """The address that was asked for: what runs here listens there. Unless given, each connection
    tells by which address the machine is reached."""
    region: str = ""
    """Near which hosts this machine is, by a name that others of it have, too."""

    @property
    def has_head(self) -> bool:
        """Return True if a machine knows the others; otherwise Ray alone does."""
        return bool(self.head)

    @property
    def is_of_ray(self) -> bool:
        """Return True if Ray starts the shards."""
        return self.engine == RAY


class ClusterHome:
    """The folder in which a machine keeps what it knows of its cluster."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def authority(self) -> Path:
        """Return the certificate of the cluster."""
        return self.root / AUTHORITY

    @property
    def authority_key(self) -> Path:
        """Return the key by which certificates are signed; only the first node has it."""
        return self.root / AUTHORITY_KEY

    @property
    def certificate(self) -> Path:
        """Return the certificate of this node."""
        return self.root / NODE

    @property
    def pid_path(self) -> Path:
        """Return the file that the process of this node keeps locked, with its number."""
        return self.root / "node.pid"

    @property
    def log_path(self) -> Path:
        """Return where the processes of this node write what they would say to people."""
        return self.root / "node.log"

    @property
    def crawls(self) -> Path:
        """Return where shards that run here have their folders."""
        return self.root / "crawls"

    @property
    def is_member(self) -> bool:
        """Return True if this machine belongs to a cluster."""
        return (self.root / "cluster.json").exists()

    def membership(self) -> ClusterMembership:
        """Return what is known; refuse a machine that belongs to no cluster."""
        path = self.root / "cluster.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=ClusterMembership)
        except FileNotFoundError:
            raise ConfigError(
                "this machine belongs to no cluster: type `gossamer cluster up` here, or on "
                "another machine and then here the line that it prints"
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is damaged: {error}; join the cluster again") from error

    def token(self) -> Token:
        """Return the token of the cluster."""
        known = self.membership()
        return Token(known.head, known.secret, known.fingerprint)

    def write(self, membership: ClusterMembership) -> None:
        """Keep what is known; it has a secret in it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_key(self.root / "cluster.json", msgspec.json.encode(membership))


def local_home() -> ClusterHome:
    """Return a home for a cluster of this machine alone, its certificates made if need be."""
    home = ClusterHome(default_home().with_name("local"))
    if not home.is_member:
        found_cluster(home, "here", "127.0.0.1:0")
    return home


def home_of_cluster(authority: str) -> ClusterHome | None:
    """Return what this machine knows of the cluster whose authority has a fingerprint, if it does.

    Without a fingerprint, that of the cluster which the machine belongs to.
    """
    for home in (ClusterHome(default_home()), ClusterHome(default_home().with_name("local"))):
        if home.is_member and authority in {"", fingerprint(home.authority.read_bytes())}:
            return home
    return None


def found_cluster(
    home: ClusterHome, name: str, head: str, ray: str = "", listen: str = "", region: str = ""
) -> None:
    """Make this machine the first of a cluster.

    `ray` is where Ray's head is to listen, if any; `listen` the address that was asked for.
    """
    authority = new_authority()
    node = new_node(name, authority)
    write_certificates(home.root, NodeCertificates(authority.certificate, node))
    write_key(home.authority_key, authority.key)
    home.write(
        ClusterMembership(
            name=name,
            head=head,
            secret=token_urlsafe(SECRET_BYTES),
            fingerprint=fingerprint(node.certificate),
            engine=RAY if ray else PROCESSES,
            ray=ray,
            host=head.rpartition(":")[0],
            listen=listen,
            region=region,
        )
    )


def default_home() -> Path:
    """Return where this machine keeps what it knows of its cluster, unless it is told otherwise."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "gossamer" / "cluster"


def read_token(head: str, words: str) -> Token:
    """Return a token that was typed; refuse what is none."""
    secret, mark, mark_of_head = words.partition(TOKEN_MARK)
    if not mark or not secret or len(mark_of_head) != 64:  # noqa: PLR2004 - SHA-256 in hexadecimal
        raise ConfigError("--token: expected the token that `gossamer cluster up` has printed")
    return Token(head, secret, mark_of_head)
