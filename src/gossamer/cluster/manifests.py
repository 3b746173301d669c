"""Manifests for Kubernetes: what `gossamer cluster yaml` prints, built as data. Pure.

With Ray it is a RayJob of KubeRay, whose entrypoint is the crawl; without it Deployments of nodes
and a Job. Either way pods may die with their disks: the crawl is in the object store. All pods have
the certificate of one Secret, since what counts between them is the cluster's authority.
"""

import base64
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from msgspec import Struct

from gossamer.cluster.home import VARIABLE
from gossamer.cluster.ray_daemon import HEALTH, RESOURCE

Value: TypeAlias = Union[str, int, bool, "Sequence[Value]", "Mapping[str, Value]"]
Manifest: TypeAlias = Mapping[str, Value]

HEAD_PORT = 7420
GCS_PORT, DASHBOARD_PORT = 6379, 8265
HOME, SECRET_HOME = "/var/lib/gossamer", "/etc/gossamer-cluster"
RAY_VERSION = "2.60.0"
RETRIES = 20
"""So often the crawl is begun again whose coordinator, or Ray's head, has died."""
FIRST_ONLY = "authority.key"
"""The file of a home that only the first machine has."""
HEAD_MEMORY, HEAD_CORES = "4Gi", 1
LABEL = "app.kubernetes.io/name"
PART = "app.kubernetes.io/component"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_SPECIAL = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class PodPlan(Struct, frozen=True, kw_only=True):
    """What is wanted of a cluster on Kubernetes."""

    name: str
    image: str
    store: str
    seeds: Sequence[str]
    flags: Sequence[str]
    """Further words of the crawl's line."""
    nodes: int
    cores: int
    memory: str
    """Of each node, as Kubernetes writes it."""
    shards: int
    secret_env: str
    """Name of the Secret that has the variables by which the store is reached."""
    home: Mapping[str, bytes]
    """The files of a machine's home."""

    @property
    def crawl(self) -> list[str]:
        """Return the line that crawls."""
        words = ["gossamer", "crawl", *self.seeds, "--cluster", "auto", "--store", self.store]
        return [*words, "--shards", str(self.shards), *self.flags]

    @property
    def secret(self) -> str:
        """Return the name of the Secret with the cluster's certificates."""
        return f"{self.name}-cluster"

    def labels(self, part: str) -> Manifest:
        """Return what marks the pods of a part."""
        return {LABEL: self.name, PART: part}


def head_address(name: str) -> str:
    """Return where the head of a cluster without Ray is heard."""
    return f"{name}-head:{HEAD_PORT}"


def ray_manifests(plan: PodPlan) -> list[Manifest]:
    """Return the manifests of a crawl on Ray, for KubeRay 1.5 or newer."""
    ports = {"gcs-server": GCS_PORT, "dashboard": DASHBOARD_PORT}
    head: Manifest = {
        **_container(plan, "ray-head", HEAD_CORES, HEAD_MEMORY),
        "env": _env() + [{"name": name, "value": value} for name, value in HEALTH.items()],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
    }
    worker = _container(plan, "ray-worker", plan.cores, plan.memory)
    resource = json.dumps(json.dumps({RESOURCE: plan.cores}))  # a word of a shell's line
    cluster: Manifest = {
        "rayVersion": RAY_VERSION,
        "authOptions": {"mode": "token"},
        "headGroupSpec": {
            "rayStartParams": {"num-cpus": "0"},
            "template": _pod(plan, "head", head),
        },
        "workerGroupSpecs": [
            {
                "groupName": "nodes",
                "replicas": plan.nodes,
                "minReplicas": plan.nodes,
                "maxReplicas": plan.nodes,
                "rayStartParams": {"num-cpus": "0", "resources": resource},
                "template": _pod(plan, "node", worker),
            }
        ],
    }
    job: Manifest = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": plan.name, "labels": {LABEL: plan.name}},
        "spec": {
            "entrypoint": shlex.join(plan.crawl),
            "shutdownAfterJobFinishes": True,
            "backoffLimit": RETRIES,
            "rayClusterSpec": cluster,
        },
    }
    return [_secret(plan), job]


def node_manifests(plan: PodPlan) -> list[Manifest]:
    """Return the manifests of a crawl without Ray: a head, nodes, and a Job that coordinates."""
    node = ["gossamer", "cluster", "node", "--home", HOME]
    head: Manifest = {
        **_container(plan, "head", HEAD_CORES, HEAD_MEMORY),
        "command": [*node, "--cores", str(HEAD_CORES)],
        "ports": [{"name": "head", "containerPort": HEAD_PORT}],
    }
    pod: Manifest = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    worker: Manifest = {
        **_container(plan, "node", plan.cores, plan.memory),
        "env": [*_env(), pod],
        "command": [*node, "--cores", str(plan.cores), "--name", "$(POD)"],
    }
    crawl: Manifest = {
        **_container(plan, "crawl", HEAD_CORES, HEAD_MEMORY),
        "command": plan.crawl,
    }
    service: Manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{plan.name}-head", "labels": plan.labels("head")},
        "spec": {
            "clusterIP": "None",  # the name is the pod's own address, at which it can listen
            "publishNotReadyAddresses": True,
            "selector": plan.labels("head"),
            "ports": [{"name": "head", "port": HEAD_PORT}],
        },
    }
    template: Manifest = _pod(plan, "crawl", crawl)
    job: Manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{plan.name}-crawl", "labels": plan.labels("crawl")},
        "spec": {"backoffLimit": RETRIES, "template": template},
    }
    return [
        _secret(plan),
        service,
        _deployment(plan, "head", 1, head),
        _deployment(plan, "node", plan.nodes, worker),
        job,
    ]


def _deployment(plan: PodPlan, part: str, replicas: int, container: Manifest) -> Manifest:
    strategy: Manifest = {"type": "Recreate"}  # two heads would answer under one name
    spec: Manifest = {
        "replicas": replicas,
        "selector": {"matchLabels": plan.labels(part)},
        "template": _pod(plan, part, container),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{plan.name}-{part}", "labels": plan.labels(part)},
        "spec": {**spec, "strategy": strategy} if part == "head" else spec,
    }


def _container(plan: PodPlan, name: str, cores: int, memory: str) -> Manifest:
    """Return a container that has the cluster's certificates and the way to the store."""
    amounts: Manifest = {"cpu": str(cores), "memory": memory}
    return {
        "name": name,
        "image": plan.image,
        "env": _env(),
        "envFrom": [{"secretRef": {"name": plan.secret_env, "optional": True}}],
        "resources": {"requests": amounts, "limits": {"memory": memory}},
        "volumeMounts": [{"name": "home", "mountPath": HOME}],
    }


def _env() -> list[Value]:
    return [{"name": VARIABLE, "value": HOME}]


def _pod(plan: PodPlan, part: str, container: Manifest) -> Manifest:
    """Return a pod of one container; its home is made from the Secret, on a disk that may go."""
    secret: dict[str, Value] = {"secretName": plan.secret, "defaultMode": 0o400}
    if part != "head":  # only the head signs certificates
        names = [name for name in sorted(plan.home) if name != FIRST_ONLY]
        secret["items"] = [{"key": name, "path": name} for name in names]
    copy: Manifest = {
        "name": "home",
        "image": plan.image,
        "command": ["sh", "-c", f"cp {SECRET_HOME}/* {HOME}/ && chmod 600 {HOME}/*"],
        "volumeMounts": [
            {"name": "home", "mountPath": HOME},
            {"name": "cluster", "mountPath": SECRET_HOME, "readOnly": True},
        ],
    }
    spec: dict[str, Value] = {
        "initContainers": [copy],
        "containers": [container],
        "volumes": [
            {"name": "home", "emptyDir": {}},
            {"name": "cluster", "secret": secret},
        ],
        "securityContext": {"fsGroup": 1000},
        "terminationGracePeriodSeconds": 60,
    }
    if part == "crawl":
        spec["restartPolicy"] = "OnFailure"
    return {"metadata": {"labels": plan.labels(part)}, "spec": spec}


def _secret(plan: PodPlan) -> Manifest:
    files = {name: base64.b64encode(plan.home[name]).decode() for name in sorted(plan.home)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": plan.secret, "labels": {LABEL: plan.name}},
        "type": "Opaque",
        "data": files,
    }


def to_yaml(manifests: Sequence[Manifest]) -> str:
    """Return manifests as a stream of YAML documents."""
    return "".join("\n".join(["---", *_lines(one), ""]) for one in manifests)


def _lines(value: Value) -> list[str]:
    """Return the lines of a value; what is nested is indented by two."""
    lines: list[str] = []
    match value:
        case Mapping():
            for name, inner in value.items():
                lines += _under(f"{_scalar(name)}:", inner)
        case str() | bool() | int():
            lines.append(_scalar(value))
        case _:
            for inner in value:
                first, *rest = _lines(inner) or ["{}"]
                lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def _under(key: str, value: Value) -> list[str]:
    if isinstance(value, str | bool | int):
        return [f"{key} {_scalar(value)}"]
    if not value:
        return [f"{key} {'{}' if isinstance(value, Mapping) else '[]'}"]
    return [key, *(f"  {line}" for line in _lines(value))]


def _scalar(value: str | bool | int) -> str:  # noqa: FBT001 - a value like any other
    """Return a value on one line: plain where that can mean nothing else, otherwise quoted."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return f'"{"".join(map(_quoted, value))}"' if isinstance(value, str) else json.dumps(value)


def _quoted(letter: str) -> str:
    """Return a letter as it is written between double quotes."""
    if letter in '"\\':
        return f"\\{letter}"
    return letter if " " <= letter <= "~" else f"\\U{ord(letter):08x}"
