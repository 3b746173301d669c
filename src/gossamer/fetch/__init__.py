"""ASK ONE SERVER FOR ONE URL: names to addresses, robots.txt, protocols, bodies, retries.

Neighbours: `crawl` asks here for a task's URL and hands the outcome to `process`, `dedupe` and
`store`. Not for: deciding which URL is next (`frontier`), following redirects or links (`crawl`),
or reading what a document says (`process`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.fetch.body import PackedBody, SpooledBody, pack_body
    from gossamer.fetch.curl import TransferWatch, connection_room
    from gossamer.fetch.dns import Resolver
    from gossamer.fetch.exchange import Content, Exchange, Moved, Resource, Wire
    from gossamer.fetch.fetcher import (
        BUILT_IN,
        RETRY,
        Fetcher,
        ProtocolTable,
        RetryRule,
        delay_s,
        load_protocols,
        next_try_at,
        retry_rule,
    )
    from gossamer.fetch.grants import (
        HostRules,
        by_host,
        header_names,
        host_of,
        host_rules,
        with_proxy,
    )
    from gossamer.fetch.guard import AddressGuard
    from gossamer.fetch.headers import RequestHeaders, Validators, user_agent
    from gossamer.fetch.protocols import ProtocolModule, protocol
    from gossamer.fetch.robots import RobotsRules, RobotsVerdict, parse_robots
    from gossamer.fetch.robots_cache import Ask, RobotsCache, Wait
else:
    __getattr__ = late(
        __name__,
        {
            "body": "PackedBody SpooledBody pack_body",
            "curl": "TransferWatch connection_room",
            "dns": "Resolver",
            "exchange": "Content Exchange Moved Resource Wire",
            "fetcher": (
                "BUILT_IN RETRY Fetcher ProtocolTable RetryRule delay_s load_protocols next_try_at "
                "retry_rule"
            ),
            "grants": "HostRules by_host header_names host_of host_rules with_proxy",
            "guard": "AddressGuard",
            "headers": "RequestHeaders Validators user_agent",
            "protocols": "ProtocolModule protocol",
            "robots": "RobotsRules RobotsVerdict parse_robots",
            "robots_cache": "Ask RobotsCache Wait",
        },
    )
