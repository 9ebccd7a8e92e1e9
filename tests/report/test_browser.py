"""The report in a real browser: it renders, asks the network for nothing, and runs no script."""

import json
import re
import shutil
import subprocess
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from penchant.report.page import DataTable, Section, render_page
from small_study import study, table

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for found in map(shutil.which, NAMES) if found), None)
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("browser") / "out"
    return study(table()).write(place, figures="svg")


def browse(uri, folder, *arguments):
    command = [BROWSER, *QUIET, f"--user-data-dir={folder / 'profile'}", *arguments]
    ended = subprocess.run([*command, uri], capture_output=True, text=True, timeout=120, check=True)
    return ended


def test_the_page_is_built_without_an_error_on_the_console(report, tmp_path):
    ended = browse(report.as_uri(), tmp_path, "--dump-dom", "--enable-logging=stderr", "--v=0")
    assert "How to reproduce this report" in ended.stdout
    assert ended.stdout.count('role="img"') >= 6
    assert "CONSOLE" not in ended.stderr


def asked(uri, folder):
    """Hosts that the browser asks for anything while it shows a page, its own errands included."""
    log = folder / "net.json"
    errands = "--disable-features=NetworkTimeServiceQuerying"
    browse(uri, folder, "--dump-dom", f"--log-net-log={log}", errands)
    events = json.loads(log.read_text())["events"]
    urls = [event["params"].get("url", "") for event in events if "params" in event]
    return {urlsplit(url).netloc for url in urls if url.startswith(("http", "ws", "ftp"))}


def asked_by(page, folder):
    """Hosts that a page without scripts asks: it has to name them, errands of the browser not."""
    text = page.read_text(encoding="utf-8")
    return {host for host in asked(page.as_uri(), folder) if host in text}


def test_nothing_is_asked_of_the_network(report, tmp_path):
    assert asked_by(report, tmp_path) == set()
    asking = tmp_path / "asking.html"
    asking.write_text('<!doctype html><img src="http://127.0.0.1:9/x.png">', encoding="utf-8")
    assert asked_by(asking, tmp_path) == {"127.0.0.1:9"}


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fills_a_phone_and_a_desk(report, tmp_path, width):
    picture = tmp_path / "page.png"
    browse(report.as_uri(), tmp_path, f"--screenshot={picture}", f"--window-size={width},1600")
    from PIL import Image

    with Image.open(picture) as image:
        assert image.size == (width, 1600)
        grey = image.convert("L")
        assert grey.getextrema()[0] < 80  # letters
        # something is written in every fifth of the page
        for top in range(0, 1600, 320):
            assert grey.crop((0, top, width, top + 320)).getextrema()[0] < 160


WIDTHS = """<script>
const wide = [...document.querySelectorAll("body *")].filter(one => {
  const box = one.getBoundingClientRect();
  const held = one.closest(".scroll, .whole, details, svg");
  return box.right > innerWidth + 1 && box.width > 0 && !held;
});
const stacks = [...document.querySelectorAll(".stack")].filter(one => one.offsetHeight > 0);
const beside = stacks.filter(one => {
  const boxes = [...one.children].map(panel => panel.getBoundingClientRect());
  return boxes.some((box, i) => i && box.top < boxes[i - 1].bottom - 1);
});
const tables = [...document.querySelectorAll(".scroll")];
document.title = [
  document.documentElement.scrollWidth, innerWidth, wide.length, stacks.length, beside.length,
  tables.filter(one => one.scrollWidth > one.clientWidth).length,
].join(" ");
</script></body>"""


def measured(text, tmp_path, width):
    """What a page of this width measures, in a frame: a window is 500 wide at least."""
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text).group()
    (tmp_path / "measured.html").write_text(text.replace(policy, "").replace("</body>", WIDTHS))
    framed = tmp_path / "framed.html"
    framed.write_text(
        f'<iframe id="f" src="measured.html" width="{width}" height="900" style="border:0"'
        ' onload="document.title = this.contentDocument.title"></iframe>'
    )
    local = "--allow-file-access-from-files"
    ended = browse(framed.as_uri(), tmp_path, "--dump-dom", local, "--window-size=1400,1000")
    title = re.search(r"<title>([\d ]+)</title>", ended.stdout).group(1)
    return map(int, title.split())


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_but_tables_is_wider_than_the_page_and_panels_stack(report, tmp_path, width):
    found = measured(report.read_text(), tmp_path, width)
    page, inner, wider, stacks, beside, scrolling = found
    assert inner == width and page <= width
    assert wider == 0 and beside == 0
    assert (stacks > 3, scrolling > 3) == ((True, True) if width == 390 else (False, False))


def test_tables_of_groups_with_long_names_fit_a_desk_and_scroll_on_a_phone(tmp_path):
    names = [
        "cannabis use disorder, heavy users (20+ days a month)",
        "healthy controls matched for age, sex and education",
        "first_degree_relatives",
    ]
    header = ["parameter", "first", "second", "Hedges' g", "95 % interval", "t (df)", "p", "ranked"]
    header += ["first higher", "rank p", "adjusted"]
    numbers = ["-0.4134", "-0.5984 to -0.2284", "-0.812 (17.9)", "<0.001", "10, 10", "0.047"]
    rows = [
        ["constant of None of these", one, other, *numbers, "0.001", "<0.001"]
        for one, other in pairwise(names)
    ]
    pairs = DataTable("Pairs", header, rows, text_columns=frozenset((0, 1, 2)))
    made = render_page("Groups", "", [Section("Groups", [pairs])])
    for width in (390, 1280):
        *_, scrolling = measured(made, tmp_path, width)
        assert scrolling == (width == 390)


def test_stacked_panels_show_the_data(report, tmp_path):
    picture = tmp_path / "page.png"
    browse(report.as_uri(), tmp_path, f"--screenshot={picture}", "--window-size=390,9000")
    from PIL import Image

    with Image.open(picture) as image:
        colours = image.convert("RGB").getcolors(10**7)
    blue = sum(n for n, (r, g, b) in colours if b > r + 60 and b > 120)
    assert blue > 20_000, blue  # points, lines and tiles; links and letters are much less


def test_the_page_prints(report, tmp_path):
    paper = tmp_path / "page.pdf"
    browse(report.as_uri(), tmp_path, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
