"""Parses a page as a browser would and reports what could run, load from elsewhere, or escape its context."""

from __future__ import annotations

import re
from html.parser import HTMLParser

ADDRESSES = {"href", "src", "action", "formaction", "poster", "data", "srcdoc", "xlink:href", "ping", "background"}
NEVER = {"iframe", "object", "embed", "base", "applet", "frame", "frameset", "foreignobject", "animate", "math"}
READ = {"title", "aria-label", "alt", "placeholder", "label"}
AWAY = re.compile(r"https?://|mailto:")
REVEALS_NOTHING = {"noopener", "noreferrer", "nofollow"}
CONTROL = re.compile(r"[\x00-\x20]")


class PageReader(HTMLParser):
    """`dangers` is empty for a page that a strict policy allows; `text` is what it shows, with the attributes that
    readers see or hear and without what fields hold to be edited, `data` its JSON blocks, and `away` its links to other
    sites that reveal nothing of this one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.dangers: list[str] = []
        self.text: list[str] = []
        self.data: list[str] = []
        self.away: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside = tag if tag in ("script", "style", "textarea") else ""
        if tag in NEVER:
            self.dangers.append(f"<{tag}>")
        if tag == "script" and "src" not in given:
            self._inside = "json" if given.get("type") == "application/json" else "script"
        if tag == "meta" and "http-equiv" in given:
            self.dangers.append("<meta http-equiv>")
        if tag == "a" and AWAY.match(given.get("href", "")) and set(given.get("rel", "").split()) >= REVEALS_NOTHING:
            self.away.append(given.pop("href"))
        for name, value in given.items():
            self._check(tag, name, value)
        self.text += [value for name, value in given.items() if name in READ]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._inside = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "json":
            self.data.append(data)
        elif self._inside in ("script", "style") and data.strip():
            self.dangers.append(f"inline <{self._inside}>: {data[:60]!r}")
        elif self._inside != "textarea":
            self.text.append(data)

    def _check(self, tag: str, name: str, value: str) -> None:
        if name.startswith("on") or name in ("style", "srcdoc"):
            self.dangers.append(f"<{tag} {name}={value[:60]!r}>")
        if name in ADDRESSES and not _stays_here(value, is_image=tag == "img"):
            self.dangers.append(f"<{tag} {name}={value[:60]!r}>")


def _stays_here(address: str, *, is_image: bool) -> bool:
    """A path, a query or an anchor of this site; a picture may carry its data."""
    plain = CONTROL.sub("", address).lower()
    if is_image and plain.startswith("data:image/"):
        return True
    return not plain.startswith(("//", "/\\", "\\")) and not re.match(r"[a-z][a-z0-9+.\-]*:", plain)


def read_page(html: str) -> PageReader:
    reader = PageReader()
    reader.feed(html)
    reader.close()
    return reader
