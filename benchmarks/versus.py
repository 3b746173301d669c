"""The same crawl by Gossamer and by others, as one table: `make bench-versus`.

Two crawls of the local real web: 5,000 pages from the hub over many hosts, and one host to its end.
Each arm is a command; its CPU is user + system of all its processes, start-up included; its pages
are the HTML pages that nginx sent to its user agent. Arms take turns. RUNS, PAGES, LIMIT_S, SHARDS
and ARMS (beginnings of names, separated by commas) in the environment make it shorter or longer.
"""

import os
import platform
import shutil
import statistics
import tempfile
from pathlib import Path

from measure import Measured, measured
from realweb import bring_up, new_log, save
from versus.arms import ARMS, CONCURRENCY, COURSES, Arm, Course, claimed_pages
from versus.installed import go_peer, has_program, peer_python, versions
from versus.judge import LogTail, Work, work_of

RUNS = int(os.environ.get("RUNS", "3"))
LIMIT_S = float(os.environ.get("LIMIT_S", "600"))
ONE_HOST_LIMIT_S = 120.0
CHOSEN = tuple(name for name in os.environ.get("ARMS", "").split(",") if name)

Run = tuple[Measured, Work]
COLUMNS = {
    "pages": "pages",
    "cpu_ms_per_page": "CPU ms/page",
    "html_kb_per_page": "kB/page",
    "us_per_kb": "us/kB",
    "pages_per_s": "pages/s",
    "wall_s": "wall s",
    "rss_mb": "RSS MB",
    "hosts": "hosts",
    "repeats": "repeats",
    "forbidden": "forbidden",
    "runs": "runs",
}


def one_run(arm: Arm, course: Course) -> Run:
    """Let one arm do one course in an empty folder, and check its work against the log."""
    agent = f"versus-{arm.name.split(',')[0].replace(' ', '-').lower()}"
    is_mine_to_stop = not arm.counts_itself and not course.is_to_the_end
    folder = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        new_log()
        tail = LogTail(agent, course.pages if is_mine_to_stop else 10**9)
        limit_s = limit_of(course)
        took = measured(arm.command(course, agent), folder, tail.is_enough, limit_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    work = work_of(agent)
    if took.wall_s <= limit_s:  # else it was too slow; its row says so
        assert work.answers >= course.pages, (arm.name, work, took)
        if arm.counts_itself:
            assert took.exit_code == 0, (arm.name, took)
            assert work.answers >= claimed_pages(took.output) >= course.pages, (
                arm.name,
                work,
                took,
            )
    return took, work


def limit_of(course: Course) -> float:
    """Return the seconds after which an arm is stopped, wherever it is."""
    return min(LIMIT_S, ONE_HOST_LIMIT_S) if course.is_to_the_end else LIMIT_S


def row(arm: Arm, course: Course, runs: list[Run]) -> dict[str, object]:
    """Return the medians of an arm's runs and what it keeps."""
    limit_s = limit_of(course)

    def median(values: list[float], digits: int = 0) -> float:
        return round(statistics.median(values), digits)

    return {
        "arm": arm.name,
        "runs": len(runs),
        "pages": int(median([work.pages for _, work in runs])),
        "cpu_ms_per_page": median([1e3 * took.cpu_s / work.pages for took, work in runs], 3),
        "cpu_ms_per_page_runs": [round(1e3 * took.cpu_s / work.pages, 3) for took, work in runs],
        "html_kb_per_page": median([work.html_kb / work.pages for _, work in runs], 1),
        "us_per_kb": median([1e6 * took.cpu_s / work.html_kb for took, work in runs], 1),
        "pages_per_s": median([work.pages / took.wall_s for took, work in runs], 1),
        "wall_s": median([took.wall_s for took, _ in runs], 2),
        "rss_mb": median([took.rss_mb for took, _ in runs]),
        "hosts": int(median([work.hosts for _, work in runs])),
        "repeats": max(work.repeats for _, work in runs),
        "forbidden": max(work.forbidden for _, work in runs),
        "others_cores": median([took.others_cores for took, _ in runs], 2),
        "cut_at_s": limit_s if any(took.wall_s > limit_s for took, _ in runs) else None,
        "keeps": arm.keeps._asdict(),
    }


def compare(course: Course, arms: list[Arm]) -> list[dict[str, object]]:
    """Let the arms take turns at a course; return their rows, the cheapest first."""
    runs: dict[str, list[Run]] = {arm.name: [] for arm in arms}
    for turn in range(RUNS):
        for arm in arms if turn % 2 == 0 else arms[::-1]:
            took, work = one_run(arm, course)
            runs[arm.name].append((took, work))
            cpu_ms = 1e3 * took.cpu_s / work.pages
            print(f"  {arm.name:24} {work.pages:6} pages {cpu_ms:8.3f} ms/page", flush=True)
    rows = [row(arm, course, runs[arm.name]) for arm in arms]
    return sorted(rows, key=lambda one: float(str(one["cpu_ms_per_page"])))


def is_there(arm: Arm) -> bool:
    """Tell whether what an arm needs is installed, after trying to install it."""
    if arm.needs == "go":
        return bool(go_peer())
    return not arm.needs or has_program(arm.needs)


def print_table(course: Course, rows: list[dict[str, object]]) -> None:
    """Print a course's rows for people."""
    print(f"\n{course.about}: {course.seed}")
    print(f"{'':24}", *(f"{title:>12}" for title in COLUMNS.values()), "  keeps")
    for one in rows:
        print(f"{one['arm']:24}", *(f"{one[name]!s:>12}" for name in COLUMNS), " ", one["keeps"])


def main() -> None:
    """Measure, print the tables, keep the result."""
    bring_up()
    peer_python()
    wanted = [arm for arm in ARMS if not CHOSEN or arm.name.startswith(CHOSEN)]
    arms = [arm for arm in wanted if is_there(arm)]
    absent = [arm.name for arm in wanted if arm not in arms]
    tables = {course.name: compare(course, arms) for course in COURSES}
    for course in COURSES:
        print_table(course, tables[course.name])
        for name in absent:
            print(f"{name:24} not installed")
    save(
        "versus",
        {
            "courses": {
                course.name: {"about": course.about, "seed": course.seed} for course in COURSES
            },
            **tables,
            "not_installed": absent,
            "concurrency": CONCURRENCY,
            "versions": versions(),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        },
    )


if __name__ == "__main__":
    main()
