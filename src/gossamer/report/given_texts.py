"""Given texts: what files say, read by the same processors that read what we crawl."""

import mimetypes
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.model import Document
from gossamer.process import CarriedBody, Registry, Tools, language_of
from gossamer.urls import parse

MOST_FILE_BYTES = 256 << 20
_MARKDOWN = {".md": "text/markdown", ".markdown": "text/markdown", ".mkd": "text/markdown"}
_TARGETS = re.compile(r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
"""Where a link of Markdown leads: not what a reader reads."""


class FileText(Struct, frozen=True):
    """What a file says, or why nothing was read of it."""

    name: str
    text: str = ""
    problem: str = ""


class GivenDocument(Struct, frozen=True, kw_only=True):
    """What a file says, or how an image looks: that to which others shall be like."""

    text: str = ""
    title: str = ""
    language: str = ""
    hash: int = 0
    """Perceptual hash of an image; 0 if it is none."""


def read_document(body: bytes, name: str) -> GivenDocument:
    """Return what a document is, by its name and first bytes: text, HTML, PDF or an image.

    Raise `ConfigError` if there is nothing that others could be like.
    """
    registry = _registry()
    document = _document(Path(name), body)
    media_type = registry.media_type(document)
    found = registry.read(document, media_type)
    hashed = found.notes.get("dct_hash")
    if isinstance(hashed, str):
        return GivenDocument(hash=int(hashed, 16))
    if media_type.startswith("image/"):
        why = "; ".join(found.errors) or "it is a plain area, too large, or of another kind"
        raise ConfigError(f"{name} has no perceptual hash ({why}); expected PNG, JPEG, GIF or WebP")
    if not found.text.strip():
        why = "; ".join(found.errors) or f"it has no text that can be read ({media_type})"
        raise ConfigError(f"{name}: {why}; expected a text, HTML, a PDF or an image")
    return GivenDocument(text=found.text, title=found.title, language=found.language)


def plain_text(text: str) -> GivenDocument:
    """Return a text as a document. It is never taken for anything else: no parser reads it."""
    if not text.strip():
        raise ConfigError("the given text has no words; expected some")
    return GivenDocument(text=text, language=language_of(text))


def read_given(path: Path) -> GivenDocument:
    """Return what a file is; raise `ConfigError` if it cannot be read."""
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            raise ConfigError(f"{path} is larger than {MOST_FILE_BYTES >> 20} MiB")
        body = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a file") from error
    return read_document(body, str(path))


def read_files(paths: Sequence[Path]) -> Iterator[FileText]:
    """Yield the text of files, and of all files in folders, hidden ones apart; in order of names.

    Plain text, Markdown, HTML, PDF and whatever else processors are installed for are told apart by
    their names and first bytes.
    """
    registry = _registry()
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path} does not exist; expected a file or folder with texts")
        for file in _files_in(path):
            yield _read_file(file, str(file), registry)


def _registry() -> Registry:
    config = Config()
    tools = Tools(urls=config.urls, process=config.process, robots_agent=config.fetch.robots_agent)
    return Registry.load(tools)


def _files_in(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path).parts
        if file.is_file() and not any(part.startswith(".") for part in inside):
            yield file


def _read_file(path: Path, name: str, registry: Registry) -> FileText:
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            return FileText(name, problem=f"it is larger than {MOST_FILE_BYTES >> 20} MiB")
        body = path.read_bytes()
    except OSError as error:
        return FileText(name, problem=error.strerror or str(error))
    document = _document(path, body)
    media_type = registry.media_type(document)
    found = registry.read(document, media_type)
    if not found.text.strip():
        why = "; ".join(found.errors) or f"it has no text that can be read ({media_type})"
        return FileText(name, problem=why)
    is_markdown = path.suffix.lower() in _MARKDOWN
    return FileText(name, _TARGETS.sub("]", found.text) if is_markdown else found.text)


def _document(path: Path, body: bytes) -> Document:
    """Return a file as a document that nobody sent."""
    url = parse("file:///given", Config().urls)
    if url is None:  # it is a constant
        raise ConfigError(f"{path} cannot be read")
    guessed = _MARKDOWN.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
    return Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=CarriedBody(body),
        request=b"",
        address="",
        fetched_at=0.0,
        latency_s=0.0,
        media_type=guessed or "",
    )
