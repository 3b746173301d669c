"""Budget: how many requests may be made now, and how many of them for new pages. Pure."""

BURST_S = 1.0
"""Requests that were not made are made up for, up to what so many seconds allow."""


class RequestBudget:
    """Two buckets that fill with time: one for all requests, a smaller one for new pages.

    Revisits come first. New pages may take their share, and whatever the revisits leave over.
    """

    def __init__(self, rate_per_s: float, new_share: float, now: float, requests: int) -> None:
        self.rate_per_s = rate_per_s
        self._new_share = new_share
        self._level = self._new_level = 1.0
        self._at = now
        self._requests = requests
        """The crawl's count of requests, when it was last looked at."""

    def set_rate(self, rate_per_s: float) -> bool:
        """Let so many requests a second be made from now on; return True if that is news."""
        is_news = rate_per_s != self.rate_per_s
        self.rate_per_s = rate_per_s
        return is_news

    @property
    def _most(self) -> float:
        return max(1.0, self.rate_per_s * BURST_S)

    def pass_time(self, now: float, requests: int) -> None:
        """Let time pass, in which the crawl's count of requests rose to a number."""
        gained = (now - self._at) * self.rate_per_s
        self._level = min(self._level + gained, self._most) - (requests - self._requests)
        self._new_level = min(self._new_level + gained * self._new_share, self._most)
        self._at, self._requests = now, requests

    def left(self, in_flight: int) -> int:
        """Return how many requests may be begun, while so many are under way."""
        return max(0, int(self._level - in_flight))

    def may_crawl(self, in_flight: int) -> bool:
        """Return True if the next request may be for a new page."""
        has_share = self._new_level >= 1.0 and self._level - in_flight >= 1.0
        return has_share or self._level - in_flight > self._most / 2

    def spent_on_new(self) -> None:
        """Note that a new page is asked for."""
        self._new_level -= 1.0

    def for_revisits(self, *, has_new: bool) -> float:
        """Return the requests a second that the plan of revisits may count on."""
        return self.rate_per_s * (1.0 - self._new_share if has_new else 1.0)

    def next_at(self, in_flight: int) -> float:
        """Return when the next request may be begun."""
        lacking = max(0.0, 1.0 - (self._level - in_flight))
        return self._at + lacking / self.rate_per_s

    def next_new_at(self, in_flight: int) -> float | None:
        """Return when the next new page may be asked for; None if one may be now, or never."""
        if self.may_crawl(in_flight) or not self._new_share:
            return None
        lacking = max(0.0, 1.0 - self._new_level) / (self.rate_per_s * self._new_share)
        return max(self._at + lacking, self.next_at(in_flight))
