"""WHICH URL NEXT, AND WHEN?

Mercator's frontier: waiting hosts are drawn by the grade of their best URL (`queues`),
active hosts lie on a bench ordered by the earliest moment at which each may be asked (`workbench`),
and the URLs themselves are packed rows on disk, by host and grade (`rows`). `frontier` is the whole
of it. Politeness is a pure function.

Neighbours: none. `crawl` hands it tasks and answers, and commits the rows it gives back.
Not for: fetching, robots rules, or deciding whether a URL is wanted.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.frontier.frontier import Frontier
    from gossamer.frontier.order import (
        LabelMoves,
        LinkRanker,
        Order,
        OutsideScore,
        ScoreTable,
        choose_order,
        named_score,
        needed_scores,
    )
    from gossamer.frontier.outage import (
        HostFailure,
        Parked,
        host_failure,
        robots_failure,
    )
    from gossamer.frontier.parking import LostTask
    from gossamer.frontier.politeness import (
        ADDRESS_DELAY,
        AddressGaps,
        AddressQueues,
        AddressWait,
        HostAnswer,
        HostDelays,
    )
    from gossamer.frontier.queues import ReadRows
    from gossamer.frontier.rows import FailedTry, HostOutage
    from gossamer.frontier.view import (
        HostStanding,
        WaitingUrl,
        count_waiting,
        each_host,
        find_host,
        find_waiting,
        queued_tasks,
        waiting_urls,
    )
    from gossamer.frontier.workbench import ALL_HOSTS, HostKind, Openings
else:
    __getattr__ = late(
        __name__,
        {
            "frontier": "Frontier",
            "order": (
                "LabelMoves LinkRanker Order OutsideScore ScoreTable choose_order named_score "
                "needed_scores"
            ),
            "outage": "HostFailure Parked host_failure robots_failure",
            "parking": "LostTask",
            "politeness": (
                "ADDRESS_DELAY AddressGaps AddressQueues AddressWait HostAnswer HostDelays"
            ),
            "queues": "ReadRows",
            "rows": "FailedTry HostOutage",
            "view": (
                "HostStanding WaitingUrl count_waiting each_host find_host find_waiting "
                "queued_tasks waiting_urls"
            ),
            "workbench": "ALL_HOSTS HostKind Openings",
        },
    )
