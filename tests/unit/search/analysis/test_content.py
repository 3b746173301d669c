import pytest

from gossamer.search.analysis.content import Arranger

ARRANGER = Arranger()
MENU = ["Home", "Products", "About us", "Contact", "Jobs", "Press", "Sitemap"]
PROSE = "Spiders spin webs, and a crawler follows them from page to page, day after day."


def split(lines: list[str], links: list[str], heads: str = "") -> tuple[list[str], list[str]]:
    arranged = ARRANGER.arranged(b"", links, heads.encode() + b"\n", "\n".join(lines).encode())
    text = arranged.text.tobytes()
    main = text[: arranged.middle].decode().splitlines()
    return main, text[arranged.middle : arranged.end].decode().splitlines()


def test_a_menu_and_small_print_are_not_main_content() -> None:
    marked = [f"* {name}" for name in MENU]
    small = ["We use cookies. Accept?", "Copyright 2026 Spider Ltd. All rights reserved."]
    main, rest = split([small[0], *marked, "", "Spiders", PROSE, "", *marked, small[1]], MENU)
    assert main == ["Spiders", PROSE]
    assert rest == [small[0], *marked, *marked, small[1]]


def test_a_menu_on_one_line_is_one() -> None:
    main, rest = split(["Home  Products | About us  Jobs", PROSE], MENU)
    assert (main, rest) == ([PROSE], ["Home  Products | About us  Jobs"])


def test_without_known_links_rows_of_short_lines_are_a_menu() -> None:
    main, rest = split([*MENU, "", PROSE, "A short line that follows it", PROSE, *MENU], [])
    assert main == [PROSE, "A short line that follows it", PROSE]
    assert rest == MENU + MENU


def test_a_heading_belongs_to_what_follows_it() -> None:
    main, rest = split(["Light", "Coal", "Spiders", "by A. Writer", PROSE], MENU, "Spiders")
    assert main == ["Spiders", "by A. Writer", PROSE]
    assert rest == ["Light", "Coal"]


def test_lists_of_an_api_and_code_stay_with_their_page() -> None:
    lines = [
        PROSE,
        "erase",
        "removes an element",
        "insert",
        "def insert(self): pass",
        "x = 1;",
        "}",
    ]
    lines += ["See also", "erase", "insert", PROSE]
    assert split(lines, ["erase", "insert", *MENU]) == (lines, [])


def test_a_page_about_policies_is_no_small_print() -> None:
    lines = ["This policy says what to do, and the policy is old.", PROSE]
    assert split(lines, MENU) == (lines, [])


def test_a_page_of_nothing_but_links_is_about_them() -> None:
    assert split(MENU, MENU) == (MENU, [])
    assert split([], []) == ([], [])


def test_chinese_sentences_are_content() -> None:
    text = "蜘蛛结网，爬虫沿着链接从一页走到另一页。"
    assert split([*MENU, text], MENU) == ([text], MENU)


@pytest.mark.parametrize("many", [1, 2000, 40_000])
def test_any_number_of_links_and_lines_is_fine(many: int) -> None:
    links = [f"link {n}" for n in range(many)]
    main, rest = split([*links, PROSE], links)
    assert PROSE in main
    assert len(main) + len(rest) == many + 1
