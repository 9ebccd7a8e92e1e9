"""`penchant check`: what can be estimated, and nothing written."""

import json
import shlex

import numpy as np

from cli.conftest import contents
from cli.trips import HEADER, csv


def test_good_data_are_described_and_proven(penchant, folder):
    before = contents(folder)
    ended = penchant("check", "trips.csv")
    assert ended.code == 0
    assert "47 decisions" in ended.out
    assert "Status: converged." in ended.out
    assert "Identified directions: 2 of 2" in ended.out
    assert contents(folder) == before


def test_data_without_an_estimate_are_exit_code_1(penchant, folder, rows):
    (folder / "x.csv").write_text(csv([[*row, 5] for row in rows], [*HEADER, "same"]))
    ended = penchant("check", "x.csv", "--explanatory", "price,wait,same")
    assert ended.code == 1
    assert "Status: not identified" in ended.out
    assert "use --prior weak" in ended.out


def test_json_has_status_and_diagnostics(penchant):
    content = json.loads(penchant("check", "trips.csv", "--json").out)
    assert content["status"] == "converged"
    assert content["diagnostics"]["rank"] == 2


def test_subjects_are_counted_and_listed_by_what_is_wrong(penchant):
    ended = penchant("check", "--example", "menu")
    assert ended.code == 0
    assert "Subjects: 15 converged, 3 separated" in ended.out
    assert "separated: s05, s11, s17. For example s05: The choices are separated" in ended.out
    found = json.loads(penchant("check", "--example", "menu", "--json").out)
    assert [one["subject"] for one in found][:2] == ["s01", "s02"]


def test_offers_are_checked_with_their_model(penchant):
    ended = penchant("check", "--example", "delays", "--model", "hyperbolic")
    assert ended.code == 0
    assert "converged: 14 of 20." in ended.out
    assert "separated: s04, s09, s12, s17. For example s04: The choices are separated" in ended.out
    found = json.loads(
        penchant("check", "--example", "delays", "--model", "hyperbolic", "--json").out
    )
    assert {one["subject"]: one["status"] for one in found}["s15"] == "at a bound"


def test_offers_without_a_model_are_told_which(refused):
    assert "Add --model hyperbolic" in refused("check", "--example", "delays")


def test_gambles_without_losses_are_told_another_model(penchant, folder):
    rows = [[f"s{k % 2}", 4 + k % 3, 9 + k, 0.5, k // 2 % 2] for k in range(40)]
    text = csv(rows, ["subject", "sure_amount", "lottery_amount", "lottery_prob", "choice"])
    (folder / "gambles.csv").write_text(text)
    ended = penchant("check", "gambles.csv", "--model", "prospect")
    assert ended.code == 1
    words = " ".join(ended.out.split())
    assert "use expected utility, or losses=False. Else use --prior weak" in words
    assert "--interact" not in words
    given = ["--model", "prospect", "--settings", "losses=false"]
    assert penchant("check", "gambles.csv", *given).code == 0


def restless(folder, name="restless.csv"):
    """Payoffs from 20 to 96 of three options; 0 is not among them."""
    lines = ["subject,decision,chosen,reward"]
    for t in range(40):
        option = (t * t + t // 5) % 3
        lines.append(f"a,{t},{option},{20 + (37 * t + 11 * option) % 77}")
    (folder / name).write_text("\n".join(lines) + "\n")


def test_an_initial_value_outside_the_rewards_is_said(penchant, folder):
    restless(folder)
    ended = penchant("check", "restless.csv", "--model", "q-learning", "--initial-value", "0")
    assert ended.code == 0
    assert "Note: initial_value = 0 lies outside the rewards (2" in ended.out
    usual = penchant("check", "restless.csv", "--model", "q-learning").out
    assert ended.out.replace(" --initial-value 0.0", "") == usual
    said = " ".join(ended.out.split())
    assert "--settings initial_value=free" in said and "--settings initial_value=" in said
    found = " ".join(penchant("fit", "restless.csv", "--model", "q-learning").out.split())
    assert "initial_value = 0 lies outside the rewards" in found


def explored(folder, name, scale):
    """Twenty choices of places by each of four people, in two groups."""
    rng = np.random.default_rng(1)
    x, y = scale * rng.integers(0, 5, (2, 80))
    rows = zip(np.repeat(range(4), 20), np.tile(range(1, 21), 4), x, y, rng.normal(x), strict=True)
    lines = [f"{s},{t},{a:g},{b:g},{r:.3f},{'ab'[s % 2]}" for s, t, a, b, r in rows]
    (folder / name).write_text("\n".join(["id,trial,x,y,points,group", *lines]) + "\n")


def test_the_next_command_fits_a_table_with_places(penchant, folder):
    explored(folder, "places.csv", 1)
    for typed in ([], ["--grid", "5x5"], ["--model", "ucl", "--grid", "5x5"]):
        noise = ["--noise-variance", "2"] if "ucl" in typed else []
        out = json.loads(penchant("check", "places.csv", *typed, *noise, "--json").out)
        words = shlex.split(out["next"])
        assert words[:3] == ["penchant", "fit", "places.csv"]
        assert penchant(*words[1:]).code == 0
        assert "--prior" not in out["groups"]


def test_the_next_command_for_places_off_a_grid_is_where_to_read_on(penchant, folder):
    explored(folder, "places.csv", 0.3)
    out = json.loads(penchant("check", "places.csv", "--json").out)
    assert out["next"] == "penchant models gp-ucb"
    assert penchant(*out["next"].split()[1:]).code == 0
