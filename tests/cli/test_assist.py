"""Commands for the map in mind and for the machine that helps."""

import json

import numpy as np
import pytest

import penchant as pn
from penchant.cli.main import run

PLACES = pn.grid(5, 4)


@pytest.fixture
def play(tmp_path):
    """Two plays of one person on 5 x 4 tiles."""
    model = pn.UCL(locations=PLACES, noise_variance=9.0, length_scale=3.0)
    natural = {"decision_noise": 6.0, "prior_mean": 30.0, "prior_variance": 90.0}
    rng = np.random.default_rng(3)
    lines = ["subject,block,trial,choice,executed,reward"]
    for block in range(2):
        place = pn.Landscape(rng.normal(30, 9, 20), pn.GaussianNoise(9.0))
        episode = pn.simulate(place, model, natural, n_decisions=25, rng=rng)
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            lines.append(f"bo,{block},{t},{option},{option},{reward:.3f}")
    path = tmp_path / "play.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


ARGUMENTS = ["--grid", "5x4", "--shown", "0", "--noise-variance", "9", "--length-scale", "3"]


def test_believe_prints_a_map_and_writes_a_page(play, tmp_path, capsys):
    page = tmp_path / "map.html"
    code = run(["believe", str(play), *ARGUMENTS, "--map", "6", "--json", "-o", str(page)])
    (found,) = json.loads(capsys.readouterr().out)
    assert code == 0 and found["subject"] == "bo" and len(found["mean"]) == 20
    assert abs(sum(found["mean"])) < 1e-6
    text = page.read_text()
    assert "<svg" in text and "variance of the prior map removed" in text


def test_replay_says_what_the_machine_would_have_said(play, capsys):
    assert run(["assist", str(play), *ARGUMENTS, "--json"]) == 0
    out = capsys.readouterr()
    rows = json.loads(out.out)
    assert len(rows) == 50 and {row["episode"] for row in rows} == {0, 1}
    assert all(row["kind"] == "silent" for row in rows[:25])
    assert "tells nothing of rewards" in out.err


def test_what_does_not_belong_together_is_refused(play, capsys):
    assert run(["assist", str(play), "--grid", "5x4", "--noise-variance", "9"]) == 2
    assert "--length-scale must be given; got none" in capsys.readouterr().err
    assert run(["assist"]) == 2
    assert "FILE must be given; got none" in capsys.readouterr().err
    assert run(["believe", str(play), *ARGUMENTS, "--model", "q-learning"]) == 2
