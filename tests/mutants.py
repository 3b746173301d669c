"""Mutation testing of the safety rules: a small bug is put in, and the room's tests must fail.

    make mutants                              15 mutants of each module, always the same ones
    python -m tests.mutants --seed 7 guard    other mutants, of one module
    python -m tests.mutants --all guard       every mutant there is

A survivor is a behaviour that no test pins. One that cannot be told from the original is explained
in `mutants.toml`; an unexplained one, or a module of which fewer than 85 % are killed, fails the
run. The last line of the output is a JSON summary.
"""

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
EXPLANATIONS = Path(__file__).with_suffix(".toml")
SEED = 13
DRAWN = 15
LEAST_KILLED = 0.85
AT_ONCE = 2
PATIENCE = 5.0
"""A mutant that takes so many times as long as the original, and then some, hangs: killed."""

MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ledger": (
        "crawl/ledger.py",
        ("tests/unit/crawl/test_ledger*.py", "tests/unit/crawl/test_request_log.py"),
    ),
    "requeue": ("crawl/requeue.py", ("tests/unit/crawl/test_requeue.py",)),
    "workbench": (
        "frontier/workbench.py",
        ("tests/unit/frontier/test_workbench.py", "tests/unit/frontier/test_frontier.py"),
    ),
    "lanes": ("crawl/lanes.py", ("tests/unit/crawl/test_lanes.py",)),
    "outage": (
        "frontier/outage.py",
        ("tests/unit/frontier/test_outage.py", "tests/unit/frontier/test_broken_pages.py"),
    ),
    "orders": (
        "cluster/orders.py",
        (
            "tests/unit/cluster/test_outages_of_shards.py",
            "tests/unit/cluster/test_probation_share.py",
        ),
    ),
    "outbox": ("cluster/outbox.py", ("tests/unit/cluster/test_outbox.py",)),
    "addresses": (
        "cluster/address_clocks.py",
        (
            "tests/unit/cluster/test_address_clocks.py",
            "tests/property/test_cluster_address_clocks.py",
        ),
    ),
    "politeness": (
        "frontier/politeness.py",
        (
            "tests/unit/frontier/test_politeness.py",
            "tests/unit/frontier/test_addresses.py",
            "tests/unit/frontier/test_median.py",
        ),
    ),
    "repair": ("store/repairing.py", ("tests/unit/store/test_store_repair*.py",)),
    "ends": ("store/ends.py", ("tests/unit/store/test_store_ends.py",)),
    "guard": ("fetch/guard.py", ("tests/unit/fetch/test_guard.py",)),
    "mirrors": ("traps/mirrors.py", ("tests/unit/traps/test_mirrors.py",)),
    "trap_rules": (
        "traps/rules.py",
        ("tests/unit/traps/test_trap_rules.py", "tests/unit/traps/test_trap_detector.py"),
    ),
    "trap_allowance": (
        "traps/allowance.py",
        ("tests/unit/traps/test_trap_allowance.py", "tests/unit/traps/test_trap_turns.py"),
    ),
    "grants": ("fetch/grants.py", ("tests/unit/fetch/test_grants.py",)),
    "secrets": ("secrets.py", ("tests/unit/test_secrets.py", "tests/unit/test_settings.py")),
    "seen": (
        "seen/url_seen.py",
        ("tests/unit/seen/test_seen_url_seen.py", "tests/unit/seen/test_new_among.py"),
    ),
}
"""Name → the module under `src/gossamer`, and the files (or patterns) of its tests."""

LOGGERS = frozenset({"tell", "log", "logger", "logging"})
LAYOUT = frozenset({"slots", "kw_only", "frozen", "gc", "eq"})
"""Keywords of a class declaration that say how it is laid out, like `__slots__`."""
SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
DROPPED = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete),
    *(ast.Raise, ast.Return, ast.Break, ast.Continue),
)


class Mutant(NamedTuple):
    """A change of one place in a file."""

    operator: str
    line: int
    where: str
    """The function that it is in, such as `Outbox.post`."""
    before: str
    """The changed lines as they were."""
    after: str
    source: str
    """The whole file with the change in it."""

    def key(self, path: str) -> "Key":
        return Key(path, self.where, self.before, self.after)


class Key(NamedTuple):
    """What an explanation is found by: it outlives changes elsewhere in the file."""

    file: str
    where: str
    before: str
    after: str


class Verdict(NamedTuple):
    """What the tests said to a mutant."""

    mutant: Mutant
    is_killed: bool
    why: str
    """The explanation of a survivor; "" if there is none."""


@dataclass(kw_only=True)
class Result:
    """A module's mutants, and what became of them."""

    module: str
    path: str
    problem: str = ""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(verdict.is_killed for verdict in self.verdicts)

    @property
    def survivors(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if not verdict.is_killed]

    @property
    def is_good(self) -> bool:
        is_enough = self.killed >= LEAST_KILLED * len(self.verdicts)
        return not self.problem and is_enough and all(one.why for one in self.survivors)


class Site(NamedTuple):
    """A node that can be changed, and the text that takes its place."""

    node: ast.expr | ast.stmt
    operator: str
    text: str
    where: str


class Sites(ast.NodeVisitor):
    """Collects the sites of a file."""

    def __init__(self) -> None:
        self.found: list[Site] = []
        self._scopes: list[str] = []
        self._functions = 0

    def visit(self, node: ast.AST) -> None:
        if not self._is_no_site(node):
            if self._functions and isinstance(node, DROPPED):
                self._add(node, "dropped statement", dropped(node))
            super().visit(node)

    def _add(self, node: ast.expr | ast.stmt, operator: str, text: str) -> None:
        self.found.append(Site(node, operator, text, ".".join(self._scopes)))

    def _is_no_site(self, node: ast.AST) -> bool:
        match node:
            case ast.Import() | ast.ImportFrom():
                return True
            case ast.Expr(value=ast.Constant(value=str())):
                return True  # a docstring, of whatever it stands below
            case ast.Expr(value=ast.Call(func=called)):
                return ast.unparse(called).partition(".")[0] in LOGGERS
            case ast.Assign(targets=[ast.Name(id="__slots__")]):
                return True
            case ast.keyword(arg=name):
                return name in LAYOUT
        return False

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        self._functions += 1
        self._scopes.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()
        self._functions -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # ast calls it so

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scopes.append(node.name)
        self.generic_visit(node)
        self._scopes.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for number, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[number] = SWAPPED[type(operator)]()
            other = ast.Compare(node.left, ops, node.comparators)
            self._add(node, "comparison", ast.unparse(other))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        swapped = ast.unparse(ast.BoolOp(other, node.values))
        self._add(node, "and/or", f"({swapped})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._add(node.test, "swapped branch", f"not ({ast.unparse(node.test)})")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._add(node.test, "swapped branch", f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        other = ast.JoinedStr([ast.Constant("~"), *node.values])
        self._add(node, "constant", ast.unparse(other))

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                other = repr(not node.value)
            case int() | float():
                other = repr(node.value + 1)
            case str() | bytes():
                other = repr(node.value + ("~" if isinstance(node.value, str) else b"~"))
            case _:
                return
        self._add(node, "constant", other)


def dropped(node: ast.AST) -> str:
    """Return what stands in place of a dropped statement."""
    return "return None" if isinstance(node, ast.Return) and node.value is not None else "pass"


def mutants_of(source: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of its lines."""
    sites = Sites()
    sites.visit(ast.parse(source))
    found = [mutated(source, site) for site in sites.found]
    whole = [mutant for mutant in found if mutant is not None]
    return sorted(whole, key=lambda mutant: (mutant.line, mutant.operator, mutant.after))


def mutated(source: str, site: Site) -> Mutant | None:
    """Change a file at one site; None if that changes nothing."""
    node = site.node
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    lines = source.splitlines()
    old = lines[first : last + 1]
    # Columns of the syntax tree are bytes.
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    new = head + site.text + tail
    if [new] == old:
        return None
    changed = "\n".join([*lines[:first], new, *lines[last + 1 :]]) + "\n"
    ast.parse(changed)  # a mutant that is no program would be killed for nothing
    before = " ".join(line.strip() for line in old)
    return Mutant(site.operator, node.lineno, site.where, before, new.strip(), changed)


class Bench:
    """A copy of the package in a temporary folder, where one mutant at a time is tried."""

    def __init__(self, root: Path, path: str, tests: Sequence[str]) -> None:
        self._tests = tests
        self._target = root / "gossamer" / path
        self._root = root
        self.patience_s = 600.0
        if not (root / "gossamer").exists():
            no_caches = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPOSITORY / "src" / "gossamer", root / "gossamer", ignore=no_caches)
        self._original = self._target.read_text(encoding="utf-8")

    def is_killed(self, mutant: Mutant) -> bool:
        """Return True if a test fails, or hangs, with the mutant in place."""
        self._target.write_text(mutant.source, encoding="utf-8")
        self._forget_compiled()
        try:
            return not self.passes()
        finally:
            self._target.write_text(self._original, encoding="utf-8")
            self._forget_compiled()

    def _forget_compiled(self) -> None:
        # Two mutants of one length within one clock tick would share their compiled file.
        for compiled in self._target.parent.glob(f"__pycache__/{self._target.stem}.*.pyc"):
            compiled.unlink()

    def passes(self) -> bool:
        """Return True if the tests pass, within the patience, with the files as they are."""
        options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        command = [sys.executable, "-m", "pytest", *options, *self._tests]
        environment = os.environ | {"PYTHONPATH": str(self._root), "PYTHONHASHSEED": "0"}
        running = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return running.wait(self.patience_s) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()


def files_of(patterns: Sequence[str]) -> list[str]:
    """Return the test files that patterns stand for."""
    found = (path for pattern in patterns for path in sorted(REPOSITORY.glob(pattern)))
    return [str(path.relative_to(REPOSITORY)) for path in found]


def explanations() -> dict[Key, str]:
    """Return why a survivor is no bug, by its key."""
    if not EXPLANATIONS.exists():
        return {}
    entries = tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8")).get("survivor", [])
    return {Key(*(entry[name] for name in Key._fields)): entry["why"] for entry in entries}


def tried(module: str, folder: Path, seed: int, count: int) -> Result:
    """Draw mutants of a module and let the module's tests meet them."""
    path, patterns = MODULES[module]
    result = Result(module=module, path=path)
    tests = files_of(patterns)
    place = REPOSITORY / "src" / "gossamer" / path
    if not tests or not place.exists():
        result.problem = f"no tests: {', '.join(patterns)}" if place.exists() else "no such module"
        return result
    benches = [Bench(folder / str(number), path, tests) for number in range(AT_ONCE)]
    for bench in benches:
        bench.passes()  # once for what is compiled and kept
        began = perf_counter()
        if not bench.passes():
            result.problem = "its tests fail without any mutant"
            return result
        bench.patience_s = 20 + PATIENCE * (perf_counter() - began)
    every = mutants_of(place.read_text(encoding="utf-8"))
    drawn = random.Random(f"{seed} {module}").sample(every, min(count, len(every)))
    drawn.sort(key=every.index)
    result.verdicts = list(verdicts(path, benches, drawn))
    return result


def verdicts(path: str, benches: list[Bench], mutants: list[Mutant]) -> Iterator[Verdict]:
    """Give the verdict on each mutant, in order; as many at a time as there are benches."""
    free: SimpleQueue[Bench] = SimpleQueue()
    for bench in benches:
        free.put(bench)
    reasons = explanations()

    def judged(mutant: Mutant) -> Verdict:
        bench = free.get()
        try:
            is_killed = bench.is_killed(mutant)
        finally:
            free.put(bench)
        return Verdict(mutant, is_killed, reasons.get(mutant.key(path), ""))

    with ThreadPoolExecutor(len(benches)) as threads:
        yield from threads.map(judged, mutants)


def told(result: Result) -> Iterator[str]:
    """Give the lines that say how a module fared."""
    share = f"{result.killed}/{len(result.verdicts)} killed"
    yield f"{result.module:10} {result.problem or share}{'' if result.is_good else '  FAILED'}"
    for mutant, _, why in result.survivors:
        yield f"  src/gossamer/{result.path}:{mutant.line}: {mutant.where}: {mutant.operator}"
        yield f"    - {mutant.before}"
        yield f"    + {mutant.after}"
        yield f"    {why or 'NOT EXPLAINED'}"


def stale_explanations() -> Iterator[str]:
    """Give the explanations that fit no mutant any more, as lines."""
    possible: set[Key] = set()
    for path, _ in MODULES.values():
        place = REPOSITORY / "src" / "gossamer" / path
        if place.exists():
            found = mutants_of(place.read_text(encoding="utf-8"))
            possible |= {mutant.key(path) for mutant in found}
    for key in explanations().keys() - possible:
        yield f"mutants.toml explains what is no mutant of {key.file}: {key.before} -> {key.after}"


def main() -> int:
    """Try the mutants of the modules that were named, or of all."""
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(MODULES))
    parser.add_argument("--seed", type=int, default=SEED, help="which mutants are drawn")
    parser.add_argument("--count", type=int, default=DRAWN, help="how many of each module")
    parser.add_argument("--all", action="store_true", help="every mutant there is")
    asked = parser.parse_args()
    if unknown := set(asked.modules) - MODULES.keys():
        parser.error(f"no such module: {', '.join(sorted(unknown))}")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for module in asked.modules or MODULES:
            count = sys.maxsize if asked.all else asked.count
            results.append(tried(module, Path(folder), asked.seed, count))
            print("\n".join(told(results[-1])), flush=True)
    for line in sorted(stale_explanations()):
        print(line)
    summary = {
        one.module: {"killed": one.killed, "of": len(one.verdicts), "is_good": one.is_good}
        for one in results
    }
    is_good = all(one.is_good for one in results)
    print(json.dumps({"seed": asked.seed, "is_good": is_good, "modules": summary}))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
