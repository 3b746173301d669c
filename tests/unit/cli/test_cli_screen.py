"""Screen: people read sentences; nothing from the web steers their terminal."""

import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console, RenderableType

from gossamer.cli.screen import (
    FailedSeed,
    FailedSeeds,
    harmless,
    out,
    print_json,
    progress,
    progress_line,
    status_view,
    summary,
    why_view,
)
from gossamer.cli.updating import build_line
from gossamer.model import BuildStep, TrapNote, UserErrors, WaitsFor, skipped
from gossamer.report import PastVisit, RobotsAnswer, Status, StoreState, WatchTotals, Why

STATUS = Status(
    pages=1234,
    html_pages=1200,
    sitemaps=3,
    queued=56,
    in_flight=3,
    hosts=7,
    known_urls=2000,
    refused={"off_scope": 10, "robots_disallowed": 20},
    labels={},
    failed={"not_found": 4},
    finished=False,
    running=True,
    active_hosts=5,
    parked=0,
    parked_hosts=0,
    held=0,
    requests=1300,
    redirects=9,
    revisits=8,
    copies={},
    retries={},
    archive_bytes=3 * 1024 * 1024,
    lost_found=0,
    seconds=12.5,
    pages_per_s=98.7,
    paused="",
    stop_reason="",
    outbox=0,
    shards=1,
    watch=WatchTotals(watched=0, visits=0, changed=0, unchanged=0, gone=0, expected_freshness=None),
    user_errors={},
    traps=(),
    suspects=0,
)

HOSTILE = "http://u:SECRET@a.test/\x1b[31m\u202e?token=SECRET\nnext"


def seen(what: RenderableType, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(what)
    return stream.getvalue()


def test_the_progress_line_has_pages_rate_queue_hosts_and_errors() -> None:
    line = progress_line(STATUS).plain
    assert line == "1,234 pages · 98.7/s · 56 queued · 5 active hosts · 4 errors"


def test_a_pause_is_told_with_what_the_crawl_is_steered_by() -> None:
    paused, url = replace(STATUS, paused="on_request"), "s3://bucket/crawl"
    assert "paused: on request; `gossamer resume DIR` ends it" in progress_line(paused).plain
    assert f"`gossamer resume {url}` ends it" in progress_line(paused, url).plain
    store = StoreState(
        url=url,
        crawl="c",
        owner="o",
        is_running=True,
        has_ended=False,
        shipped_at=0.0,
        age_s=1.0,
        coordinator="https://10.0.0.1:9001",
    )
    for is_running in (True, False):
        shown = replace(paused, store=store, running=is_running)
        assert f"`gossamer resume {url}` ends it" in seen(status_view(shown, url), width=300)


def test_functions_of_the_users_own_that_failed_are_named_with_their_last_error() -> None:
    errors = {"score mine:worth": UserErrors(1500, f"ValueError: {HOSTILE}")}
    shown = seen(status_view(replace(STATUS, user_errors=errors), Path("c")), width=300)
    line = next(line for line in shown.splitlines() if "mine:worth" in line)
    assert line.split()[:3] == ["1,500", "score", "mine:worth"]
    assert "last: ValueError" in line
    assert "SECRET" not in shown
    assert "\x1b[31m" not in shown


def test_a_pipe_is_given_whole_lines_however_narrow_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "")
    url = "http://a.test/" + "long/" * 50
    out().print(why_view(Why(url=url, explanation="It is a page. " * 20, via=url)))
    out().print(status_view(STATUS, Path("folder/" * 30)))
    out(is_aside=True).print(harmless(url), markup=False)
    shown, aside = capsys.readouterr()
    assert sum(line.rstrip().endswith(url) for line in shown.splitlines()) == 2
    assert any("folder/" * 30 in line for line in shown.splitlines())
    assert "It is a page. " * 19 in shown.splitlines()[0]
    assert aside == url + "\n"
    assert max(map(len, shown.splitlines())) < 600, "nothing is stretched to the console's width"


def test_a_pause_is_told_in_the_progress_line() -> None:
    assert progress_line(replace(STATUS, paused="disk is full")).plain.endswith(
        "paused: disk is full"
    )


def test_an_address_that_most_hosts_wait_for_is_told_in_the_progress_line() -> None:
    waits = {"127.0.0.1": 3, "127.0.0.2": 1}
    shared = replace(STATUS, address_waits=waits, waits_for=None)
    words = "3 hosts wait for 127.0.0.1, which they share"
    assert progress_line(shared).plain.endswith(f"4 errors · {words}")
    assert words in seen(status_view(shared, Path("c")))
    few = replace(STATUS, address_waits={"127.0.0.1": 1})
    assert progress_line(few).plain == progress_line(STATUS).plain
    assert "1 host waits for 127.0.0.1, which it shares" in seen(status_view(few, Path("c")))


def test_a_host_that_waits_for_a_shared_address_is_told_with_it() -> None:
    wait = WaitsFor(host="a.test", seconds=0.2, reason="address_delay", detail="127.0.0.1")
    assert progress_line(replace(STATUS, waits_for=wait)).plain.endswith(
        "waiting 1 s for a.test, whose address 127.0.0.1 others share"
    )


def test_why_a_host_waits_is_told_in_words_behind_the_name_of_the_rule() -> None:
    for reason, words in {
        "crawl_delay": "crawl_delay: its robots.txt asks for that gap",
        "adaptive_delay": "adaptive_delay: the longer its answers take, the longer the gap",
        "a_rule_of_tomorrow": "a_rule_of_tomorrow",
    }.items():
        wait = WaitsFor(host="a.test", seconds=7.0, reason=reason, detail="")
        line = progress_line(replace(STATUS, waits_for=wait)).plain
        assert line.endswith(f"waiting 7 s for a.test ({words})")


def test_without_a_terminal_progress_is_a_plain_line_now_and_then() -> None:
    stream = io.StringIO()
    with progress(Console(file=stream, width=40)) as tell:
        for _ in range(11):
            tell(STATUS)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert all(line.startswith("1,234 pages") and line.endswith("4 errors") for line in lines)
    assert "\x1b" not in stream.getvalue()


def test_the_summary_says_what_was_had_where_it_lies_and_what_was_not() -> None:
    text = seen(summary("max_pages", STATUS, Path("mycrawl")))
    assert "Stopped at --max-pages" in text
    assert "1,234 stored, 1,200 of them HTML, 8 copies" in text
    assert "mycrawl/archive (3.0 MiB of WARC)" in text
    assert text.index("robots_disallowed") < text.index("off_scope")
    assert "robots.txt of its host forbids it" in text
    assert "gossamer crawl --into mycrawl" in text
    assert "gossamer why mycrawl URL" in text


def test_when_no_seed_was_fetched_the_first_are_named_with_their_reasons() -> None:
    whys = [
        Why(
            url=f"http://{name}.test/",
            reason="unknown_host",
            explanation="Given up after 1 attempt: unknown_host.",
        )
        for name in "abc"
    ]
    seeds = [FailedSeed(why.url, why) for why in whys]
    text = seen(summary("no_seed", STATUS, Path("my crawl"), FailedSeeds(seeds, 5)), width=200)
    assert text.startswith("No seed could be fetched.")
    assert all(f"{why.url}  Given up after 1 attempt" in text for why in whys)
    assert "and 2 more\n`gossamer why 'my crawl' http://a.test/` says more." in text
    assert " more\n" not in seen(summary("no_seed", STATUS, Path("c"), FailedSeeds(seeds, 3)))


def test_a_seed_that_only_leads_elsewhere_is_told_with_what_became_of_that() -> None:
    end = Why(url="http://b.test/", canonical="http://b.test/", state="failed", reason="http_403")
    seeds = FailedSeeds([FailedSeed("http://a.test/", end)], 1)
    text = seen(summary("no_seed", STATUS, Path("c"), seeds), width=200)
    assert "http://a.test/  redirects to http://b.test/. " in text
    assert "the server answered 403 Forbidden.) What to do: " in text


def test_a_seed_that_is_still_queued_is_told_with_its_failure() -> None:
    why = Why(url="http://a.test/", canonical="http://a.test/", state="queued")
    status = replace(STATUS, seed_failures={"http://a.test/": "connect_failed: refused"})
    seeds = FailedSeeds([FailedSeed(why.url, why)], 1)
    text = seen(summary("no_seed_yet", status, Path("c"), seeds), width=300)
    assert "within --max-time" in text
    assert "It failed: connect_failed: refused. What to do: check host, port and network" in text


def test_certificates_have_a_row_for_what_is_wrong_with_them() -> None:
    certificates = {"expired": 2, "other_name": 1}
    status = replace(STATUS, failed={"tls_certificate": 4}, certificates=certificates)
    lines = [line.rstrip() for line in seen(status_view(status, Path("c"))).splitlines()]
    rows = [line.split(maxsplit=2) for line in lines]
    assert ["2", "tls_certificate", "the certificate has expired"] in rows
    assert ["1", "tls_certificate", "the certificate is for another name"] in rows
    assert [row[0] for row in rows if "tls_certificate" in row] == ["2", "1", "1"]


def test_lines_of_a_table_have_no_blanks_at_their_end_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out().print(summary("max_pages", STATUS, Path("mycrawl")))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_finished_crawl_is_not_told_to_go_on() -> None:
    text = seen(summary("finished", STATUS, Path("mycrawl")))
    assert "Finished: nothing is left to fetch." in text
    assert "goes on" not in text


def test_the_status_of_a_running_crawl_begins_with_its_progress() -> None:
    assert seen(status_view(STATUS, Path("c"))).startswith("1,234 pages")
    assert seen(status_view(replace(STATUS, running=False), Path("c"))).startswith("Not running")


def test_why_opens_with_the_sentence_and_then_lists_the_facts() -> None:
    why = Why(
        url="HTTP://a.test/x#y",
        canonical="http://a.test/x",
        steps=["fragment dropped: http://a.test/x"],
        fingerprint="00ff",
        ring=12,
        state="refused",
        reason="robots_disallowed",
        detail="Disallow: /x",
        depth=2,
        via="http://a.test/",
        kind="a",
        robots=RobotsAnswer(allowed=False, line="Disallow: /x", number=3, crawl_delay_s=2.0),
        next_at=0.0,
        next_reason="crawl-delay",
        attempts=1,
        visits=[
            PastVisit(
                at=0.0,
                state="archived",
                reason="",
                status=200,
                file="pages-00-0001-00000.warc.gz",
                offset=5,
                length=6,
            )
        ],
        explanation="Not fetched: robots_disallowed: Disallow: /x.",
    )
    text = seen(why_view(why))
    assert text.startswith("Not fetched: robots_disallowed: Disallow: /x.")
    assert "forbidden by line 3: Disallow: /x, crawl-delay 2.0 s" in text
    assert "1970-01-01 00:00:00 UTC crawl-delay" in text
    assert "200  archived  pages-00-0001-00000.warc.gz at 5, 6 bytes" in text
    assert "fragment dropped" in text


def test_why_of_something_that_is_no_url_is_short() -> None:
    assert "key" not in seen(why_view(Why(url="x", explanation="Not a URL.")))


@pytest.mark.parametrize("name", ["url", "canonical", "detail", "via", "explanation"])
def test_strings_from_the_web_neither_steer_the_terminal_nor_show_secrets(name: str) -> None:
    why = Why(url="x", canonical="x", state="queued", explanation="e")
    text = seen(why_view(replace(why, **{name: HOSTILE})), width=400)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "SECRET" not in text


def test_markup_in_strings_from_the_web_is_shown_as_it_is() -> None:
    why = Why(url="x", canonical="x", state="queued", explanation="[bold]x[/bold]")
    assert "[bold]x[/bold]" in seen(why_view(why))
    assert harmless("[red]") == "[red]"


def test_json_is_one_line_of_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "x\ny\u2028"})
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert json.loads(captured.out) == {"a": "x\ny\u2028"}
    assert captured.err == ""


def test_a_build_tells_in_words_how_far_it_is() -> None:
    assert build_line("state", BuildStep(doing="reading", count=1)).plain == (
        "state: reading, 1 record"
    )
    step = BuildStep(doing="writing", count=2000, unit="page", bytes_left=5 << 20)
    assert build_line("index", step).plain == "index: writing, 2,000 pages, 5.0 MiB left to read"
    assert build_line("graph", skipped("links-00.warc.gz: bytes 17 to 90: cut")).plain == (
        "graph: damaged, and left out: links-00.warc.gz: bytes 17 to 90: cut"
    )


def test_the_summary_names_the_command_that_queues_failures_again() -> None:
    shown = seen(summary("finished", STATUS, Path("my crawl")), width=300)
    assert "4 URLs failed; `gossamer retry 'my crawl'` queues them again" in shown
    shown = seen(summary("finished", replace(STATUS, failed={"gone": 1}), Path("c")), width=300)
    assert "1 URL failed; `gossamer retry c` queues it again" in shown
    one = replace(STATUS, failed={"gone": 1})
    shown = seen(summary("finished", one, "s3://crawls/c"), width=300)
    assert "1 URL failed; `gossamer list s3://crawls/c urls --failed` names it" in shown
    shown = seen(summary("finished", replace(STATUS, failed={}), Path("c")), width=300)
    assert "retry" not in shown
    given_up = replace(STATUS, failed={}, refused={"robots_unreachable": 2, "off_scope": 3})
    shown = seen(summary("finished", given_up, Path("c")), width=300)
    assert "2 URLs failed; `gossamer retry c` queues them again" in shown


def test_suspects_are_shown_if_there_are_any() -> None:
    assert "suspects" not in seen(status_view(STATUS, Path("c")))
    shown = seen(status_view(replace(STATUS, suspects=1), Path("c")), width=300)
    assert "1 page being read when the crawl died" in shown


def part(number: int, held: int) -> TrapNote:
    return TrapNote(
        unit=f"m{number}.test/a/",
        reason="",
        pages=40,
        held=held,
        refused=0,
        detail="",
        suspicion="8 of 8 pages brought 24 new URLs",
        waits_for="share" if number % 2 else "allowance",
        pattern=f"m{number}.test/a/*",
    )


def test_what_is_held_is_listed_by_part_of_a_site_the_largest_first() -> None:
    notes = tuple(part(number, 10 * number) for number in range(1, 12))
    held = replace(STATUS, running=False, finished=True, held=660, traps=notes)
    shown = seen(status_view(held, Path("my crawl")))
    assert "Finished: nothing is left to fetch but 660 URLs that are held." in shown
    lines = [
        line.split()
        for line in shown.partition("held: 660 URLs of 11 parts of sites")[2].splitlines()
    ]
    assert [line[1] for line in lines[1:9]] == [f"m{number}.test/a/" for number in range(11, 3, -1)]
    assert lines[9] == ["60", "of", "3", "more", "parts"]
    assert "it waits behind what is not suspect" in shown
    assert "its allowance is spent" in shown
    assert (
        "If the first is honest, `gossamer trust 'my crawl' 'm11.test/a/*'` lets it go on." in shown
    )


def test_a_summary_does_not_claim_that_nothing_is_left_if_a_url_is_held() -> None:
    one = replace(STATUS, running=False, finished=True, held=1, traps=(part(2, 1),))
    shown = seen(summary("finished", one, Path("c")))
    assert "Finished: nothing is left to fetch but 1 URL that is held." in shown
    assert "held: 1 URL of 1 part of a site" in shown
    assert "If it is honest, `gossamer trust c 'm2.test/a/*'` lets it go on." in shown
    assert "held" not in seen(summary("finished", replace(one, held=0, traps=()), Path("c")))


def test_the_progress_line_counts_what_is_held() -> None:
    assert "12,345 held" in progress_line(replace(STATUS, held=12_345)).plain
    assert "held" not in progress_line(STATUS).plain


def test_the_name_of_a_part_of_a_site_cannot_steer_the_terminal() -> None:
    note = replace(part(2, 5), unit="m.test/\x1b[31m/", pattern="m.test/\x1b[31m/*")
    shown = seen(status_view(replace(STATUS, held=5, traps=(note,)), Path("c")))
    assert "\x1b" not in shown
