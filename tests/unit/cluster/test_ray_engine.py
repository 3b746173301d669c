"""Ray behind the engines' Protocol: who may import it, how its daemon starts, and without it."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from tests.e2e.crawler import say

from gossamer.clock import SystemClock
from gossamer.cluster import RAY, ClusterHome, RayEngine, found_cluster
from gossamer.cluster.ray_daemon import RESOURCE, ray_variables, ray_words
from gossamer.errors import ConfigError

SOURCE = Path(__file__).parents[3] / "src" / "gossamer"
HAS_RAY = importlib.util.find_spec("ray") is not None


def imported(path: Path) -> set[str]:
    """Return the packages that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {one.name.partition(".")[0] for one in names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.partition(".")[0])
    return found


def test_one_module_imports_ray() -> None:
    users = [path.name for path in SOURCE.rglob("*.py") if "ray" in imported(path)]
    assert users == ["ray_engine.py"]


def ray_home(folder: Path) -> ClusterHome:
    home = ClusterHome(folder)
    found_cluster(home, "first", "10.0.0.4:7420", "10.0.0.4:7421")
    return home


def test_the_first_machine_of_a_cluster_on_ray_is_ray_s_head(tmp_path: Path) -> None:
    home = ray_home(tmp_path)
    assert home.membership().engine == RAY
    words = ray_words(home, 3, 0.0)
    assert words[0] == sys.executable
    assert {"--head", "--port=7421", "--node-ip-address=10.0.0.4"} <= set(words)
    assert f'--resources={{"{RESOURCE}":3}}' in words


def test_other_machines_join_ray_s_head(tmp_path: Path) -> None:
    home = ray_home(tmp_path)
    home.authority_key.unlink()
    words = ray_words(home, 3, 0.0)
    assert "--address=10.0.0.4:7421" in words
    assert "--head" not in words


def test_ray_s_token_is_made_of_the_secret_and_is_not_the_secret(tmp_path: Path) -> None:
    one, other = ray_home(tmp_path / "one"), ray_home(tmp_path / "other")
    made = ray_variables(one)
    assert made["RAY_AUTH_MODE"] == "token"
    assert made["RAY_AUTH_TOKEN"] == ray_variables(one)["RAY_AUTH_TOKEN"]
    assert made["RAY_AUTH_TOKEN"] != ray_variables(other)["RAY_AUTH_TOKEN"]
    assert one.membership().secret not in made["RAY_AUTH_TOKEN"]


def test_a_home_of_before_ray_is_one_without_it(tmp_path: Path) -> None:
    home = ray_home(tmp_path)
    path = home.root / "cluster.json"
    path.write_text('{"name":"a","head":"10.0.0.4:7420","secret":"s","fingerprint":"f"}')
    assert not home.membership().is_of_ray


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_line_that_installs_it_is_told(tmp_path: Path) -> None:
    home = ray_home(tmp_path / "home")
    with pytest.raises(ConfigError, match=r"pip install 'gossamer\[cluster\]'"):
        RayEngine(home, SystemClock())
    told = say("cluster", "up", "--engine", "ray", "--home", str(tmp_path / "new")).expect(2)
    assert "pip install 'gossamer[cluster]'" in told.err
    assert not (tmp_path / "new").exists()


def test_an_engine_that_is_none_is_refused(tmp_path: Path) -> None:
    told = say("cluster", "up", "--engine", "spark", "--home", str(tmp_path / "new")).expect(2)
    assert "--engine: expected processes or ray, found 'spark'" in told.err


def test_a_cluster_keeps_its_engine(tmp_path: Path) -> None:
    home = ray_home(tmp_path / "home")
    told = say("cluster", "up", "--engine", "processes", "--home", str(home.root)).expect(2)
    assert "has --engine ray" in told.err
