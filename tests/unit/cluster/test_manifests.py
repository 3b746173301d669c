"""Manifests for Kubernetes: whole, consistent, and by KubeRay's schema where it is there."""

import base64
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.e2e.crawler import say

import gossamer
from gossamer.cluster import ClusterHome, to_yaml

WORDS = {"store": "s3://crawls/x", "image": "registry.example/gossamer:0.1"}
CRDS = os.environ.get("KUBERAY_CRDS", "")
SPEC = {
    "initContainers",
    "containers",
    "volumes",
    "securityContext",
    "terminationGracePeriodSeconds",
    "restartPolicy",
}
CONTAINER = {
    "name",
    "image",
    "command",
    "env",
    "envFrom",
    "ports",
    "resources",
    "volumeMounts",
}
KINDS = {
    "ray": ["Secret", "RayJob"],
    "processes": ["Secret", "Service", "Deployment", "Deployment", "Job"],
}
LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"


def made(engine: str, **more: Any) -> list[dict[str, Any]]:
    said = gossamer.cluster_yaml(["https://example.org/"], **WORDS, engine=engine, **more)
    return list(yaml.safe_load_all(said))


def pods(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the pods of manifests, wherever they are in them."""
    if isinstance(value, Mapping):
        if "containers" in value.get("spec", {}):
            yield dict(value)
        for inner in value.values():
            yield from pods(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pods(inner)


@pytest.mark.parametrize("engine", KINDS)
def test_each_engine_has_its_manifests(engine: str) -> None:
    found = made(engine)
    assert [one["kind"] for one in found] == KINDS[engine]
    assert len({(one["kind"], one["metadata"]["name"]) for one in found}) == len(found)


@pytest.mark.parametrize("engine", KINDS)
def test_pods_say_only_what_kubernetes_knows_and_mount_what_they_have(engine: str) -> None:
    found = list(pods(made(engine)))
    assert found
    for pod in found:
        spec = pod["spec"]
        assert set(spec) <= SPEC
        volumes = {one["name"] for one in spec["volumes"]}
        for container in (*spec["initContainers"], *spec["containers"]):
            assert set(container) <= CONTAINER
            assert {one["name"] for one in container["volumeMounts"]} <= volumes
            assert all(isinstance(one.get("value", ""), str) for one in container.get("env", []))
            assert all(isinstance(word, str) for word in container.get("command", []))


def test_ports_labels_and_selectors_fit() -> None:
    found = {one["metadata"]["name"]: one for one in made("processes")}
    selector = found["gossamer-head"]["spec"].get("selector")
    deployments = [one for one in found.values() if one["kind"] == "Deployment"]
    for one in deployments:
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels
    service = next(one for one in made("processes") if one["kind"] == "Service")
    head = next(one for one in deployments if one["metadata"]["name"] == "gossamer-head")
    assert service["spec"]["selector"] == head["spec"]["template"]["metadata"]["labels"]
    assert selector
    (port,) = service["spec"]["ports"]
    (container,) = head["spec"]["template"]["spec"]["containers"]
    assert port["port"] == container["ports"][0]["containerPort"]


@pytest.mark.parametrize("engine", KINDS)
def test_the_secret_is_a_home_that_a_machine_can_have(engine: str, tmp_path: Path) -> None:
    secret, *others = made(engine)
    for name, data in secret["data"].items():
        (tmp_path / name).write_bytes(base64.b64decode(data))
    known = ClusterHome(tmp_path).membership()
    assert known.engine == engine
    assert known.has_head is (engine == "processes")
    for pod in pods(others):
        named = next(one["secret"] for one in pod["spec"]["volumes"] if "secret" in one)
        assert named["secretName"] == secret["metadata"]["name"]
        given_files = {one["key"] for one in named.get("items", [])} or set(secret["data"])
        assert given_files <= set(secret["data"])
        is_head = pod["metadata"]["labels"]["app.kubernetes.io/component"] == "head"
        assert ("authority.key" in given_files) is (is_head and engine == "processes")


def test_ray_is_told_by_words_which_nodes_take_shards() -> None:
    _, job = made("ray", nodes=5, cores=8)
    cluster = job["spec"]["rayClusterSpec"]
    (group,) = cluster["workerGroupSpecs"]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (5, 5, 5)
    for params in (cluster["headGroupSpec"]["rayStartParams"], group["rayStartParams"]):
        assert all(isinstance(value, str) for value in params.values())
    assert json.loads(json.loads(group["rayStartParams"]["resources"])) == {"gossamer": 8}
    assert cluster["authOptions"] == {"mode": "token"}
    words = job["spec"]["entrypoint"].split()
    assert words[:3] == ["gossamer", "crawl", "https://example.org/"]
    assert words[words.index("--shards") + 1] == "64"


@pytest.mark.skipif(not CRDS, reason="KUBERAY_CRDS names no folder with KubeRay's definitions")
def test_the_ray_job_is_valid_by_kuberay_s_own_schema() -> None:
    import jsonschema  # noqa: PLC0415 - comes with Ray

    definition = yaml.safe_load((Path(CRDS) / "ray.io_rayjobs.yaml").read_text())
    (schema,) = (
        one["schema"]["openAPIV3Schema"]
        for one in definition["spec"]["versions"]
        if one["name"] == "v1"
    )
    jsonschema.validate(made("ray")[1], closed(schema))


def closed(schema: Any) -> Any:
    """Return a schema that refuses fields that it does not name, as kubectl does."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(inner) for name, inner in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    is_open = "additionalProperties" in schema or "x-kubernetes-preserve-unknown-fields" in schema
    if schema.get("type") == "object" and "properties" in schema and not is_open:
        found["additionalProperties"] = False
    return found


NAMES = st.text(max_size=80)
"""Names are simple keys: YAML allows them 1,024 characters, escapes included."""
VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, min_size=1) | st.dictionaries(NAMES, inner, min_size=1),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES | st.just({}) | st.just([]), min_size=1))
def test_what_is_printed_is_read_as_it_was(value: Any) -> None:
    assert list(yaml.safe_load_all(to_yaml([value]))) == [value]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--store", "file:///x", "--image", "i"), "--store: expected a store that all pods reach"),
        (("--store", "s3://b/c", "--image", ""), "--image: expected the image of a container"),
        (("--store", "s3://b/c", "--image", "i", "--memory", "lots"), "such as 16Gi"),
        (("--store", "s3://b/c", "--image", "i", "--name", "Big"), "--name: expected up to 40"),
        (("--store", "s3://b/c", "--image", "i", "--engine", "nomad"), "processes or ray"),
        (("--store", "s3://b/c", "--image", "i", "--flags", "--shards 3"), "leave it out"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(words: tuple[str, ...], told: str) -> None:
    said = say("cluster", "yaml", "https://example.org/", *words).expect(2)
    assert told in said.err
    assert "Secret" not in said.out


def test_the_command_prints_what_the_function_returns() -> None:
    words = ("--store", WORDS["store"], "--image", WORDS["image"], "--flags", "--max-pages 10k")
    said = say("cluster", "yaml", "https://example.org/", *words).expect(0)
    found = list(yaml.safe_load_all(said.out))
    assert [one["kind"] for one in found] == KINDS["ray"]
    assert found[1]["spec"]["entrypoint"].endswith("--max-pages 10k")
