"""Items of a stored crawl, by rules, without fetching anything again."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from gossamer.process import FoundItem, ItemRules, page_tree
from gossamer.store import CrawlFolder
from gossamer.tables.streams import table_stream
from gossamer.urls import Patterns


class ItemTotals(Struct, kw_only=True):
    """What became of the pages that rules were tried on."""

    pages: int = 0
    """Pages that were looked at: those that `url` names."""
    other_pages: int = 0
    """Of these, pages that no rule is for, and what is no HTML."""
    empty_pages: int = 0
    """Of these, pages on which no rule found an item."""
    items: int = 0
    empty: dict[str, int] = field(default_factory=dict)
    """Items in which a field matched nothing, by RULE.FIELD; every field is named."""
    unlike: dict[str, int] = field(default_factory=dict)
    """Items in which a value was not of its field's type, by RULE.FIELD."""


class ItemStream:
    """Iterate over the items of a crawl; `totals` counts along."""

    def __init__(
        self,
        folder: Path,
        rules: ItemRules,
        *,
        url: tuple[str, ...] = (),
        limit: int = 0,
    ) -> None:
        self._folder = CrawlFolder(folder)
        self._rules = rules
        self._wanted = Patterns(url) if url else None
        self._limit = limit
        names = (f"{rule.name}.{one.name}" for rule in rules.rules for one in rule.fields)
        self.totals = ItemTotals(empty=dict.fromkeys(names, 0))

    def __iter__(self) -> Iterator[FoundItem]:
        totals = self.totals
        for url, host, html in self._pages():
            totals.pages += 1
            found = list(self._items(url, host, html))
            totals.empty_pages += not found
            for item in found:
                self._count(item)
                yield item
                if totals.items == self._limit:
                    return

    def _pages(self) -> Iterator[tuple[str, str, str]]:
        for _, batch in table_stream(self._folder, ["pages"], text="html"):
            columns = batch.columns
            yield from (
                (url, host, html)
                for url, host, html in zip(
                    columns["url"], columns["host"], columns["text"], strict=True
                )
                if self._wanted is None
                or self._wanted.match_url(url)
                or self._wanted.match_host(host)
            )

    def _items(self, url: str, host: str, html: str) -> Iterator[FoundItem]:
        rules = self._rules.for_url(url, host)
        if not rules or not html:
            self.totals.other_pages += 1
            return
        tree = page_tree(html.encode(), "utf-8")
        for rule in rules:
            yield from rule.items(tree, url)

    def _count(self, item: FoundItem) -> None:
        totals = self.totals
        totals.items += 1
        for name, value in item.fields.items():
            if value is None or value == []:
                totals.empty[f"{item.rule}.{name}"] += 1
        for name in item.unlike:
            place = f"{item.rule}.{name}"
            totals.unlike[place] = totals.unlike.get(place, 0) + 1
