"""The findings of a link check in the forms that people and other programs read.

Everything that comes from the web is text here: controls are escaped, markup is quoted, and cells
of a CSV file cannot be formulas.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from html import escape as quoted
from itertools import groupby
from typing import Literal, TypeAlias
from xml.etree import ElementTree as ET

import msgspec

from gossamer import __version__
from gossamer.log import counted, escape, redact
from gossamer.model import FailureKind, as_json
from gossamer.report.linkcheck import FindingKind, LinkFinding, LinkPlace, LinkReport

LinkFormat: TypeAlias = Literal["text", "json", "csv", "junit", "sarif", "html"]
PLACES_TOLD = 10
"""Of one target, in a text."""
NOTES_TOLD = 3
"""Of one reason for which links could not be checked, in a text."""
TITLES: dict[FindingKind, str] = {
    "broken": "Broken links",
    "malformed": "Links that are no URLs",
    "fragment": "Fragments that name nothing in their page",
    "mixed_content": "Resources by http in pages by https",
    "markup": "Parse errors",
    "redirect": "Links to pages that have moved",
    "unchecked": "Links that could not be checked",
}
_MEANINGS: dict[FindingKind, str] = {
    "broken": "The link leads to no page.",
    "malformed": "What is written is no URL, or its scheme is misspelt: no browser can follow it.",
    "fragment": "The page has no element with the id behind the #.",
    "mixed_content": "A page by https loads a resource by http: browsers refuse it or warn.",
    "markup": "The source is not what the HTML standard allows.",
    "redirect": "The link leads to a page that has moved for good, or over several redirects.",
    "unchecked": "The server turned us away, or was not to be asked.",
}
_FLAWS: dict[str, str] = {
    "too_long": "longer than any URL",
    "no_host": "no host behind the scheme",
    "bad_host": "not the name of a host",
    "bad_port": "not a port",
    "misspelt_scheme": "unknown scheme: http or https?",
    "not_a_url": "not a URL",
}
"""By reason, in words."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    *("kind", "severity", "target", "status", "reason", "detail", "leads_to"),
    *("page", "line", "column", "text", "link"),
)
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_links(report: LinkReport, form: LinkFormat) -> str:
    """Return a report as a text that ends with a line break."""
    return _FORMS[form](report)


def links_summary(report: LinkReport) -> str:
    """Return what a check has found, in a sentence or two."""
    broken = [one for one in report.findings if one.kind == "broken"]
    links = sum(one.count for one in broken)
    pages = len({place.page for one in broken for place in one.places})
    found = f"{counted(links, 'broken link')} to {counted(len(broken), 'target')}"
    said = [f"{found} on {counted(pages, 'page')}" if broken else "No broken links"]
    others: dict[FindingKind, tuple[str, str]] = {
        "malformed": ("malformed URL", ""),
        "fragment": ("dead fragment", ""),
        "mixed_content": ("resource by http", "resources by http"),
        "markup": ("parse error", ""),
        "redirect": ("target that has moved", "targets that have moved"),
        "unchecked": ("target that could not be checked", "targets that could not be checked"),
    }
    for kind, (one, many) in others.items():
        if count := report.count(kind):
            said.append(counted(count, one, many))
    looked = (
        f"{counted(report.links, 'link')} of {counted(report.pages, 'page')} to "
        f"{counted(report.targets, 'target')}"
    )
    rest = f", {report.unasked:,} of them not asked for" if report.unasked else ""
    ignored = f"; {counted(report.ignored, 'finding')} ignored" if report.ignored else ""
    return f"{', '.join(said)} ({looked}{rest}{ignored})."


def what_is_wrong(finding: LinkFinding) -> str:
    """Return in a few words what is wrong with a target."""
    match finding.kind:
        case "malformed":
            return _FLAWS.get(finding.reason, finding.reason)
        case "fragment":
            return "no element has this id"
        case "mixed_content":
            return "loaded by http in a page by https"
        case "markup":
            return f"{finding.reason.replace('-', ' ')} {finding.detail}".rstrip()
        case "redirect":
            how = "moved permanently" if finding.reason != "chain" else "redirected several times"
            return f"{finding.status} {how}"
        case "broken" | "unchecked":
            status = str(finding.status) if finding.status else ""
            detail = "" if finding.detail == status else finding.detail
            words = finding.reason.replace("_", " ")
            if words == f"http {status}":
                words = ""
            said = " ".join(filter(None, (status, words)))
            return f"{said}: {detail}" if detail else said


def _shown(text: str) -> str:
    return escape(redact(text))


# ---- text


def _text(report: LinkReport) -> str:
    lines: list[str] = []
    for kind, found in groupby(report.findings, key=lambda one: one.kind):
        some = list(found)
        lines += [f"{TITLES[kind]} ({len(some):,})"]
        lines += _note_lines(some) if kind == "unchecked" else _finding_lines(some)
        lines.append("")
    return "\n".join([*lines, links_summary(report), ""])


def _finding_lines(findings: list[LinkFinding]) -> Iterator[str]:
    for one in findings:
        if one.kind == "markup":
            place = one.places[0]
            yield f"  {_shown(one.target)}:{place.line}:{one.column}  {_shown(what_is_wrong(one))}"
            continue
        yield f"  {_shown(one.target)}  {_shown(what_is_wrong(one))}"
        yield from (f"    -> {_shown(url)}" for url in one.chain)
        yield from (f"    {_place_text(place)}" for place in one.places[:PLACES_TOLD])
        if (more := one.count - PLACES_TOLD) > 0:
            yield f"    and in {counted(more, 'more place')}"


def _note_lines(findings: list[LinkFinding]) -> Iterator[str]:
    """Yield the reasons for which targets could not be checked, with some of each."""
    for reason, found in groupby(sorted(findings, key=_why_unchecked), key=_why_unchecked):
        some = list(found)
        yield f"  {_shown(reason)}: {counted(len(some), 'target')}"
        for one in some[:NOTES_TOLD]:
            place = _place_text(one.places[0]) if one.places else ""
            yield f"    {_shown(one.target)}  {place}"
        if len(some) > NOTES_TOLD:
            yield f"    and {len(some) - NOTES_TOLD:,} more"


def _why_unchecked(finding: LinkFinding) -> str:
    """Return the reason for which a target could not be checked; if it is its host's, with that."""
    words = finding.reason.replace("_", " ")
    if finding.reason != FailureKind.HTTP_5XX or finding.status:
        return words
    return f"{finding.target.split('/', 3)[2]}, {finding.detail or words}"


def _place_text(place: LinkPlace) -> str:
    if not place.page:
        return "a seed"
    where = f"{_shown(place.page)}:{place.line}" if place.line else _shown(place.page)
    return f'{where}  "{_shown(place.text)}"' if place.text else f"{where}  ({place.kind})"


# ---- JSON, CSV


def _json(report: LinkReport) -> str:
    return msgspec.json.encode(link_facts(report)).decode() + "\n"


def link_facts(report: LinkReport) -> dict[str, object]:
    """Return a report as plain values: its fields, whether it is fine, and each severity."""
    found = as_json(report)
    found["findings"] = [{**as_json(one), "severity": one.severity} for one in report.findings]
    return {"ok": report.ok, **found}


def _csv(report: LinkReport) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for one in report.findings:
        leads_to = one.chain[-1] if one.chain else ""
        status = one.status or ""
        said = (one.kind, one.severity, one.target, status, one.reason, one.detail, leads_to)
        for at in one.places:
            place = (at.page, at.line or "", at.column or "", at.text, at.kind)
            rows.writerow(_cell(value) for value in (*said, *place))
    return out.getvalue()


def _cell(value: object) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    text = escape(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


# ---- JUnit: for servers that run builds


def _junit(report: LinkReport) -> str:
    failed = [one for one in report.findings if one.severity == "error"]
    others = [one for one in report.findings if one.severity != "error"]
    fine = max(0, report.targets - len(report.findings))
    counts = {
        "name": "gossamer check-links",
        "tests": str(len(report.findings) + 1),
        "failures": str(len(failed)),
        "errors": "0",
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {**counts, "skipped": str(len(others))})
    ET.SubElement(
        suite,
        "testcase",
        {"classname": "links", "name": f"{counted(fine, 'target')} without findings"},
    )
    for one in report.findings:
        name = one.target
        if one.kind == "markup":
            name = f"{one.target}:{one.places[0].line}:{one.column}"
        case = ET.SubElement(
            suite, "testcase", {"classname": f"links.{one.kind}", "name": _xml(name)}
        )
        what = _xml(what_is_wrong(one))
        if one.severity == "error":
            failure = {"message": what, "type": _xml(one.reason)}
            said = ET.SubElement(case, "failure", failure)
            said.text = _xml("\n".join(_finding_lines([one])))
        else:
            ET.SubElement(case, "skipped", {"message": what})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return text without what XML cannot hold; the writer quotes the rest."""
    return _NOT_XML.sub("\ufffd", redact(text))


# ---- SARIF: for code hosts that show findings beside the source


def _sarif(report: LinkReport) -> str:
    rules = [
        {
            "id": kind,
            "name": kind.title().replace("_", ""),
            "shortDescription": {"text": TITLES[kind]},
            "fullDescription": {"text": _MEANINGS[kind]},
        }
        for kind in TITLES
    ]
    driver = {
        "name": "gossamer",
        "version": __version__,
        "informationUri": "https://pypi.org/project/gossamer/",
        "rules": rules,
    }
    results = [
        {
            "ruleId": one.kind,
            "ruleIndex": list(TITLES).index(one.kind),
            "level": one.severity,
            "message": {"text": _sarif_words(one, place)},
            "locations": [_sarif_place(one, place)],
            "partialFingerprints": {"link/v1": f"{one.kind} {one.target} {place.page}"},
        }
        for one in report.findings
        for place in one.places
    ]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    whole = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode() + "\n"


def _sarif_words(finding: LinkFinding, place: LinkPlace) -> str:
    text = f' ("{_shown(place.text)}")' if place.text else ""
    leads = f" -> {_shown(finding.chain[-1])}" if finding.chain else ""
    if finding.kind == "markup":
        return _shown(what_is_wrong(finding))
    return f"{_shown(finding.target)}{leads}{text}: {_shown(what_is_wrong(finding))}"


def _sarif_place(finding: LinkFinding, place: LinkPlace) -> dict[str, object]:
    region: dict[str, object] = {"startLine": max(1, place.line)}
    if place.column:
        region["startColumn"] = place.column
    where = {"artifactLocation": {"uri": place.page or finding.target}, "region": region}
    return {"physicalLocation": where}


# ---- HTML: one file without scripts

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "h2{margin-top:2rem}details,p.one{margin:.4rem 0}li{overflow-wrap:anywhere}"
    "summary,p.one{overflow-wrap:anywhere}.what{color:#b00020}.warning .what{color:#8a5a00}"
    ".note .what{color:#555}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}"
    "a{color:#8ab4f8}.what{color:#ff8a80}.warning .what{color:#ffcc80}.note .what{color:#aaa}}"
)


def _html(report: LinkReport) -> str:
    top = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Link check</title>\n<style>{_STYLE}</style>\n<h1>Link check</h1>\n"
        f"<p>{quoted(links_summary(report))}</p>\n"
    )
    parts = [top]
    for kind, found in groupby(report.findings, key=lambda one: one.kind):
        some = list(found)
        parts.append(f"<h2>{TITLES[kind]} ({len(some):,})</h2>\n<p>{_MEANINGS[kind]}</p>\n")
        parts += map(_html_finding, some)
    return "".join([*parts, "</html>\n"])


def _html_finding(one: LinkFinding) -> str:
    what = f'<span class="what">{quoted(_shown(what_is_wrong(one)))}</span>'
    if one.kind == "markup":
        where = f"{one.places[0].line}:{one.column}"
        return f'<p class="one {one.severity}">{_anchor(one.target)} {where} {what}</p>\n'
    chain = "".join(f"<br>&rarr; {_anchor(url)}" for url in one.chain)
    places = "".join(f"<li>{_html_place(place)}</li>" for place in one.places)
    more = (
        f"<li>and {one.count - len(one.places):,} more</li>" if one.count > len(one.places) else ""
    )
    return (
        f'<details class="{one.severity}"><summary>{_anchor(one.target)} {what} '
        f"({counted(one.count, 'link')}){chain}</summary><ul>{places}{more}</ul></details>\n"
    )


def _html_place(place: LinkPlace) -> str:
    if not place.page:
        return "a seed"
    line = f", line {place.line}" if place.line else ""
    text = quoted(_shown(place.text)) if place.text else quoted(place.kind)
    return f"{_anchor(place.page)}{line}: {text}"


def _anchor(url: str) -> str:
    """Return a link to a page of the web; the text alone of anything else."""
    shown = quoted(_shown(url))
    if not url.startswith(("http://", "https://")):
        return shown
    return f'<a href="{quoted(redact(url))}" rel="noreferrer noopener">{shown}</a>'


_FORMS: dict[LinkFormat, Callable[[LinkReport], str]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "junit": _junit,
    "sarif": _sarif,
    "html": _html,
}
