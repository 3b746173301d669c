"""Metrics: how often and how long was asked, in the text format that Prometheus reads."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.web.door.guard import App, Message, Receive, Scope, Send

OTHER = "other"


class Gauge(Struct, frozen=True):
    """A number that is read when somebody asks; None: it is not known."""

    name: str
    about: str
    value: float | None
    kind: str = "gauge"
    """A "counter" never goes down while the server runs."""
    labels: str = ""
    """Such as kind="stored"; gauges of one name come one after another."""


class Meter:
    """Counts requests by place and status. Places are our own, so there are few of them."""

    def __init__(self, clock: Clock, places: Iterable[str]) -> None:
        self._clock = clock
        self._places = frozenset(places)
        self._answers: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def counting(self, app: App) -> App:
        """Return an application whose requests are counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            began, status = self._clock.steady(), 0

            async def noting(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, noting)
            finally:
                place = scope["path"] if scope.get("path") in self._places else OTHER
                self._answers[place, status] += 1
                self._seconds[place] += self._clock.steady() - began

        return counted

    def text(self, gauges: Iterable[Gauge]) -> str:
        """Return all numbers."""
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Iterable[Gauge]) -> Iterator[str]:
        yield from _head("gossamer_requests_total", "counter", "Requests answered.")
        for (place, status), count in sorted(self._answers.items()):
            yield f'gossamer_requests_total{{place="{place}",status="{status}"}} {count}'
        yield from _head("gossamer_request_seconds", "summary", "How long answers took.")
        for place, seconds in sorted(self._seconds.items()):
            count = sum(n for (where, _), n in self._answers.items() if where == place)
            yield f'gossamer_request_seconds_sum{{place="{place}"}} {seconds:.6f}'
            yield f'gossamer_request_seconds_count{{place="{place}"}} {count}'
        last = ""
        for gauge in gauges:
            if gauge.value is not None:
                if gauge.name != last:
                    yield from _head(gauge.name, gauge.kind, gauge.about)
                last, labels = gauge.name, f"{{{gauge.labels}}}" if gauge.labels else ""
                yield f"{gauge.name}{labels} {gauge.value:.12g}"


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
