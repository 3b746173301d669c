"""What is said of a unit: to the user, in `status` and `why`."""

from gossamer.model import TrapNote
from gossamer.traps.evidence.rules import Finding
from gossamer.traps.evidence.unit import Trial, Unit


def shown(name: str) -> str:
    """Return a unit's name as a URL, or as the pattern of a domain's hosts."""
    return name if name.startswith("*.") else f"http://{name}"


def overrule(name: str) -> str:
    """Return what to write into crawl.toml to trust a unit."""
    pattern = name if name.startswith("*.") else f"{name}*"
    return f'[traps] trust = ["{pattern}"]'


def closed_because(unit: Unit, trial: Trial, found: Finding) -> str:
    """Return why a unit was closed, and how to overrule that."""
    match found:
        case Finding.SAME:
            because = (
                f"{unit.pages} pages, of the last {trial.pages} {trial.same} said what others had "
                f"said, and {trial.same_bred} of these led to new URLs"
            )
        case Finding.MIRROR:
            because = f"{trial.suspicion}: {unit.copies} of {unit.pages}, under the same paths"
        case Finding.HOSTS:
            because = (
                f"{trial.bred} of the last {trial.pages} new hosts named {trial.fresh} newer ones"
            )
        case _:
            because = (
                f"{unit.pages} pages, of the last {trial.pages} {trial.bred} brought new URLs "
                f"({trial.fresh}), {trial.depth} in a row, and {trial.leaves} were an end"
            )
    return f"{unit.name} closed: {because}; overrule with {overrule(unit.name)}"


def note_of(unit: Unit, held: int) -> TrapNote:
    """Return what `status` says of a unit; what a closed one holds is as good as refused."""
    trial = unit.trial
    detail = unit.detail if trial is None else f"{unit.name} is on trial: {trial.suspicion}"
    waiting = 0 if unit.verdict else held
    return TrapNote(unit.name, unit.verdict, unit.pages, waiting, unit.refused, detail)
