"""Reject: every reason to refuse a link, by a name that users can look up."""

from enum import StrEnum

from msgspec import Struct


class Reject(StrEnum):
    """Why a link was not wanted. The value is what `status` counts and `why` prints."""

    SCHEME = "scheme"
    OFF_SCOPE = "off_scope"
    NOT_ALLOWED = "not_allowed"
    BLOCKED = "blocked"
    EXTENSION = "extension"
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    REPEATED_SEGMENTS = "repeated_segments"
    HOST_BUDGET = "host_budget"
    BAD_PORT = "bad_port"
    TRAP_ENDLESS = "trap_endless"
    TRAP_SAME = "trap_same"
    TRAP_HOSTS = "trap_hosts"
    MIRROR_HOST = "mirror_host"
    NOFOLLOW = "nofollow"
    NOT_FOLLOWED = "not_followed"
    """Said by `why` only: no filter was asked about the link."""
    USER = "user"


class Objection(Struct, frozen=True, gc=False):
    """One filter's refusal: the reason, and the detail that decided (a pattern, a limit)."""

    reason: Reject
    detail: str = ""
