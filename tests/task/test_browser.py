"""Whole sessions in a real browser: mouse, keyboard, phone, reload, off line, script in texts."""

import contextlib
import os
import shutil
import sqlite3
from importlib.resources import files

import pytest

pytest.importorskip("playwright.sync_api", reason="no browser: pip install 'penchant[browser]'")

from playwright.sync_api import sync_playwright

from task.conftest import PLAIN, TIMED, WHOLE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: chromium is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open a page; any dialog, error of the console or of a script fails the test."""
    contexts, troubles = [], []

    def _visit(address, **more):
        context = chromium.new_context(**more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)

        def dialog(one):
            troubles.append(f"dialog {one.message}")
            one.dismiss()

        def said(message):
            expected = "Failed to load resource" in message.text
            if message.type == "error" and not expected:
                troubles.append(message.text)

        page.on("dialog", dialog)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", said)
        page.goto(address)
        return page

    yield _visit
    for context in contexts:
        context.close()
    assert not troubles


def rows(tmp_path):
    with sqlite3.connect(tmp_path / "study.sqlite") as connection:
        query = "SELECT block, decision, option, reward FROM decisions ORDER BY 1, 2"
        return connection.execute(query).fetchall()


def check_accessible(page):
    """No serious violation that axe knows of."""
    pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], one["nodes"][0]["html"]) for one in serious]


def click_through(page, check=lambda page: None, tap="click"):
    """From the consent to the end of WHOLE, with the mouse or by touch."""
    page.wait_for_selector("text=I agree")
    check(page)
    page.click("text=I agree")
    for _ in range(2):
        page.wait_for_selector("text=Instructions")
        check(page)
        page.click("button:has-text('Continue')")
    page.wait_for_selector("fieldset")
    check(page)
    page.click("label:has-text('Points')")
    page.click("text=Check my answers")
    for block, count in ((0, 2), (1, 3)):
        page.wait_for_selector("button:has-text('Start')")
        check(page)
        page.click("button:has-text('Start')")
        page.wait_for_selector(".board .cell")
        check(page)
        for t in range(count):
            page.wait_for_selector(f"text=Choice {t + 1} of {count}")
            page.wait_for_selector(".board:not(.busy)")
            getattr(page.locator(".cell").nth(t), tap)()
        del block
    page.wait_for_selector("text=DONE-1")
    check(page)


def test_a_whole_session_by_mouse_without_serious_violations(process, visit, tmp_path):
    page = visit(process(WHOLE).address + "/?id=mouse")
    click_through(page, check_accessible)
    assert [row[:3] for row in rows(tmp_path)] == [
        (0, 0, 0),
        (0, 1, 1),
        (1, 0, 0),
        (1, 1, 1),
        (1, 2, 2),
    ]
    address = page.get_attribute("a.button", "href")
    assert address == "https://recruiter.example/complete?cc=DONE-1"


def test_a_whole_session_on_a_phone(process, visit, tmp_path):
    page = visit(process(WHOLE).address + "/?id=phone", **PHONE)
    widths = []

    def fits(page):
        widths.append(page.evaluate("document.documentElement.scrollWidth"))
        sizes = page.evaluate(
            "[...document.querySelectorAll('.cell, button')]"
            ".filter((e) => e.offsetParent).map((e) => Math.min(e.offsetWidth, e.offsetHeight))"
        )
        assert all(size >= 24 for size in sizes)

    click_through(page, fits, tap="tap")
    assert max(widths) <= 390 and len(rows(tmp_path)) == 5


def test_a_whole_session_by_keyboard_alone(process, visit, tmp_path):
    page = visit(process(WHOLE).address + "/?id=keys")
    press = page.keyboard.press
    page.wait_for_selector("text=I agree")
    press("Tab"), press("Enter")
    for number in (1, 2):
        page.wait_for_selector(f"text=Page {number} of 2")
        press("Tab"), press("Enter")
    page.wait_for_selector("fieldset")
    press("Tab"), press("Space"), press("ArrowDown"), press("Tab"), press("Enter")
    for count in (2, 3):
        page.wait_for_selector("button:has-text('Start')")
        press("Tab"), press("Enter")
        page.wait_for_selector(".board .cell:focus")
        assert page.locator(".cell[tabindex='0']").count() == 1
        for t in range(count):
            page.wait_for_selector(f"text=Choice {t + 1} of {count}")
            page.wait_for_selector(".board:not(.busy)")
            press("ArrowRight" if t != 1 else "End")
            press("Enter")
    page.wait_for_selector("text=DONE-1")
    assert [row[2] for row in rows(tmp_path)] == [1, 2, 1, 5, 5]


def test_a_reload_at_every_stage_changes_nothing(process, visit, tmp_path):
    page = visit(process(WHOLE).address + "/?id=again")

    def reload(page):
        before = page.inner_text("main")
        page.reload()
        page.wait_for_selector("h1")
        if "Instructions" not in before and "Choice" not in before:
            page.wait_for_function(
                "(text) => document.querySelector('main').innerText === text", arg=before
            )

    page.wait_for_selector("text=I agree")
    reload(page)
    page.click("text=I agree")
    page.wait_for_selector("text=Page 1")
    reload(page)
    page.click("text=Continue")
    page.wait_for_selector("text=Page 2")
    page.click("text=Continue")
    page.wait_for_selector("fieldset")
    reload(page)
    page.click("label:has-text('Points')")
    page.click("text=Check my answers")
    for count in (2, 3):
        page.wait_for_selector("button:has-text('Start')")
        reload(page)
        page.click("button:has-text('Start')")
        for t in range(count):
            page.wait_for_selector(f"text=Choice {t + 1} of {count}")
            page.wait_for_selector(".board:not(.busy)")
            page.locator(".cell").nth(t).click()
            if t + 1 < count:
                page.wait_for_selector(f"text=Choice {t + 2} of {count}")
                page.reload()
    page.wait_for_selector("text=DONE-1")
    reload(page)
    assert len(rows(tmp_path)) == 5


def test_off_line_a_choice_is_kept_and_sent_once(process, visit, tmp_path):  # S15
    page = visit(process(PLAIN).address + "/?id=off")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    page.context.set_offline(True)
    page.locator(".cell").nth(7).click()
    page.wait_for_selector("text=Reconnecting. Paused")
    page.locator(".cell").nth(8).click(force=True)
    page.wait_for_timeout(3000)
    assert rows(tmp_path) == []
    page.context.set_offline(False)
    page.wait_for_selector("text=Choice 2 of 4")
    assert page.is_hidden("#banner")
    assert [row[2] for row in rows(tmp_path)] == [7]


def test_a_server_that_starts_again_is_waited_for(process, visit, tmp_path):  # S16
    server = process(PLAIN)
    page = visit(server.address + "/?id=restart")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    server.kill()
    page.locator(".cell").nth(3).click()
    page.wait_for_selector("text=Reconnecting")
    process(PLAIN, port=server.port)
    page.wait_for_selector("text=Choice 2 of 4")
    assert [row[2] for row in rows(tmp_path)] == [3]


def test_a_double_click_is_one_choice(process, visit, tmp_path):
    page = visit(process(PLAIN).address + "/?id=double")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    page.locator(".cell").nth(7).dblclick()
    page.wait_for_selector("text=Choice 2 of 4")
    page.wait_for_timeout(500)
    assert len(rows(tmp_path)) == 1


def test_the_older_of_two_windows_is_told(process, visit, tmp_path):  # S14
    page = visit(process(PLAIN).address + "/?id=two")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".board:not(.busy) .cell")
    page.locator(".cell").nth(2).click()
    page.wait_for_selector("text=Open elsewhere")
    other.locator(".cell").nth(4).click()
    other.wait_for_selector("text=Choice 2 of 4")
    page.click("text=Go on here instead")
    page.wait_for_selector("text=Choice 2 of 4")
    assert [row[2] for row in rows(tmp_path)] == [4]


def test_a_fixed_pace_takes_the_mark_that_was_last(process, visit, tmp_path):
    page = visit(process(TIMED).address + "/?id=pace")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    page.locator(".cell").nth(2).click()
    page.locator(".cell").nth(5).click()
    assert page.get_attribute(".cell >> nth=5", "aria-selected") == "true"
    page.wait_for_selector("text=Thank you", timeout=30_000)
    found = rows(tmp_path)
    assert [row[2] for row in found] == [5, 5, 5, 5]
    with sqlite3.connect(tmp_path / "study.sqlite") as connection:
        flags = [
            flag for (flag,) in connection.execute("SELECT auto FROM decisions ORDER BY decision")
        ]
    assert flags == [0, 1, 1, 1]


def test_script_in_texts_is_text(process, visit):  # S51
    text = WHOLE.replace("You may stop at any time.", EVIL).replace('"Squares"', f'"{EVIL}"')
    for old in ("First page.", "What is asked?", "Nothing", "DONE-1", "lab@example.org"):
        new = EVIL if old != "DONE-1" else EVIL[:60]
        text = (
            text.replace(f'code = "{old}"', f'code = "{new}"')
            if old == "DONE-1"
            else text.replace(old, EVIL)
        )
    page = visit(process(text).address + "/?id=evil")
    page.wait_for_selector("text=I agree")
    assert page.inner_text(".text") == EVIL and page.locator("img").count() == 0
    page.click("text=I agree")
    page.wait_for_selector("text=Page 1")
    assert page.inner_text(".text") == EVIL
    page.click("text=Continue")
    page.wait_for_selector("text=Page 2")
    page.click("text=Continue")
    page.wait_for_selector("fieldset")
    assert page.locator("img, main script").count() == 0


def test_the_researchers_page_follows_a_person(process, visit):
    server = process(PLAIN)
    page = visit(server.address + "/?id=watched")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    watching = visit(server.address + "/researcher")
    watching.fill("input", "t" * 30)
    watching.click("text=Open")
    watching.wait_for_selector("tbody tr")
    watching.click("tbody tr button")
    page.locator(".cell").nth(6).click()
    watching.wait_for_selector(".map span.last:has-text('1')")
    check_accessible(watching)
    assert watching.evaluate("document.cookie") == ""


def test_a_withdrawal_deletes_and_says_so(process, visit, tmp_path):
    page = visit(process(PLAIN).address + "/?id=leaves")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy) .cell")
    page.locator(".cell").nth(1).click()
    page.wait_for_selector("text=Choice 2 of 4")
    page.click("text=Stop and delete my answers")
    page.click("dialog >> text=Delete my answers")
    page.wait_for_selector("text=Your answers have been deleted")
    assert rows(tmp_path) == []


def test_an_id_that_cannot_be_is_told(process, visit):
    with contextlib.suppress(AssertionError):
        page = visit(process(PLAIN).address + "/?id=a%20b")
    page.wait_for_selector("text=This link is not complete")


SUGGESTED = {
    "block": 0,
    "decision": 0,
    "proposed": 0,
    "kind": "suggest",
    "option": 9,
    "reason": "Near row 2, column 5 you found 26: 26 is expected there, and 3 at row 1, column 1.",
    "gain": [12.0, 23.0, 34.0],
    "p_better": 0.97,
    "p_accept": 0.4,
    "trust": 0.8,
    "map": [float(i % 5 - 2) for i in range(15)],
    "map_sd": [1.0 + i / 15 for i in range(15)],
    "ms": 2.0,
}
ASKED = PLAIN + '\nadvice = "suggest"\nadvice_mean = 15\nadvice_sd = 8\n'


def suggest(page):
    """The machine suggests square 9, whatever is proposed."""

    def answer(route):
        sent = route.request.post_data_json
        own = {"proposed": sent["option"], "decision": sent["decision"]}
        route.fulfill(json={**SUGGESTED, **own})

    page.route("**/api/v1/session/proposals", answer)
    page.wait_for_selector("button:has-text('Start')")
    page.click("button:has-text('Start')")
    page.wait_for_selector(".board:not(.busy)")


@pytest.mark.parametrize("more", [{}, PHONE], ids=["desk", "phone"])
def test_a_suggestion_leaves_the_own_choice_marked_and_first(process, visit, tmp_path, more):
    page = visit(process(ASKED).address + "/?id=advised", **more)
    suggest(page)
    assert "goes without assistance" in page.text_content(".announced")
    page.locator(".cell").nth(0).click()
    page.wait_for_selector(".advice button")
    assert page.locator(".cell.marked").get_attribute("data-option") == "0"
    assert page.locator(".cell.advised").get_attribute("data-option") == "9"
    assert "26 is expected there" in page.text_content("[role=status].live")
    words = page.locator(".advice button").all_text_contents()
    assert words == ["Keep mine: Row 1, column 1", "Take the other: Row 2, column 5"]
    assert page.evaluate("document.activeElement.textContent") == words[0]
    page.click(".advice summary")
    assert page.locator(".advice .map span").count() == 15
    assert "97 %" in page.text_content(".advice details")
    check_accessible(page)
    if more:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    folder = os.environ.get("PENCHANT_SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/advice-{'phone' if more else 'desk'}.png", full_page=True)
    page.click(".advice button >> nth=1")
    page.wait_for_selector("text=Choice 2 of 4")
    assert rows(tmp_path)[0][2] == 9 and page.locator(".advice").count() == 0


def test_a_suggestion_is_answered_by_keyboard_alone(process, visit, tmp_path):
    page = visit(process(ASKED).address + "/?id=keys")
    suggest(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".advice button")
    page.keyboard.press("Enter")  # the own choice is first
    page.wait_for_selector("text=Choice 2 of 4")
    page.wait_for_selector(".board:not(.busy)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".advice button")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Choice 3 of 4")
    assert [row[2] for row in rows(tmp_path)] == [1, 9]
