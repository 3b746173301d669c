"""ASK ONE SERVER FOR ONE URL: names to addresses, robots.txt, protocols, bodies, retries.

Neighbours: `crawl` asks here for a task's URL and hands the outcome to `process`, `dedupe` and
`store`. Not for: deciding which URL is next (`frontier`), following redirects or links (`crawl`),
or reading what a document says (`process`).
"""

from gossamer.fetch.body import PackedBody, SpooledBody, pack_body
from gossamer.fetch.curl import TransferWatch, connection_room
from gossamer.fetch.dns import Resolver
from gossamer.fetch.exchange import Content, Exchange, Moved, Resource, Wire
from gossamer.fetch.fetcher import RETRY, Fetcher, RetryRule, delay_s, next_try_at, retry_rule
from gossamer.fetch.grants import HostRules, by_host, header_names, host_of, host_rules, with_proxy
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.headers import RequestHeaders, Validators, user_agent
from gossamer.fetch.protocols import (
    BUILT_IN,
    ProtocolModule,
    ProtocolTable,
    load_protocols,
    protocol,
)
from gossamer.fetch.robots import RobotsRules, RobotsVerdict, parse_robots
from gossamer.fetch.robots_cache import Ask, RobotsCache, Wait
