"""Is a host down, when is it asked again, and whose failures were they? Pure.

Connect errors, timeouts and server errors count for the host. The second in a row parks it: its
URLs wait unharmed, and one probe at a time is made until an answer wakes it.
"""

from msgspec import Struct


class Parked(Struct, frozen=True, gc=False):
    """How many hosts are parked, and how many URLs wait for them."""

    hosts: int = 0
    urls: int = 0
