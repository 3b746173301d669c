"""What a page is instead of content, by few and strong signals."""

import pytest

from gossamer.config import UrlConfig
from gossamer.model import Extraction, Link, LinkKind
from gossamer.process import is_gate, label_of
from gossamer.urls import parse

NOT_FOUND = [
    "404 Not Found",
    "404",
    "Error 404",
    "404 - Page not found",
    "404 | My Shop",
    "Page not found",
    "Page Not Found | Example",
    "Oops! The page could not be found",
    "This page does not exist",
    "The page cannot be found",
    "Seite nicht gefunden",
    "Page introuvable",
    "Страница не найдена",
]
HONEST = [
    "Page 404 of 1200",
    "Article 404",
    "404 ways to cook an egg",
    "Peugeot 404",
    "Lost and found",
    "Command not found: what to do",
    "How we found it",
    "Moments",
    "A moment in time",
    "Human rights",
    "Captain's log",
]
GATES = [
    "Just a moment...",
    "Attention Required! | Cloudflare",
    "Checking your browser before accessing example.org",
    "Are you a robot?",
    "Please verify you are human",
    "Captcha",
    "Before you continue to Example",
]


@pytest.mark.parametrize("title", NOT_FOUND)
def test_a_not_found_in_disguise_is_known_by_its_title(title: str) -> None:
    assert label_of(Extraction(title=title, text="Sorry. Go home.")) == "soft_not_found"


@pytest.mark.parametrize("title", HONEST)
def test_honest_titles_are_left_alone(title: str) -> None:
    assert label_of(Extraction(title=title, text="Some text.")) == ""


@pytest.mark.parametrize("title", GATES)
def test_a_gate_is_known_by_its_title(title: str) -> None:
    assert label_of(Extraction(title=title, text="Please wait.")) == "challenge"


def test_a_long_page_is_content_whatever_its_title() -> None:
    assert label_of(Extraction(title="404 Not Found", text="An essay. " * 500)) == ""


def test_a_page_with_hardly_any_text_and_the_script_of_a_gate_is_one() -> None:
    script = parse("https://challenges.cloudflare.com/turnstile/v0/api.js", UrlConfig())
    assert script is not None
    links = [Link(target=script, kind=LinkKind.SCRIPT)]
    assert label_of(Extraction(title="example.org", text="", links=links)) == "challenge"
    assert label_of(Extraction(title="example.org", text="words " * 200, links=links)) == ""


def test_an_error_page_may_be_a_gate() -> None:
    body = b"<!doctype html><title>Just a moment...</title>"
    assert is_gate(403, body)
    assert not is_gate(404, body)
    assert not is_gate(403, b"<title>Forbidden</title>")
