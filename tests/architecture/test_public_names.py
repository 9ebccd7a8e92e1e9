"""What users may use."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penchant as pn
from penchant.models.catalogue import CATALOGUE

DESIGNED = {
    "Choices",
    "Episode",
    "GaussianPrior",
    "RewardPrior",
    "ScaledPrior",
    "UCL",
    "ask",
    "assist",
    "fit",
    "fit_each",
    "fit_linearized",
    "fit_population",
    "grid",
    "live",
    "scan",
    "simulate",
}
OFTEN_USED = {"GPUCB", "HyperbolicDiscounting", "KalmanFilter", "QLearning", "UCL"}
PARTS = {"datasets", "errors", "figures", "models", "paper", "results"}
MOST = 58  # names at the top, its parts among them: what one can read through on typing `pn.`
OF_AN_ESTIMATE = [
    "status",
    "message",
    "names",
    "theta",
    "covariance",
    "standard_errors",
    "log_likelihood",
    "interval",
    "parameters",
    "diagnostics",
    "summary",
    "to_frame",
    "to_dict",
    "to_latex",
    "predict",
]


def test_public_names_are_sorted_and_importable():
    assert list(pn.__all__) == sorted(set(pn.__all__))
    for name in pn.__all__:
        assert getattr(pn, name) is not None
    assert set(pn.__all__) <= set(dir(pn))


def test_the_names_that_others_build_on_exist():
    assert set(pn.__all__) >= DESIGNED | PARTS
    assert len(pn.__all__) <= MOST


@pytest.mark.parametrize("part", sorted(PARTS))
def test_the_names_of_a_part_are_sorted_and_importable(part):
    own = getattr(pn, part)
    assert list(own.__all__) == sorted(set(own.__all__))
    assert all(getattr(own, name) is not None for name in own.__all__)
    assert set(own.__all__) <= set(dir(own))


def test_all_models_stand_in_models_and_the_often_used_at_the_top():
    made = {entry.model.__name__ for entry in CATALOGUE.values()}
    assert made <= set(pn.models.__all__)
    assert made & set(pn.__all__) == OFTEN_USED


@pytest.mark.slow
def test_a_type_checker_knows_every_name_and_refuses_others(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed: pip install 'penchant[checks]'")
    script = tmp_path / "script.py"
    names = [name for name in pn.__all__ if name not in PARTS]
    names += [f"{part}.{n}" for part in sorted(PARTS) for n in getattr(pn, part).__all__]
    script.write_text(
        "import penchant as pn\n"
        + "".join(f"pn.{name}\n" for name in names)
        + "reveal_type(pn.QLearning(2))\nreveal_type(pn.models.UCB1(2))\n"
        + "pn.train\npn.models.Learner\n"
    )
    home = Path(pn.__file__).parents[1]  # mypy finds what is installed by itself, and only so
    found = {} if home.name == "site-packages" else {"MYPYPATH": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(script)],
        cwd=tmp_path,
        env=os.environ | found,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [
        line.split("script.py:", 1)[1] for line in done.stdout.splitlines() if "script.py:" in line
    ]
    assert [line.split(": ", 1)[1] for line in told] == [
        'note: Revealed type is "penchant.models.learning.q_learning.QLearning"',
        'note: Revealed type is "penchant.models.learning.ucb1.UCB1"',
        'error: Module has no attribute "train"  [attr-defined]',
        'error: Module has no attribute "Learner"  [attr-defined]',
    ]


@pytest.mark.parametrize("name", OF_AN_ESTIMATE)
def test_an_estimate_has_what_was_promised(name):
    assert name in pn.Estimate.__dataclass_fields__ or hasattr(pn.Estimate, name)


def test_arguments_have_their_names():
    arrays = inspect.signature(pn.Choices.from_arrays).parameters
    assert list(arrays)[:2] == ["explanatory", "chosen"]
    assert {"available", "weights", "offset", "subject", "names"} <= set(arrays)
    frame = inspect.signature(pn.Choices.from_frame).parameters
    assert {"decision", "option", "chosen", "explanatory", "weight", "subject"} <= set(frame)
    assert {"parameter_prior", "method"} <= set(inspect.signature(pn.fit).parameters)
    assert list(inspect.signature(pn.Estimate.interval).parameters)[1:3] == ["level", "kind"]


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'train'"):
        pn.train  # noqa: B018  # the attribute is asked for to see it refused


@pytest.mark.parametrize(
    ("name", "part"),
    [("SeparationError", "errors"), ("profile_curve", "results"), ("UCB1", "models")],
)
def test_a_name_that_lives_in_a_part_is_found_there_in_the_words_of_the_error(name, part):
    with pytest.raises(AttributeError, match=rf"'{name}'\. It is penchant\.{part}\.{name}\.$"):
        getattr(pn, name)
    assert hasattr(getattr(pn, part), name)
