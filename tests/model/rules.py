"""The rules of checkpoints in an object store, and what each wrong variant leaves out."""

from dataclasses import dataclass

LEASE, GAP = 30, 5
LATE = 50
"""A put that is under way is executed within so many steps, or never."""
HOUR, DAY = 150, 500
KEPT = 8
"""Manifests of a chain that a sweep leaves."""
NODES = 4
"""Machines."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """One flag per rule; all true are the rules as they should be."""

    receipts_wait_for_the_store: bool = True
    create_is_exclusive: bool = True
    names_have_the_epoch: bool = True
    asks_whose_manifest_is_newest: bool = True
    compares_commit_numbers: bool = True
    compares_epochs: bool = True
    """A folder is used if the newest manifest is from its own last epoch. Lineage is not enough:
    two copies of one folder have the same, and each may be ahead of what the other shipped."""
    has_leases: bool = True
    leases_count_from_the_question: bool = True
    waits_are_inherited: bool = True
    """Who follows an owner that was still waiting for the lease before it waits, too, though it
    knows that owner dead."""
    reads_what_exists: bool = True
    offers_one_content: bool = True
    idle_is_shipped: bool = True
    forwards_foreign_tasks: bool = True
    sweeps_twice: bool = True
    checks_the_predecessor: bool = True
    stops_after_an_hour: bool = True
    newest_is_of_a_listing: bool = True
    uploads_again_after_an_hour: bool = True
    epochs_are_issued: bool = True
    readers_go_forward: bool = True
    waits_for_all_before_granting: bool = True
    gives_up_grants: bool = True
    splits_close_what_has_ended: bool = True
    splits_close_by_a_link: bool = True
    splits_ship_before_they_count: bool = True
    heirs_wait_for_the_charter: bool = True
    readers_look_again: bool = True
    """Whoever reads a set of manifests reads the charter after it, too."""
    moves_wait_for_the_end: bool = True
    gives_away_what_is_shipped: bool = True
    gives_domains_when_shipped: bool = True
    """The letter that gives a domain away leaves when the manifest that says so is there."""
    homes_write_domains_down: bool = True
    """Whoever gives a domain away has it in its rows, and does not decide again."""
    guests_write_domains_down: bool = True
    guests_rely_on_homes: bool = True
    splits_keep_domains: bool = True
    """The half that keeps a shard's number keeps the domains that it was given."""
    copies_rely_on_originals: bool = True


VARIANTS = {
    "receipts_wait_for_the_store": "receipt when the commit is durable on the local disk",
    "create_is_exclusive": "a manifest replaces what is there",
    "names_have_the_epoch": "uploaded files are named without the epoch",
    "asks_whose_manifest_is_newest": "a folder that had the shard before is used again unasked",
    "compares_commit_numbers": "an older copy of the folder is used again",
    "compares_epochs": "of two copies of one folder both are used in turn",
    "has_leases": "a new owner fetches at once, the old one until it is told",
    "leases_count_from_the_question": "a lease counts from the answer",
    "waits_are_inherited": "the successor of one that was still waiting does not wait",
    "reads_what_exists": "'exists' after a lost answer counts as ours, unread",
    "offers_one_content": "a second try has newer content under the same nonce",
    "idle_is_shipped": "idle is reported before the last commit is shipped",
    "forwards_foreign_tasks": "a receipt for tasks of another range, which are dropped",
    "sweeps_twice": "files that the newest manifest does not name are deleted at once",
    "checks_the_predecessor": "a written manifest counts though its predecessor was swept",
    "stops_after_an_hour": "an owner that was suspended for long writes again",
    "newest_is_of_a_listing": "the newest manifest is found by walking from the oldest",
    "uploads_again_after_an_hour": "a manifest names a file that was swept meanwhile",
    "epochs_are_issued": "whoever is restarted counts the epoch up by itself",
    "readers_go_forward": "a restore takes manifests that rely on newer ones",
    "waits_for_all_before_granting": "a new coordinator grants before all have joined",
    "gives_up_grants": "unused grants of an old coordinator are kept",
    "splits_close_what_has_ended": "a shard is split by its newest manifest while it runs",
    "splits_close_by_a_link": "both halves begin, and nothing in the shard's chain says so",
    "splits_ship_before_they_count": "both halves count while each has everything",
    "heirs_wait_for_the_charter": "a half crawls before the charter names it",
    "readers_look_again": "a reader does not notice that a shard was split meanwhile",
    "moves_wait_for_the_end": "who was told to end is taken to have ended",
    "gives_domains_when_shipped": "a domain is given by a letter that leaves at once",
    "homes_write_domains_down": "who has a domain is decided anew by each owner of its home",
    "guests_write_domains_down": "whoever was given a domain knows it until it ends",
    "guests_rely_on_homes": "a manifest with a domain does not name the one that gave it",
    "splits_keep_domains": "a half of a shard that is split drops what it was given",
    "gives_away_what_is_shipped": "a page is named as an original before it is shipped",
    "copies_rely_on_originals": "a copy's manifest does not name the one that has its original",
}
