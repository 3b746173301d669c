"""Mirrors are closed when they are proven, sites that share some pages never are."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from gossamer.model import (
    CopyOf,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    LinkKind,
    Task,
    Turn,
)
from gossamer.traps import mirrors
from gossamer.traps.mirrors import MIRROR_HOSTS, MIRROR_PAGES, UNSHARED_KEPT, Mirrors
from gossamer.traps.unit import Unit
from tests.unit.traps.pages import document, url

HUB = "http://hub.test/"
PATHS = ["/", *(f"/{n}" for n in range(1, MIRROR_PAGES))]
MIRRORS = [f"m{n}.test" for n in range(MIRROR_HOSTS)]
SITEMAP = "application/sitemap+xml"


@dataclass
class Hosts:
    """Hosts that are asked for pages; the first to show a text at a path is its original."""

    known: Counter[str] = field(default_factory=Counter)
    first: dict[tuple[str, str], str] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    """The original, by mirror."""

    def __post_init__(self) -> None:
        self.mirrors = Mirrors(lambda host: self.known[host])

    def list_url(self, host: str, count: int = 1) -> None:
        """Queue URLs of a host that some other host links."""
        self.known[host] += count

    def show(
        self,
        host: str,
        *paths: str,
        own: bool = False,
        new: int = 0,
        via: str = "",
        depth: int = 1,
        kind: LinkKind = LinkKind.ANCHOR,
        media_type: str = "text/html",
    ) -> None:
        """Let a host show pages, with a text of its own or with everybody's."""
        for path in paths:
            here = f"http://{host}{path}"
            task = Task(url=url(here), via=via or f"http://{host}/", kind=kind, depth=depth)
            first = self.first.setdefault((path, host if own else ""), here)
            tasks = [Task(url=url(f"{here}?{n}"), via=here, depth=depth + 1) for n in range(new)]
            turn = Turn(
                task=task,
                outcome=Fetched(document=document(task.url)),
                at=0.0,
                found=Extraction(media_type=media_type),
                copy_of=CopyOf(first, "", "", 0.0) if first != here else None,
                new_tasks=tasks,
            )
            self.take(turn, is_page=True)
            self.known[host] += new

    def miss(self, host: str, path: str, *, via: str = HUB) -> None:
        """Let a host say that there is no such page."""
        task = Task(url=url(f"http://{host}{path}"), via=via, kind=LinkKind.ANCHOR, depth=1)
        turn = Turn(task=task, outcome=Failed(kind=FailureKind.NOT_FOUND), at=0.0)
        self.take(turn, is_page=False)

    def take(self, turn: Turn, *, is_page: bool) -> None:
        name = turn.task.url.host + "/"
        unit = self.units.setdefault(name, Unit(name=name))
        original, proven = self.mirrors.observe(turn, unit, is_page=is_page)
        assert original.endswith("/") or (original == "" and not proven)
        for mirror in proven:
            mirror.verdict = "mirror_host"
            assert mirror.name not in self.closed
            self.closed[mirror.name.rstrip("/")] = original.rstrip("/")


def with_original(*members: str) -> Hosts:
    """Return hosts of which the first has shown all its pages, and members all but their last."""
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in members:
        found.show(member, *PATHS[:-1])
    return found


def test_the_fourth_proven_mirror_closes_all_of_them_and_the_original_stays_open() -> None:
    found = with_original(*MIRRORS)
    for member in MIRRORS[:-1]:
        found.show(member, PATHS[-1])
    assert found.closed == {}
    found.show(MIRRORS[-1], PATHS[-1])
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_nine_shared_pages_are_a_suspicion_and_ten_a_proof() -> None:
    assert len(PATHS) == 10
    found = with_original(*MIRRORS)
    assert found.closed == {}


def test_a_later_mirror_is_closed_at_its_last_probe_and_not_before() -> None:
    found = with_original(*MIRRORS)
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    found.show("late.test", *PATHS[:-1])
    assert "late.test" not in found.closed
    found.show("late.test", PATHS[-1])
    assert found.closed["late.test"] == "o.test"


def test_a_host_with_one_page_that_the_original_does_not_have_is_never_closed() -> None:
    found = with_original(*MIRRORS)
    found.show("franchise.test", "/own", own=True)
    found.show("franchise.test", *PATHS, "/more")
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    assert set(found.closed) == set(MIRRORS)
    found.show("o.test", "/own", "/more")
    found.show("franchise.test", *(f"/x{n}" for n in range(50)))
    assert "franchise.test" not in found.closed


def test_sites_of_one_owner_that_share_nine_pages_are_not_closed() -> None:
    found = with_original(*MIRRORS)
    for member in MIRRORS:
        found.show(member, PATHS[-1], own=True)
        found.show(member, "/after")
    assert found.closed == {}


def test_four_sites_of_one_owner_do_not_make_four_proofs() -> None:
    found = with_original(*MIRRORS)
    for member in MIRRORS[:-1]:
        found.show(member, PATHS[-1])
    found.show("own.test", *PATHS[:-1])
    found.show("own.test", PATHS[-1], own=True)
    assert found.closed == {}


def test_a_page_that_a_mirror_shows_before_its_original_is_no_page_of_its_own() -> None:
    found = Hosts()
    for member in ("o.test", *MIRRORS):
        found.show(member, "/")
    for path in PATHS[1:]:
        assert found.closed == {}
        for member in (*MIRRORS[:2], "o.test", *MIRRORS[2:]):
            found.show(member, path)
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_a_page_that_the_original_has_not_shown_keeps_those_that_have_it_open() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, "/", "/extra", *PATHS[1:])
    assert found.closed == {}
    found.show("o.test", "/extra")
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_a_page_that_the_original_shows_later_is_one_proof_and_not_two() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, *PATHS[:-2], "/extra")
    found.show("o.test", "/extra")
    assert found.closed == {}
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_what_the_original_has_in_another_form_stays_a_page_of_its_own() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, "/", "/extra", *PATHS[1:])
    found.show("o.test", "/extra", own=True)
    assert found.closed == {}


def test_a_mirror_that_shows_deep_pages_before_its_front_page_is_recognised() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, *PATHS[1:], "/")
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_hosts_with_front_pages_of_their_own_are_no_mirrors() -> None:
    found = Hosts()
    found.show("o.test", *PATHS, *(f"/x{n}" for n in range(50)))
    for member in MIRRORS:
        found.show(member, "/", own=True)
        found.show(member, *PATHS[1:], *(f"/x{n}" for n in range(50)))
    assert found.closed == {}


def test_a_url_that_another_host_lists_is_fetched_before_its_host_is_closed() -> None:
    found = with_original(*MIRRORS)
    found.list_url("m0.test", 2)
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    assert found.closed == {}
    found.miss("m0.test", "/listed")
    assert found.closed == {}
    found.show("m0.test", "/2", via=HUB)
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


def test_a_url_that_its_own_pages_bring_does_not_keep_a_host_open() -> None:
    found = with_original(*MIRRORS[:-1])
    for member in MIRRORS[:-1]:
        found.show(member, PATHS[-1])
    found.list_url("m3.test")
    found.show("m3.test", "/", new=20, via=HUB)
    found.show("m3.test", *PATHS[1:])
    assert set(found.closed) == set(MIRRORS)


def test_what_a_page_brings_is_not_mistaken_for_what_waits_in_the_queue() -> None:
    found = with_original(*MIRRORS)
    found.list_url("m3.test", 5)
    for member in MIRRORS:
        found.show(member, PATHS[-1], new=5)
    assert found.closed == {}


def test_urls_of_a_sitemap_are_fetched_before_their_host_is_closed() -> None:
    found = with_original(*MIRRORS)
    found.list_url("m3.test")
    found.show(
        "m3.test", "/map.xml", own=True, new=1, kind=LinkKind.SITEMAP, depth=0, media_type=SITEMAP
    )
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    assert found.closed == {}
    found.show("m3.test", "/3", kind=LinkKind.SITEMAP, via="http://m3.test/map.xml")
    assert found.closed == dict.fromkeys(MIRRORS, "o.test")


@pytest.mark.parametrize("kind", [LinkKind.SEED, LinkKind.REDIRECT])
def test_a_seeds_own_host_and_where_it_redirects_is_never_closed(kind: LinkKind) -> None:
    found = with_original(*MIRRORS, "home.test")
    found.show("home.test", "/start", kind=kind, depth=0)
    found.show("o.test", "/start")
    for member in ("home.test", *MIRRORS):
        found.show(member, PATHS[-1])
    found.show("home.test", "/2")
    assert set(found.closed) == set(MIRRORS)


def test_a_page_known_from_elsewhere_tells_nothing() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, *PATHS[:-1])
        found.first[("/index.html", "")] = "http://o.test/"
        found.show(member, "/index.html")
    assert found.closed == {}
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    assert set(found.closed) == set(MIRRORS)


def test_a_host_with_more_pages_of_its_own_than_are_remembered_stays_open() -> None:
    found = Hosts()
    found.show("o.test", *PATHS)
    many = [f"/x{n}" for n in range(UNSHARED_KEPT + 1)]
    for member in MIRRORS:
        found.show(member, *PATHS[:-1])
    found.show("m0.test", *many)
    for member in MIRRORS:
        found.show(member, PATHS[-1])
    found.show("o.test", *many)
    assert found.closed == {}


def test_a_host_that_was_forgotten_is_not_closed_for_what_it_shows_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mirrors, "HOSTS_KEPT", 3)
    found = Hosts()
    found.list_url("m0.test")
    found.show("m0.test", "/", own=True, via=HUB)
    found.show("o.test", *PATHS)
    for member in ("x.test", "y.test", "z.test"):
        found.show(member, "/")
    found.show("m0.test", *PATHS)
    assert len(found.mirrors._hosts) == 3
    assert found.closed == {}


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Return hosts of which only six are remembered; m0 is the oldest of five, and o the next."""
    monkeypatch.setattr(mirrors, "HOSTS_KEPT", 6)
    found = Hosts()
    found.miss("m0.test", "/none")
    found.show("o.test", *PATHS)
    for member in MIRRORS:
        found.show(member, *PATHS[:-1])
    return found


def test_a_proven_mirror_that_was_forgotten_does_not_count(forgetful: Hosts) -> None:
    for member in MIRRORS[:-1]:
        forgetful.show(member, PATHS[-1])
    forgetful.show("x.test", "/", own=True)
    forgetful.show("y.test", "/", own=True)
    forgetful.show("m3.test", PATHS[-1])
    assert forgetful.closed == {}


def test_a_member_that_was_forgotten_is_proven_by_nothing(forgetful: Hosts) -> None:
    forgetful.show("m0.test", "/extra", PATHS[-1])
    forgetful.show("x.test", "/", own=True)
    forgetful.show("y.test", "/", own=True)
    for member in MIRRORS[1:]:
        forgetful.show(member, PATHS[-1])
    forgetful.show("o.test", "/extra")
    assert forgetful.closed == {}


def test_mirrors_of_an_original_that_was_forgotten_are_not_closed(forgetful: Hosts) -> None:
    forgetful.show("m4.test", *PATHS[:-1])
    for host in ("x.test", "y.test"):
        forgetful.show(host, "/", own=True)
    for member in (*MIRRORS[1:], "m4.test"):
        forgetful.show(member, PATHS[-1])
    assert forgetful.closed == {}
