"""WHICH OF TWO URLS IS WORTH MORE? The rules of each order, and the credit that some of them need.

`best_first` passes credit from each fetched page to its links, less of it the more of its domain
we know; `opic` is adaptive OPIC with its Lambda page; `prior_ranks` lets either start with the
ranks of an earlier crawl, `scores` with numbers from outside. `credit_table` holds what each URL
has been given, `grading` says what an order is and makes tasks of a page's links, and `choose`
reads the configuration.
"""

from gossamer.frontier.order.choose import breadth_first, choose_order, named_score
from gossamer.frontier.order.grading import GRADES, Importance, LabelMoves, LinkRanker, Order
from gossamer.frontier.order.scores import OutsideScore, ScoreTable, needed_scores
