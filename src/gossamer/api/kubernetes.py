"""Manifests of a crawl on Kubernetes: on Ray (KubeRay), or by nodes of Gossamer's own."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer.errors import ConfigError

NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
MEMORY = re.compile(r"[1-9][0-9]*(Mi|Gi|Ti|M|G|T)")
OURS = frozenset({"--store", "--cluster", "--into", "--shards", "--json"})
"""Flags of the crawl that the manifests set."""
SHARDS_PER_CORE, LEAST_SHARDS, MOST_SHARDS = 2, 4, 64


def cluster_yaml(
    seeds: Sequence[str],
    *,
    store: str,
    image: str,
    engine: str = "ray",
    name: str = "gossamer",
    nodes: int = 3,
    cores: int = 4,
    memory: str = "16Gi",
    flags: str = "",
    credentials: str = "gossamer-store",
) -> str:
    """Return manifests for `kubectl apply`: a crawl of `seeds` by `nodes` pods, as YAML.

    `image` has Gossamer and, for the engine `ray`, Ray. `flags` are further words of the crawl's
    line. `credentials` names the Secret that has the variables by which the store is reached. There
    is a new private key in what is returned, in a Secret called NAME-cluster.
    """
    from gossamer.cluster import (
        PROCESSES,
        RAY,
        PodPlan,
        node_manifests,
        ray_manifests,
        to_yaml,
    )

    if engine not in {PROCESSES, RAY}:
        raise ConfigError(f"--engine: expected {PROCESSES} or {RAY}, found {engine!r}")
    _expect_names(name, credentials)
    if not image or any(letter.isspace() for letter in image):
        raise ConfigError(
            f"--image: expected the image of a container that has Gossamer, found {image!r}; "
            "docs/CLUSTER.md has the lines that build one"
        )
    if not MEMORY.fullmatch(memory):
        raise ConfigError(f"--memory: expected an amount such as 16Gi, found {memory!r}")
    wanted = min(MOST_SHARDS, max(LEAST_SHARDS, SHARDS_PER_CORE * nodes * cores))
    plan = PodPlan(
        name=name,
        image=image,
        store=_store(store),
        seeds=_seeds(seeds),
        flags=_flags(flags),
        nodes=nodes,
        cores=cores,
        memory=memory,
        shards=wanted,
        secret_env=credentials,
        home=_home(name, is_of_ray=engine == RAY),
    )
    return to_yaml(ray_manifests(plan) if engine == RAY else node_manifests(plan))


def _expect_names(name: str, credentials: str) -> None:
    """Refuse what is no name of an object of Kubernetes."""
    for flag, given in (("--name", name), ("--credentials", credentials)):
        if not NAME.fullmatch(given):
            raise ConfigError(
                f"{flag}: expected up to 40 letters a-z, digits and '-', a letter first, found "
                f"{given!r}"
            )


def _store(store: str) -> str:
    if not store:
        raise ConfigError("the crawl needs a store that all pods reach: add --store s3://BUCKET")
    scheme, mark, rest = store.partition("://")
    if not mark or not rest or scheme == "file":
        raise ConfigError(
            f"--store: expected a store that all pods reach, such as s3://BUCKET/PREFIX, gs://... "
            f"or az://..., found {store!r}"
        )
    return store


def _seeds(seeds: Sequence[str]) -> list[str]:
    from gossamer.crawl import Seed, check_seeds

    if not seeds:
        raise ConfigError("nothing to start from: give a URL")
    check_seeds([Seed(url=url) for url in seeds])
    return list(seeds)


def _flags(flags: str) -> list[str]:
    """Return further words of the crawl's line; refuse those that the manifests set."""
    try:
        words = shlex.split(flags)
    except ValueError as error:
        raise ConfigError(f"--flags: {flags!r} cannot be read as words: {error}") from None
    for word in words:
        if (flag := word.partition("=")[0]) in OURS:
            raise ConfigError(f"--flags: {flag} is set by the manifests already; leave it out")
    return words


def _home(name: str, *, is_of_ray: bool) -> dict[str, bytes]:
    """Return the files that make a pod a machine of the cluster, with certificates of its own."""
    from gossamer.cluster import ClusterHome, found_cluster, head_address

    with TemporaryDirectory(prefix="gossamer-") as folder:
        home = ClusterHome(Path(folder) / "home")
        head, ray = ("", "auto") if is_of_ray else (head_address(name), "")
        found_cluster(home, name, head, ray)
        if is_of_ray:
            home.authority_key.unlink()
        return {path.name: path.read_bytes() for path in sorted(home.root.iterdir())}
