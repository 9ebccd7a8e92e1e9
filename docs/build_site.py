"""Build the site and hold it to what it promises: python docs/build_site.py [FOLDER].

Sphinx builds it with every warning an error, and with no way to another host. Then every page is
read again: links between pages lead somewhere, and nothing is loaded from elsewhere.
"""

import argparse
import shutil
import socket
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parent
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "genindex"}


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, sources and names of one element."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get("rel") not in NOT_LOADED:
            self.loaded += [given[name] for name in given if (tag, name) in LOADED]


def build(folder: Path) -> int:
    """Build the site into a folder; the exit code of Sphinx."""
    from sphinx.cmd.build import build_main

    shutil.rmtree(folder / "_modules", ignore_errors=True)  # older links to sources stay in there
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: object) -> None:
        raise OSError(f"the build must not ask another host; got {address!r}")

    socket.socket.connect = refuse  # type: ignore[assignment, method-assign]
    try:
        words = ["-q", "-E", "-W", "--keep-going", "-b", "html", "-d", f"{folder}.doctrees"]
        return build_main([*words, str(DOCS), str(folder)])
    finally:
        socket.socket.connect = connect  # type: ignore[method-assign]


def problems(folder: Path) -> Iterator[str]:
    """What does not lead anywhere, and what another host would have to send."""
    files = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    for path, page in pages.items():
        where = path.relative_to(folder)
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{where}: loads {target} from another host"
        for target in {*page.links, *page.loaded}:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{where}: {target} leads nowhere"
            elif file in pages and unquote(parts.fragment) not in pages[file].places:
                yield f"{where}: {target} leads to no place on that page"


def main() -> int:
    """Build, look, and say what is wrong."""
    parser = argparse.ArgumentParser(description="Build the site, and check it.")
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS.parent / "build" / "site")
    folder = parser.parse_args().folder.resolve()
    if code := build(folder):
        return code
    found = sorted(problems(folder))
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    print(f"{folder / 'index.html'}: {len(list(folder.rglob('*.html')))} pages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
