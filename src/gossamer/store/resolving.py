"""A revisit as a record of its own: with the content of the page that it refers to."""

from gossamer.store.reader import header_fields, joined_field
from gossamer.store.records import Record, split_head

_NOT_MODIFIED = "server-not-modified"
_KEPT_HEADERS = ("warc-ip-address", "warc-truncated")


def resolved(revisit: Record, original: Record) -> Record:
    """Return a revisit as a record that has its content: that of the page it refers to.

    Its own HTTP header is kept, unless that is of an answer without a content (304), or frames its
    content in another way.
    """
    said, theirs = revisit.headers, original.headers
    headers = {
        "warc-type": theirs.get("warc-type", "response"),
        "warc-record-id": revisit.record_id,
        "warc-date": said.get("warc-date", ""),
        "warc-target-uri": said.get("warc-target-uri", ""),
        "content-type": theirs.get("content-type", "application/http;msgtype=response"),
    }
    headers |= {name: said[name] for name in _KEPT_HEADERS if name in said}
    if "warc-truncated" in theirs:
        headers["warc-truncated"] = theirs["warc-truncated"]
    block = original.block
    if headers["warc-type"] == "response":
        head, payload = split_head(original.block)
        own = split_head(revisit.block)[0] if revisit.block else b""
        is_alike = _framing(own) == _framing(head)
        if own and is_alike and not said.get("warc-profile", "").endswith(_NOT_MODIFIED):
            head = own
        block = head + payload
    if digest := theirs.get("warc-payload-digest", ""):
        headers["warc-payload-digest"] = digest
    return Record(offset=0, length=0, headers=headers, block=block)


def _framing(head: bytes) -> tuple[str, str]:
    fields = header_fields(head)
    return joined_field(fields, "transfer-encoding"), joined_field(fields, "content-encoding")
