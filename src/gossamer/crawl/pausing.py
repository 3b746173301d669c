"""What keeps a shard from asking: a pause, a full disk, the hour, a network or hosts that are down.

`gossamer pause` leaves a file in the crawl's folder, so a pause survives kills and restarts.
"""

import shutil
from pathlib import Path
from typing import Protocol

from gossamer.cluster import OutageOrders, ShardOutages
from gossamer.config import Config, OutageConfig, ScheduleConfig
from gossamer.frontier import Frontier
from gossamer.log import tell, warn
from gossamer.model import PAUSED_BY_SCHEDULE, PAUSED_ON_REQUEST
from gossamer.schedule import Schedule, moment_words, read_schedule
from gossamer.store import CrawlFolder

GIVE_UP_AT_ONCE = 1000
OVERDUE_EVERY = 60
"""Rounds between two searches for hosts that have been down for too long."""


class OpenHours:
    """Whether [schedule] allows requests: worked out anew when it may have changed."""

    def __init__(self) -> None:
        self._rules = ScheduleConfig()
        self._schedule = Schedule()
        self._closed_at = 0.0
        self._opens_at: float | None = None

    def opens_at(self, rules: ScheduleConfig, now: float) -> float | None:
        """Return from when requests are allowed, by the wall clock; None if they are now."""
        if not rules.hours:
            return None
        if rules != self._rules:
            self._schedule = read_schedule(rules.hours, rules.time_zone)
            self._rules, self._opens_at = rules, None
        if self._opens_at is None or not self._closed_at <= now < self._opens_at:
            self._closed_at, self._opens_at = now, self._schedule.opens_at(now)
        return self._opens_at


def reason_to_pause(root: Path, config: Config, *, was: str, opens_at: float | None) -> str:
    """Return why no request is allowed, or ""; tell when a pause begins, with what it `was`.

    `opens_at` is when [schedule] allows them again.
    """
    if CrawlFolder(root).paused_path.exists():
        if was != PAUSED_ON_REQUEST:
            tell("crawl.paused", reason=PAUSED_ON_REQUEST)
        return PAUSED_ON_REQUEST
    free = shutil.disk_usage(root).free
    if free < config.store.min_free_bytes:
        if was != "disk_low":
            tell("crawl.paused", reason="disk_low", free_bytes=free)
        return "disk_low"
    if opens_at is None:
        return ""
    if was != PAUSED_BY_SCHEDULE:
        until = moment_words(opens_at, config.schedule.time_zone)
        tell("crawl.paused", reason=PAUSED_BY_SCHEDULE, until=until)
    return PAUSED_BY_SCHEDULE


class RecordLost(Protocol):
    """Whoever records the ends of URLs that end without another request."""

    def record_lost(self) -> None:
        """Record them."""


class OutageDuty:
    """The orders about hosts that are down, and what is left of them to do."""

    def __init__(self, config: OutageConfig, frontier: Frontier, recorder: RecordLost) -> None:
        self._config = config
        self._frontier = frontier
        self._recorder = recorder
        self._away_since: float | None = None
        self._resting_since: float | None = None
        self._asks = 0
        self._rounds = 0
        self.owes_request = False
        """The network is away, and one host is to be asked whether it is back."""

    @property
    def is_network_away(self) -> bool:
        """Return True if no request may be begun, but for one that is owed."""
        return self._away_since is not None

    def report(self, now: float, *, is_waiting: bool) -> ShardOutages:
        """Return how this shard stands; `is_waiting` if nothing but parked hosts is left."""
        frontier = self._frontier
        answered_at = frontier.parking.answered_at
        return ShardOutages(
            is_waiting=is_waiting,
            parked_hosts=frontier.parked.hosts,
            hosts=frontier.hosts.count,
            answered_hosts=frontier.parking.answered_hosts,
            answered_s=None if answered_at is None else max(0.0, now - answered_at),
            failed_s=tuple(frontier.parking.failed_s(now)),
        )

    def obey(self, orders: OutageOrders, now: float) -> None:
        """Do what is ordered; to be called about once a second."""
        self._rounds += 1
        if self._resting_since is not None:
            self._frontier.parking.shift_outages(now - self._resting_since)
            self._resting_since = None
        if orders.is_network_away:
            self._stay_away(orders, now)
            return
        if self._away_since is not None:
            self._come_back(now)
        is_last = orders.give_up_after is not None
        if is_last or self._rounds % OVERDUE_EVERY == 0:
            self._frontier.parking.give_up_hosts(
                now, self._config.give_up_s, probes=orders.give_up_after, at_most=GIVE_UP_AT_ONCE
            )
            self._recorder.record_lost()

    def rest(self, now: float) -> None:
        """Let the time pass, which counts for no host: nobody may be asked during a pause."""
        if self._resting_since is None:
            self._resting_since = now

    def note_request(self) -> None:
        """Note that a request was begun: nothing is owed any more."""
        self.owes_request = False

    def _stay_away(self, orders: OutageOrders, now: float) -> None:
        if self._away_since is None:
            self._away_since = now
            warn("network.lost", failing=len(self._frontier.parking.failed_s(now)))
        if orders.asks > self._asks:
            self._frontier.parking.probe_soon(now, at_most=1)
            self.owes_request = True
        self._asks = orders.asks

    def _come_back(self, now: float) -> None:
        """Let the time without a network count for no host, and ask them soon."""
        away_s = now - (now if self._away_since is None else self._away_since)
        self._away_since, self.owes_request = None, False
        warn("network.back", seconds=round(away_s, 1))
        self._frontier.parking.shift_outages(away_s)
        self._frontier.parking.probe_soon(now)
