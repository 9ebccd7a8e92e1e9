"""What holds for all figures: ordinary, single, empty and broken data; one style; nothing left."""

import subprocess
import sys
import threading
from functools import cache

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.text import Text

import penchant as pn
from penchant import figures
from penchant.figures.style import GREY, INK, PALE

NAN = np.nan
PLACES = np.array([[x, y] for y in range(3) for x in range(4)], dtype=float)
DATA = {
    "data_needed": ([25, 50, 100], [0.2, 0.55, 0.9]),
    "convergence": (
        [5, 10, 20, 40],
        [6.0, 4.8, 4.4, 4.1],
        [[1, 12], [2, 8], [3, 6], [3.5, 5]],
        [[2, 6], [2.5, 5.5], [3, 5], [3.4, 4.6]],
        4.0,
    ),
    "without_estimate": ([5, 10, 20], [0.62, 0.31, 0.04]),
    "profile_likelihood": ([1.0, 2.0, 3.0, 4.0], [-14.0, -11.0, -10.5, -13.0]),
    "heat_map": (np.arange(12.0) ** 1.3, PLACES),
    "choice_map": ([3, 3, 7, 11, 3], PLACES),
    "landscape_profile": (np.tile([3.0, 9.0, 4.0, 1.0], 3), PLACES),
    "interface": (PLACES,),
    "learning_curve": (
        [[3.0, 5.0, 8.0], [2.0, 6.0, 7.0]],
        [[3.0, 4.0, 9.0], [1.0, 6.0, 6.5], [2, 5, 8]],
    ),
    "regret_growth": ([3.0, 7.0, 9.0, 10.0], {"linear": [2.0, 5.0, 8.0, 11.0]}),
    "step_distances": ([0.0, 1.0, 1.0, 3.2], [1.0, 2.0]),
    "forest": ([3.1, 2.2, 5.7], [[2, 4], [1, 3], [4.5, 7]]),
    "parameter_scatter": ([3.1, 2.2, 5.7], [60.0, 31.0, 44.0]),
    "population": (["high", "low"], [3.2, 5.1], [[2.5, 4], [4, 6.5]]),
    "predicted_observed": ([0.1, 0.25, 0.6], [0.15, 0.2, 0.65]),
    "choice_probability": ([0.5, 4.0],),
    "predictive_intervals": (
        ["switches", "best"],
        [0.2, 0.9],
        [[0.3, 0.8], [0.25, 0.95], [0.1, 0.9]],
    ),
    "recovery": ([2.0, 3.0, 5.0, 7.0], [2.2, 2.7, 5.9, 6.8]),
    "confusion": ([[0.9, 0.1], [0.3, 0.7]], ["UCL", "Q-learning"]),
    "model_differences": ([3.5, -1.2, 8.0],),
    "model_totals": (["UCL", "Q-learning", "random"], [412.0, 431.5, 700.0]),
    "exceedance": (["UCL", "Q-learning"], [0.93, 0.07]),
}
EMPTY = {
    "data_needed": ([], []),
    "convergence": ([], []),
    "without_estimate": ([], []),
    "profile_likelihood": ([], []),
    "heat_map": ([], np.empty((0, 2))),
    "choice_map": ([], np.empty((0, 2))),
    "landscape_profile": ([], np.empty((0, 2))),
    "interface": (np.empty((0, 2)),),
    "learning_curve": (np.empty((0, 0)),),
    "regret_growth": ([],),
    "step_distances": ([], []),
    "forest": ([],),
    "parameter_scatter": ([], []),
    "population": ([], []),
    "predicted_observed": ([], []),
    "choice_probability": ([],),
    "predictive_intervals": ([], [], np.empty((0, 0))),
    "recovery": ([], []),
    "confusion": (np.empty((0, 0)), []),
    "model_differences": ([],),
    "model_totals": ([], []),
    "exceedance": ([], []),
}
ONE = {
    "data_needed": ([25], [0.2]),
    "convergence": ([8], [4.2], [[3, 6]], [[2, 5]], 4.0),
    "without_estimate": ([5], [0.4]),
    "profile_likelihood": ([2.0], [-10.0]),
    "heat_map": ([5.0], [[1.0, 2.0]]),
    "choice_map": ([0], [[1.0, 2.0]]),
    "landscape_profile": ([5.0], [[1.0, 2.0]]),
    "interface": ([[1.0, 2.0]],),
    "learning_curve": ([[3.0]], [[2.0]]),
    "regret_growth": ([3.0],),
    "step_distances": ([2.0],),
    "forest": ([3.0],),
    "parameter_scatter": ([3.0], [60.0]),
    "population": (["all"], [3.0]),
    "predicted_observed": ([0.0], [0.0]),
    "choice_probability": (2.0,),
    "predictive_intervals": (["switches"], [0.2], [[0.3]]),
    "recovery": ([3.0], [3.5]),
    "confusion": ([[1.0]], ["UCL"]),
    "model_differences": ([3.0],),
    "model_totals": (["UCL"], [400.0]),
    "exceedance": (["UCL"], [1.0]),
}
UNKNOWN = {
    "data_needed": ([25, NAN], [NAN, 0.4]),
    "convergence": ([5, 10], [NAN, np.inf], [[NAN, NAN], [-np.inf, np.inf]]),
    "without_estimate": ([5, 10], [NAN, NAN]),
    "profile_likelihood": ([1.0, 2.0], [NAN, -np.inf]),
    "heat_map": ([NAN] * 12, PLACES),
    "choice_map": ([-1, -1], PLACES),
    "landscape_profile": ([NAN] * 12, PLACES),
    "interface": (PLACES,),
    "learning_curve": ([[NAN, NAN]], [[NAN, NAN]]),
    "regret_growth": ([NAN, NAN],),
    "step_distances": ([NAN], [NAN]),
    "forest": ([NAN, np.inf, -np.inf],),
    "parameter_scatter": ([NAN, 1.0, np.inf], [2.0, NAN, 3.0]),
    "population": (["high", "low"], [NAN, np.inf]),
    "predicted_observed": ([NAN, 0.5], [0.2, NAN]),
    "choice_probability": ([NAN],),
    "predictive_intervals": (["switches"], [NAN], [[NAN]]),
    "recovery": ([2.0, 3.0], [NAN, np.inf]),
    "confusion": ([[NAN, NAN], [0.2, 0.8]], ["UCL", "Q-learning"]),
    "model_differences": ([NAN, np.inf],),
    "model_totals": (["UCL", "random"], [NAN, np.inf]),
    "exceedance": (["UCL", "random"], [NAN, NAN]),
}
NOT_A_FIGURE = {"PALETTE", "figure", "inline_svg", "series_style", "save", "style"}
ON_OTHERS = {  # thin layers, and people under their population: tested beside what they use
    "belief_map",
    "choices_and_belief",
    "coefficients",
    "overview",
    "population_density",
    "profile",
    "shrinkage",
}
everyone = pytest.mark.parametrize("name", sorted(DATA))


def drawn(name, data=DATA, **options):
    canvas = figures.figure()
    axes = canvas.subplots()
    return canvas, getattr(figures, name)(axes, *data[name], **options)


KINDS = {"some": DATA, "one": ONE, "nan": UNKNOWN, "empty": EMPTY}


@cache
def seen(name, kind):
    """A figure to look at; drawn once, whoever looks."""
    return drawn(name, KINDS[kind])


def test_every_figure_is_tested_here():
    assert set(figures.__all__) - NOT_A_FIGURE - ON_OTHERS == set(DATA)
    assert set(DATA) == set(EMPTY) == set(ONE) == set(UNKNOWN)


@everyone
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_returns_its_axes_and_can_be_printed(name, kind):
    canvas, axes = seen(name, kind)
    assert isinstance(axes, Axes)
    assert axes.figure is canvas
    with figures.style():
        canvas.draw_without_rendering()


@everyone
def test_an_empty_figure_says_so(name):
    _, axes = seen(name, "empty")
    assert "no data" in [text.get_text() for text in axes.texts]
    assert not axes.lines or name in ("choice_probability",)


def colours(canvas):
    """Colours of all lines, shapes and letters, save those of maps of values."""
    found = set()
    for artist in canvas.findobj():
        if getattr(artist, "get_array", lambda: None)() is not None or not artist.get_visible():
            continue
        if not isinstance(artist.axes, Axes) or artist.axes.get_label() == "<colorbar>":
            continue
        for kind in ("get_color", "get_markerfacecolor", "get_facecolor", "get_edgecolor"):
            value = getattr(artist, kind, lambda: [])()
            rows = [value] if isinstance(value, str) else np.atleast_2d(value)
            found |= {to_hex(row).upper() for row in rows if len(row)}
    return found


@everyone
def test_all_colours_are_those_of_the_palette(name):
    canvas, _ = seen(name, "some")
    allowed = {*figures.PALETTE, INK, GREY, PALE, "#FFFFFF", "#F2F2F2"}
    assert colours(canvas) <= {one.upper() for one in allowed}


@everyone
def test_letters_are_legible_in_print(name):
    canvas, _ = seen(name, "nan")
    sizes = [text.get_fontsize() for text in canvas.findobj(Text) if text.get_text()]
    assert min(sizes, default=7) >= 7


@everyone
def test_drawing_changes_no_settings_and_no_data(name):
    given = [np.array(value) for value in DATA[name] if not isinstance(value, dict)]
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.size": 20.0}):
        drawn(name)
        assert matplotlib.rcParams["lines.linewidth"] == 7.0
    assert dict(matplotlib.rcParams) == before
    after = [np.array(value) for value in DATA[name] if not isinstance(value, dict)]
    for one, other in zip(given, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@everyone
def test_the_users_own_settings_do_not_change_a_figure(name):
    usual = figures.inline_svg(drawn(name)[0])
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.size": 20.0, "axes.grid": True}):
        assert figures.inline_svg(drawn(name)[0]) == usual


def test_settings_of_the_user_do_not_show():
    usual = figures.inline_svg(drawn("recovery")[0])
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.family": "serif", "axes.grid": True}):
        assert figures.inline_svg(drawn("recovery")[0]) == usual


def test_a_figure_can_be_drawn_on_axes_made_elsewhere():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    figures.forest(axes, *DATA["forest"])
    assert not axes.spines["top"].get_visible()


def test_figures_are_loaded_at_first_use_and_without_pyplot():
    code = (
        "import sys, penchant as pn\n"
        "assert 'penchant.figures' not in sys.modules\n"
        "pn.figures\n"
        "assert 'matplotlib' not in sys.modules and 'scipy' not in sys.modules\n"
        "axes = pn.figures.figure().subplots()\n"
        "pn.figures.forest(axes, [1.0, 2.0])\n"
        "pn.figures.inline_svg(axes.figure)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_first_figure_ever_is_quiet(tmp_path):
    code = "import penchant as pn; pn.figures.figure().subplots()"
    unwritable = {"MPLCONFIGDIR": str(tmp_path / "new"), "PATH": "", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=unwritable
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_threads_draw_the_same_as_one():
    usual = figures.inline_svg(drawn("forest")[0])
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(figures.inline_svg(drawn("forest")[0])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [usual] * 4


def test_figures_are_a_public_part():
    assert pn.figures is figures
    assert "figures" in pn.__all__
    assert list(figures.__all__) == sorted(figures.__all__)


def test_a_figure_of_something_else_is_refused():
    with pytest.raises(pn.errors.DataError, match="result must be of recover, recover_models"):
        figures.overview([1.0, 2.0])


def test_a_whole_figure_is_made_of_a_result():
    tried = pn.design(
        pn.models.RandomChoice(2),
        pn.Task(pn.Landscape([0.0, 0.0], pn.GaussianNoise(1.0)), 1),
        {"bias_0": 0.0},
        goal=pn.NarrowIntervals("bias_0", 1.0, most=50),
        n_subjects=3,
        rng=np.random.default_rng(0),
    )
    (axes,) = figures.overview(tried).axes
    assert "trials" in axes.get_xlabel()


def test_everybody_is_drawn_below_each_other_each_parameter_on_its_axis():
    reading = pn.read(pn.datasets.load("delays"))
    estimates = pn.fit_each(reading, pn.HyperbolicDiscounting(), parameter_prior=pn.ScaledPrior())
    noise, rate = figures.overview(estimates).axes
    assert (noise.get_xscale(), rate.get_xscale()) == ("log", "log")
    shown = [tick.get_text() for tick in noise.get_yticklabels()]
    assert shown == [tick.get_text() for tick in rate.get_yticklabels()]
    order = np.argsort([e["temperature"].estimate for e in estimates])
    assert shown == [str(estimates.subjects[i]) for i in order]
    first = figures.overview(estimates[0]).axes
    assert [tick.get_text() for tick in first[0].get_yticklabels()] == [str(estimates.subjects[0])]


def test_weights_of_choices_are_drawn_below_each_other():
    table = pn.datasets.load("menu")
    names = ["price", "quality"]
    parts = {"decision": "decision", "option": "option", "chosen": "chosen", "explanatory": names}
    (axes,) = figures.overview(pn.fit(pn.Choices.from_frame(table, **parts))).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == names
    assert axes.get_xlabel() == "weight"
