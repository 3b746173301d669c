"""`gossamer index`, and `gossamer build DIR index`: make an index, or bring it up to date."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.beside import end_with
from gossamer.cli.options import REQUIRED, Json, Memory, Option, declare
from gossamer.cli.parameters import argument, option
from gossamer.cli.quantities import memory_of
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import telling
from gossamer.errors import ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import IndexFacts, IndexOptions, ShardIndexFacts

BAD_RECORDS = 1
"""The exit code when something could not be read; all else is indexed."""
PARTITIONS, ORGANISATIONS = ("url", "host", "turn"), ("documents", "terms")
SPLIT: tuple[Option, ...] = (
    (
        "shards",
        Annotated[
            int | None,
            option("--shards", metavar="N", min=1, help="Of an index. If not given: as before."),
        ],
        None,
    ),
    (
        "partition",
        Annotated[
            str | None,
            option(
                "--partition", metavar="|".join(PARTITIONS), help="Which page goes to which shard."
            ),
        ],
        None,
    ),
)
"""Into what an index is split."""
SPLIT_CRAWL: tuple[Option, ...] = (
    (
        "tiers",
        Annotated[
            float | None,
            option(
                "--tiers",
                metavar="SHARE",
                help="Best pages, by rank, that are searched first: .2, say; 0: all at once.",
            ),
        ],
        None,
    ),
    (
        "organisation",
        Annotated[
            str | None,
            option(
                "--organisation",
                metavar="|".join(ORGANISATIONS),
                help="What an index is split by.",
            ),
        ],
        None,
    ),
    (
        "keep",
        Annotated[
            str | None,
            option(
                "--keep",
                metavar="NAMES",
                help="Count as text what is left out or apart: hidden, ads, code; none: nothing.",
            ),
        ],
        None,
    ),
)
"""The same, for crawls only: pages of others have no ranks, and are added in place."""
RANKS: Option = (
    "ranks",
    Annotated[
        bool,
        option(
            "--ranks/--no-ranks",
            help="Build graph and ranks first, if there are none, or old ones.",
        ),
    ],
    True,
)
PUBLISH: Option = (
    "publish",
    Annotated[
        str | None,
        option(
            "--publish",
            metavar="URL",
            help="Then bring the index there: s3://BUCKET/PREFIX, file:///FOLDER; search it there.",
        ),
    ],
    None,
)
_DID = {
    "nothing": "The index is up to date",
    "news": "New pages were added to the index",
    "full": "The index was built",
}


def index(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Index WET, WARC or JSONL files that Gossamer did not crawl, Common Crawl's among them.

    Each may be plain, .gz or .zst; - is standard input. A line of JSONL has at
    least "url" and "text", and may have "title", "headings", "language", "at",
    "type" and "anchors". A page replaces an older one with the same URL.
    """
    from gossamer import index_files

    def complain(line: str) -> None:
        sys.stderr.write(f"gossamer: {harmless(line)}\n")

    with telling("index") as tell:
        facts = index_files(
            given["files"], given["into"], options_of(given), on_progress=tell, on_bad=complain
        )
    published(given["into"], given["publish"])
    tell_built(facts, is_json=given["json"])
    return BAD_RECORDS if facts.bad else 0


declare(
    index,
    (
        "files",
        Annotated[list[str], argument(metavar="FILE...", help="What to index; - is stdin.")],
        REQUIRED,
    ),
    (
        "into",
        Annotated[
            Path,
            option("--into", metavar="DIR", help="The index is DIR/index; it may exist."),
        ],
        REQUIRED,
    ),
    *SPLIT,
    PUBLISH,
    ("memory", Memory, "256MiB"),
    ("json", Json, False),
)


def build_index_of(folder: Path, given: dict[str, Any]) -> None:
    """Build the index of a crawl, or follow it."""
    options = options_of(given)
    if given["beside"] is not None:
        end_with(given["beside"])
    if given["follow"]:
        if given["publish"]:
            raise ConfigError("--publish: what is followed is not finished; publish it afterwards")
        _follow(folder, options, given)
        return
    from gossamer import OpenCrawl

    with telling("index") as tell:
        facts = OpenCrawl(folder).build_index(options, tell)
    published(folder, given["publish"])
    tell_built(facts, is_json=given["json"])


def build_index_of_store(url: str, given: dict[str, Any]) -> None:
    """Build the indexes of the shards of a crawl's store, or follow it; publish them there."""
    for name in ("publish", "shards", "partition", "tiers", "organisation"):
        if given[name]:
            raise ConfigError(f"--{name}: the index of a store has one part for each of its shards")
    if given["beside"] is not None:
        end_with(given["beside"])
    from gossamer import build_store_index

    aside = out(is_aside=True)

    def tell_new(one: "ShardIndexFacts") -> None:
        if given["follow"] and one.index.did != "nothing":
            aside.print(_shard_line(one), markup=False)

    with telling("index") as tell:
        built = build_store_index(
            url,
            options_of(given),
            shards=given["shard"],
            follow=given["follow"],
            on_progress=None if given["follow"] else tell,
            on_built=tell_new,
            on_wait=lambda why: aside.print(harmless(f"waiting: {why}"), markup=False),
        )
    if given["json"]:
        pages = sum(one.index.pages for one in built)
        print_json({"url": url, "pages": pages, "shards": [as_json(one) for one in built]})
        return
    for one in () if given["follow"] else built:
        out().print(_shard_line(one), markup=False)
    out().print(harmless(f"search it:  gossamer search {url} QUERY"), markup=False)


def _shard_line(one: "ShardIndexFacts") -> str:
    did = _DID[one.index.did].replace("index", f"index of shard {one.shard}")
    sent = f"{counted(one.published.sent, 'file')} published"
    return f"{did}: {counted(one.index.pages, 'page')}, {sent}."


def options_of(given: dict[str, Any]) -> "IndexOptions":
    """Return how an index shall be built."""
    from gossamer import IndexOptions

    for name, known in (("partition", PARTITIONS), ("organisation", ORGANISATIONS)):
        if given.get(name) not in {None, *known}:
            raise ConfigError(f"--{name}: expected {' or '.join(known)}, found {given[name]!r}")
    return IndexOptions(
        shards=given["shards"],
        partition=given["partition"],
        high_share=given.get("tiers"),
        organisation=given.get("organisation"),
        keep=_kept(given.get("keep")),
        is_full=given.get("full", False),
        ranks=given.get("ranks", True),
        memory_bytes=memory_of(given["memory"]),
    )


def _kept(said: str | None) -> tuple[str, ...] | None:
    """Return what --keep names; None if it does not say anything."""
    if said is None:
        return None
    names = [name.strip() for name in said.split(",")]
    return tuple(name for name in names if name and name != "none")


def published(folder: Path, url: str | None) -> None:
    """Bring the index of a folder to a URL, if there is one, and say what was sent."""
    if url is None:
        return
    from gossamer import OpenCrawl

    sent = OpenCrawl(folder).publish(url)
    out(is_aside=True).print(
        f"Published at {harmless(url)}: {sent.files:,} files, {sent.sent:,} of them new "
        f"({sent.sent_bytes / 1e6:,.1f} MB).",
        markup=False,
    )


def tell_built(facts: "IndexFacts", *, is_json: bool) -> None:
    """Say what was done and what there is now."""
    if is_json:
        print_json(as_json(facts))
        return
    words = f"{counted(facts.pages, 'page')} in {counted(facts.shards, 'shard')}"
    done = f"{facts.added:,} written, {facts.deleted:,} deleted"
    done += f", {facts.unchanged:,} unchanged" if facts.unchanged else ""
    left = "".join(f", {count:,} left out ({why})" for why, count in facts.left_out.items())
    bad = f", {facts.bad:,} could not be read" if facts.bad else ""
    out().print(f"{_DID[facts.did]}: {words}. ({done}{left}{bad}.)", markup=False)


def _follow(folder: Path, options: "IndexOptions", given: dict[str, Any]) -> None:
    from gossamer import OpenCrawl

    crawl = OpenCrawl(folder)
    facts: IndexFacts | None = None
    for facts in crawl.follow_index(options):
        if facts.did != "nothing":
            words = f"{_DID[facts.did]}: {counted(facts.pages, 'page')}"
            out(is_aside=True).print(words, markup=False)
    if given["beside"] is None:
        facts = crawl.build_index(options)
    if facts is not None:
        tell_built(facts, is_json=given["json"])
