"""Empty application shells, and the short pages that are none."""

from collections.abc import Callable

import pytest

from gossamer.model import Document
from gossamer.process import Registry, label_of

MakeDocument = Callable[..., Document]

ASK = "<noscript>You need to enable JavaScript to run this app.</noscript>"
SHELLS = {
    "create-react-app": (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>React App</title>"
        '<script defer src="/static/js/main.3f1.js"></script><link href="/static/css/main.css"'
        f' rel=stylesheet></head><body>{ASK}<div id="root"></div></body></html>'
    ),
    "vite": (
        '<title>Vite App</title><body><div id="app"></div>'
        '<script type="module" src="/assets/index-1.js"></script>'
    ),
    "vue-cli": (
        "<title>shop</title><body><noscript><strong>We're sorry but shop doesn't work properly "
        "without JavaScript enabled. Please enable it to continue.</strong></noscript>"
        "<div id=app></div><script src=/js/vendors.js></script><script src=/js/app.js></script>"
    ),
    "angular": (
        "<title>Desk</title><base href=/><body><app-root></app-root>"
        "<script src=runtime.js></script><script src=main.js type=module></script>"
    ),
    "angularjs": (
        "<html ng-app=shop><title>Shop</title><body><div ng-view></div>"
        "<script src=angular.min.js></script><script src=app.js></script>"
    ),
    "next, rendered by the client": (
        '<title>Board</title><div id="__next"></div>'
        '<script id="__NEXT_DATA__" type="application/json">{"props":{}}</script>'
        '<script src="/_next/static/chunks/main.js"></script>'
    ),
    "nuxt": '<title>x</title><div id="__nuxt"></div><script src="/_nuxt/1.js"></script>',
    "ember": (
        "<title>Forum</title><body><script src=/assets/vendor.js></script>"
        "<script src=/assets/forum.js></script><div id=ember-basic-dropdown-wormhole></div>"
    ),
    "loading": (
        "<title>Mail</title><div id=root><div class=spinner>Loading…</div></div>"
        "<script src=/bundle.js></script>"
    ),
    "with a tag manager": (
        "<title>Jobs</title><noscript><iframe src='https://www.googletagmanager.com/ns.html'>"
        f"</iframe></noscript>{ASK}<div id=root></div><script src=/bundle.js></script>"
    ),
    "only scripts": "<title>x</title><body><script src=/bundle.js></script></body>",
    "inlined": "<title>x</title><div id=app></div><script>" + "var a=1;" * 500 + "</script>",
    "in German": (
        "<title>x</title><noscript>Bitte aktivieren Sie JavaScript, um die Seite zu sehen."
        "</noscript><div class=s></div><script src=/b.js></script>"
    ),
}
WORDS = "<p>This page has a few words of its own, and whoever reads it knows what it is about.</p>"
OTHERS = {
    "a short page": f"<title>x</title>{WORDS}<script src=/menu.js></script>",
    "a short page with a notice": (
        f"<title>x</title>{WORDS}<noscript>Please enable JavaScript for the menu.</noscript>"
        "<script src=/menu.js></script>"
    ),
    "an empty page": "<title>x</title><body></body>",
    "no script": "<title>x</title><div id=root></div>",
    "only a meter": (
        "<title>x</title><div id=root></div>"
        "<script src=https://www.googletagmanager.com/gtag/js></script>"
    ),
    "pictures": (
        "<title>x</title><img src=a.png><img src=b.png><img src=c.png><div id=app></div>"
        "<script src=/gallery.js></script>"
    ),
    "one picture": "<title>x</title><body><img src=a.png><script src=/menu.js></script>",
    "a frameset": (
        "<title>x</title><script src=/a.js></script><frameset cols=50%,50%><frame src=a.html>"
        "<frame src=b.html></frameset>"
    ),
    "a frame": "<title>x</title><iframe src=/inner.html></iframe><script src=/a.js></script>",
    "a redirect": (
        "<title>x</title><meta http-equiv=refresh content='0; url=/next'>"
        "<script src=/a.js></script>"
    ),
    "a redirect by script": (
        "<title>x</title><script src=/a.js></script><script>location.href = '/next';</script>"
    ),
    "a login": (
        "<title>Log in</title><div id=app></div><form action=/login method=post>"
        "<input name=user><input type=password name=pass></form><script src=/a.js></script>"
    ),
    "text for all in noscript": (
        "<title>x</title><div id=root></div><script src=/a.js></script><noscript>"
        + WORDS * 15
        + "</noscript>"
    ),
    "rendered by the server": (
        f"<title>x</title><div id=__next>{WORDS * 3}<a href=/a>a</a><a href=/b>b</a></div>"
        "<script src=/_next/main.js></script>"
    ),
    "a menu": (
        "<title>x</title><div id=root></div><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"
        "<a href=/d>d</a><script src=/a.js></script>"
    ),
    "a table": "<title>x</title><table><tr><td>1</table><script src=/sort.js></script>",
    "a drawing": "<title>x</title><svg><path d=M0></svg><script src=/a.js></script>",
    "a film": "<title>x</title><video src=a.webm></video><script src=/player.js></script>",
}


@pytest.mark.parametrize("name", SHELLS)
def test_an_empty_application_shell_needs_javascript(
    name: str, document: MakeDocument, registry: Registry
) -> None:
    found = registry.read(document(SHELLS[name]), "text/html")
    assert label_of(found) == "needs_javascript"


@pytest.mark.parametrize("name", OTHERS)
def test_other_short_pages_do_not(name: str, document: MakeDocument, registry: Registry) -> None:
    assert label_of(registry.read(document(OTHERS[name]), "text/html")) == ""


def test_a_gate_is_a_gate_although_it_needs_javascript(
    document: MakeDocument, registry: Registry
) -> None:
    page = SHELLS["create-react-app"].replace("React App", "Just a moment...")
    assert label_of(registry.read(document(page), "text/html")) == "challenge"
