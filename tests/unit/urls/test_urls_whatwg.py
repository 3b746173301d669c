"""The WHATWG layer against the public test data of the URL standard, where it is present."""

import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.urls import whatwg

VECTORS = Path(__file__).resolve().parents[4] / "shared" / "vectors" / "url" / "urltestdata.json"
WEB = ("http:", "https:")


def is_web(row: dict[str, Any]) -> bool:
    """Tell whether a row yields, or tries to yield, an http or https URL."""
    if "failure" in row:
        asked = (row["input"].strip().lower(), (row["base"] or "").lower())
        return any(text.startswith(WEB) for text in asked)
    return row["protocol"] in WEB


@pytest.mark.skipif(not VECTORS.exists(), reason="../shared/vectors/url is not here")
def test_every_web_row_of_the_url_standards_test_data_is_read_as_the_standard_says() -> None:
    rows = [row for row in json.loads(VECTORS.read_text()) if isinstance(row, dict)]
    web = [row for row in rows if is_web(row)]
    wrong = [
        (row["input"], row["base"])
        for row in web
        if whatwg(row["input"], row["base"] or "") != row.get("href")
    ]
    assert wrong == []
    valid = sum(1 for row in web if "failure" not in row)
    assert (len(rows), len(web), valid) == (891, 446, 247)
