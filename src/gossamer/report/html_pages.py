"""An answer as a page of HTML: in one file that opens anywhere and loads nothing."""

from gossamer.report.reuse import TextCopies
from gossamer.report.reuse_page import copies_page
from gossamer.report.site_facts import SiteReport
from gossamer.report.site_page import report_page


def html_of(answer: TextCopies | SiteReport) -> str:
    """Return an answer as a page in one file that opens anywhere and loads nothing."""
    return report_page(answer) if isinstance(answer, SiteReport) else copies_page(answer)
