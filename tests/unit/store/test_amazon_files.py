"""Credentials from Amazon's usual files: the environment goes first, keys belong together."""

from pathlib import Path

import pytest

from gossamer.store.objects import _amazon_files

KEYS = {"access_key_id": "FILE", "secret_access_key": "SECRET"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = SECRET\n"
        "[other]\naws_access_key_id = OTHER\naws_secret_access_key = S2\n"
    )
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = eu-west-1\n[profile other]\nendpoint_url = https://o.test\n"
    )
    return tmp_path


def test_the_default_profile_is_read(home: Path) -> None:
    assert _amazon_files({"HOME": str(home)}) == {**KEYS, "region": "eu-west-1"}


def test_another_profile_is_read_by_its_name(home: Path) -> None:
    assert _amazon_files({"HOME": str(home), "AWS_PROFILE": "other"}) == {
        "access_key_id": "OTHER",
        "secret_access_key": "S2",
        "endpoint": "https://o.test",
    }


def test_the_environment_goes_first(home: Path) -> None:
    environ = {"HOME": str(home), "AWS_ACCESS_KEY_ID": "ENV", "AWS_REGION": "us-west-2"}
    assert _amazon_files(environ) == {}


def test_files_that_are_missing_or_damaged_say_nothing(home: Path) -> None:
    (home / ".aws" / "credentials").write_bytes(b"\xff[[no")
    assert _amazon_files({"HOME": str(home)}) == {"region": "eu-west-1"}
    assert _amazon_files({"HOME": str(home / "nowhere")}) == {}
