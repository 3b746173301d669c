"""PageView: what the reader of HTML asks of a page, whether that was read as a tree or as rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from turbohtml import Namespace
from turbohtml import Node as TreeNode


class ElementView(Protocol):
    """An element of a page."""

    @property
    def tag(self) -> str:
        """Return its name."""

    @property
    def namespace(self) -> Namespace:
        """Return whether it is one of HTML, SVG or MathML."""

    @property
    def attrs(self) -> Mapping[str, str | list[str] | None]:
        """Return its attributes, in the order of the source."""

    @property
    def source_line(self) -> int | None:
        """Return the line of its start tag, from 1; None if it has none."""

    @property
    def text(self) -> str:
        """Return all text inside of it."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute; None if it has none of that name."""

    def find_all(self, tag: str, /) -> "Sequence[ElementView]":
        """Return the elements of a name inside of it."""


AnElement = TypeVar("AnElement", bound=ElementView)
AnElement_co = TypeVar("AnElement_co", bound=ElementView, covariant=True)


class PageView(Protocol[AnElement_co]):
    """A page: its elements by name, in the order of the source."""

    @property
    def children(self) -> Iterable[TreeNode]:
        """Return what it begins with: a doctype, if it has one."""

    def find_all(self, tag: str, /) -> Sequence[AnElement_co]:
        """Return the elements of a name."""

    def select(self, selector: str, /) -> Sequence[AnElement_co]:
        """Return the elements that a selector names."""
