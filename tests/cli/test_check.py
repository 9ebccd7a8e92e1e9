"""`penchant check`: what can be estimated, and nothing written."""

import json

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
    ended = penchant("check", "x.csv")
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
    assert (
        "use --model expected-utility, or --settings losses=false. Else use --prior weak" in words
    )
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
    chosen = penchant("check", "restless.csv", "--model", "q-learning").out
    assert "Note: Q-learning, 3 options, initial value estimated (0 is not among the rew" in chosen
    found = penchant("fit", "restless.csv", "--model", "q-learning").out
    assert "initial value estimated (0 is not among the rewards" in " ".join(found.split())
    assert "initial_value" in found
