"""WHICH OF TWO URLS IS WORTH MORE? The rules of each order, and the credit that some of them need.

`credit` is best-first (each fetched page passes credit on to its links, less of it the more of its
domain we know), `opic` is adaptive OPIC with its Lambda page: pure rules, for one page at a time.
`credits` holds what each URL has been given, `grading` puts rules and store together, `choose`
reads the configuration.
"""

from gossamer.frontier.order.choose import breadth_first, choose_order, named_score
from gossamer.frontier.order.credit import GRADES
from gossamer.frontier.order.grading import Importance, Order
from gossamer.frontier.order.link_ranker import LinkRanker

__all__ = [
    "GRADES",
    "Importance",
    "LinkRanker",
    "Order",
    "breadth_first",
    "choose_order",
    "named_score",
]
