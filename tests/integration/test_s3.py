"""Object stores that speak S3: an index is published to one and searched there, tables go there."""

from pathlib import Path

import pytest

from gossamer.cli.main import exit_code
from gossamer.errors import ConfigError
from gossamer.store import Objects
from gossamer.tables.places import ExportPlace
from tests.s3 import BUCKET, NOWHERE, S3


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an index of two pages; caches go to a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "pages.jsonl"
    file.write_text(
        '{"url": "http://a.test/moth", "title": "Moths", "text": "A moth."}\n'
        '{"url": "http://a.test/bee", "title": "Bees", "text": "A bee."}\n'
    )
    assert exit_code(["index", str(file), "--into", str(tmp_path / "others")]) == 0
    return file


def test_an_index_is_published_to_a_bucket_and_searched_there(
    s3: S3, indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3
    url = f"s3://{BUCKET}/published"
    words = ["index", str(indexed), "--into", str(indexed.parent / "again"), "--publish", url]
    assert exit_code(words) == 0
    assert exit_code(["search", url, "moth", "--urls"]) == 0
    assert capsys.readouterr().out.endswith("http://a.test/moth\n")
    assert "seal.json" in Objects(url).names("")


@pytest.mark.parametrize(
    ("bucket", "name", "value", "said"),
    [
        (BUCKET, "AWS_ALLOW_HTTP", "", "is plain http, which is refused: set AWS_ALLOW_HTTP=true"),
        (BUCKET, "AWS_ENDPOINT_URL", NOWHERE, "cannot be reached: check the network and AWS_END"),
        (BUCKET, "AWS_ACCESS_KEY_ID", "", "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("other", "AWS_REGION", "us-east-1", "there is no such bucket at http://127.0.0.1"),
    ],
)
def test_what_is_missing_is_told_in_one_line(
    s3: S3,
    indexed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    bucket: str,
    name: str,
    value: str,
    said: str,
) -> None:
    del s3
    if value:
        monkeypatch.setenv(name, value)
    else:
        monkeypatch.delenv(name)
    url = f"s3://{bucket}/{name}"
    words = ["index", str(indexed), "--into", str(indexed.parent / "more"), "--publish", url]
    capsys.readouterr()
    for asked in (words, ["search", url, "moth"]):
        assert exit_code(asked) == 4
        (line,) = [one for one in capsys.readouterr().err.splitlines() if "cannot be used" in one]
        assert said in line
        assert "test" not in line.replace(f"{url}", ""), "no secret"


def test_an_environment_without_credentials_is_told(
    s3: S3, indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3, indexed
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")  # the machine's own are then asked for
    assert exit_code(["search", f"s3://{BUCKET}/x", "moth"]) == 4
    said = capsys.readouterr().err
    assert "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said


def test_tables_are_exported_to_a_bucket(s3: S3, tmp_path: Path) -> None:
    del s3
    place = ExportPlace(f"s3://{BUCKET}/tables")
    with place.new_file("pages.csv") as part:
        part.write_text("url\n")
    with place.new_file("whole") as part:
        part.mkdir()
        (part / "a.html").write_text("a")
    del tmp_path
    objects = Objects(f"s3://{BUCKET}/tables")
    assert sorted(objects.names("")) == ["pages.csv", "whole/a.html"]
    assert objects.read("pages.csv") == b"url\n"


def test_an_export_to_what_is_no_store_is_refused_before_it_begins() -> None:
    with pytest.raises(ConfigError, match="expected s3://BUCKET/PREFIX"):
        ExportPlace("http://127.0.0.1:1/x")


def test_a_bucket_without_an_index_says_how_to_publish_one(
    s3: S3, indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del s3, indexed
    assert exit_code(["search", f"s3://{BUCKET}/empty", "moth"]) == 4
    said = capsys.readouterr().err
    assert f"no index at s3://{BUCKET}/empty: run `gossamer build DIR index --publish" in said
