"""The grid as a plugin of jsPsych, in a real browser with the real library."""

import functools
import http.server
import json
import os
import shutil
import threading
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no browser: pip install 'penchant[browser]'")

from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIBRARY = os.environ.get("JSPSYCH")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: chromium is not installed"),
    pytest.mark.skipif(LIBRARY is None, reason="JSPSYCH names no index.browser.js of jsPsych"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def address(tmp_path):
    """The example page with its files beside it."""
    root = Path(__file__).parents[2]
    shutil.copy(root / "examples" / "task" / "jspsych.html", tmp_path / "index.html")
    shutil.copy(LIBRARY, tmp_path / "jspsych.js")
    for name in ("board.js", "dom.js", "jspsych-grid.js", "style.css"):
        text = files("penchant.task").joinpath("page", name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("mode", ["", "data-only", "visual"])
def test_a_block_is_a_trial_of_jspsych(address, mode):
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + (f"?simulate={mode}" if mode else ""))
        for option in (3, 9, 9, 0, 23) if not mode else ():
            page.wait_for_selector(".board:not(.busy) .cell")
            page.locator(".cell").nth(option).click()
            page.wait_for_timeout(100)
        page.wait_for_selector("body[data-data]", timeout=10_000)
        (trial,) = json.loads(page.get_attribute("body", "data-data"))
        browser.close()
    assert not errors
    assert len(trial["chosen"]) == len(trial["rewards"]) == len(trial["rts"]) == 5
    assert trial["total"] == sum(trial["rewards"]) and trial["auto"] == [False] * 5
    if not mode:
        assert trial["chosen"] == [3, 9, 9, 0, 23]
    assert trial["trial_type"] == "penchant-grid"
