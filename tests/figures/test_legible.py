"""What is written can be read: names whole and apart, plain numbers, legends off the data."""

import re
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from penchant import figures
from penchant.figures.axis_limits import AxisScale
from penchant.figures.label_text import (
    FONT_SIZE,
    axis_label,
    break_lines,
    display_name,
    format_tick,
    labelled_row_height_inches,
    text_width,
    wrap_text,
)
from penchant.figures.style import grow_figure_for_legends

LONG = [
    "cannabis use disorder, heavy users (at least 20 days a month)",
    "healthy controls matched for age, sex and education",
    "participants of the follow-up after twelve months",
]
SIX = [
    f"{drug} {time} session" for drug in ("placebo", "levodopa", "drug C") for time in ("1", "2")
]
MODELS = ["Q-learning with two learning rates and forgetting", "win-stay-lose-shift", "UCL"]


def finished(canvas):
    with figures.style():
        canvas.draw_without_rendering()
        if any(axes.get_aspect() != "auto" for axes in canvas.axes):
            canvas.draw_without_rendering()  # square axes have their places the second time
    return canvas


def box(text):
    """The corners of a text, turned as it is, a little smaller than it."""
    angle = text.get_rotation()
    place, anchor = text.get_window_extent(), text.get_position()
    if not angle % 90:
        x0, y0, x1, y1 = place.extents
        return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    at = text.get_transform().transform(anchor)
    text.set_rotation(0)
    x0, y0, x1, y1 = text.get_window_extent().extents
    text.set_rotation(angle)
    turn = np.radians(angle)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return (np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) - at) @ matrix.T + at


def apart(first, second):
    """Whether a line divides two convex shapes: along one of their sides, if at all."""
    for corners in (first, second):
        for side in np.roll(corners, -1, axis=0) - corners:
            across = np.array([-side[1], side[0]])
            a, b = first @ across, second @ across
            if a.max() <= b.min() + 1e-6 or b.max() <= a.min() + 1e-6:
                return True
    return False


def overlapping(texts):
    shown = [text for text in texts if text.get_text().strip() and text.get_visible()]
    return [
        (one.get_text(), other.get_text())
        for one, other in combinations(shown, 2)
        if not apart(box(one), box(other))
    ]


def written(axes):
    """All that is written at and above axes."""
    legend = axes.get_legend()
    titles = [axes.title, axes._left_title, axes._right_title]
    named = [axes.xaxis.label, axes.yaxis.label]
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        shown = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        named += [label for place, label in shown if low <= place <= high]
    return [*titles, *named, *axes.texts, *(legend.get_texts() if legend else [])]


def words(text):
    return "".join(text.split())


def population(n, columns, height, panels=1, count="n = 12 of 13"):
    names = (LONG if n <= 3 else SIX)[:n]
    canvas = figures.figure(columns=columns, height=height)
    axes = canvas.subplots(1, panels, squeeze=False)[0][0]
    labels = [f"{name}\n({count})" for name in names]
    people = [np.linspace(0.3, 0.4, 12)] * n
    figures.population(axes, labels, [0.34] * n, subjects=people, p_values={(0, 1): 0.03})
    return finished(canvas), axes, labels


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize(("columns", "height", "panels"), [(1, 2.6, 1), (2, 3.0, 1), (2, 2.6, 2)])
def test_names_of_groups_are_whole_and_apart(n, columns, height, panels):
    _, axes, labels = population(n, columns, height, panels)
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert [words(one) for one in shown] == [words(one) for one in labels]
    assert not overlapping(written(axes))


def test_a_name_too_long_for_any_place_loses_its_end_and_keeps_its_count():
    canvas = figures.figure()
    axes = canvas.subplots()
    names = [f"{letter * 150} (n = 12)" for letter in "abcdef"]
    figures.population(axes, names, np.arange(1.0, 7.0))
    for tick, letter in zip(axes.get_xticklabels(), "abcdef", strict=True):
        assert re.fullmatch(rf"{letter}+…\(n=12\)", words(tick.get_text()))
    finished(canvas)
    assert not overlapping(written(axes))


@pytest.mark.parametrize(("n", "height"), [(1, 2.0), (12, 2.6), (40, 7.0), (40, 3.0), (80, 3.0)])
def test_names_of_subjects_are_whole_and_apart_or_not_there(n, height):
    canvas = figures.figure(height=height)
    names = [f"participant-{i:03d}-session-2" for i in range(n)]
    values = np.geomspace(0.02, 40, n)
    ends = np.column_stack([values / 2, values * 2])
    axes = figures.forest(
        canvas.subplots(), values, ends, labels=names, logarithmic=True, name="temperature"
    )
    shown = [tick.get_text() for tick in axes.get_yticklabels()]
    assert [words(one) for one in shown] == (names if (n, height) != (40, 3.0) and n < 46 else [])
    assert axes.get_ylabel() == ("" if shown else f"{n} subjects")
    assert not overlapping(written(finished(canvas).axes[0]))


@pytest.mark.parametrize(
    "name", ["confusion", "model_totals", "exceedance", "predictive_intervals"]
)
def test_names_of_models_are_whole_and_apart(name):
    data = {
        "confusion": (np.eye(3), MODELS),
        "model_totals": (MODELS, [412.0, 431.5, 700.0]),
        "exceedance": (MODELS, [0.9, 0.06, 0.04]),
        "predictive_intervals": (MODELS, [0.2, 0.9, 0.4], np.random.default_rng(1).random((9, 3))),
    }
    canvas = figures.figure(height=2.8)
    options = {"counts": [200] * 3} if name == "confusion" else {}
    axes = getattr(figures, name)(canvas.subplots(), *data[name], **options)
    said = [words(tick.get_text()) for tick in axes.get_yticklabels()]
    assert all(any(words(model) in one for one in said) for model in MODELS)
    finished(canvas)
    texts = [text for text in written(axes) if text not in axes.texts]
    assert not overlapping(texts)


ENDS = [(0.013, 42.0), (0.1, 9.0), (0.21, 0.83), (1e-4, 1e5), (3.1, 4.2), (0.05, 3e4), (2e-7, 3e8)]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(("which", "panels"), [("x", 1), ("x", 3), ("y", 1)])
def test_numbers_of_a_logarithmic_axis_read_plainly_and_stand_apart(ends, which, panels):
    canvas = figures.figure(columns=2 if panels > 1 else 1)
    axes = canvas.subplots(1, panels, squeeze=False)[0][0]
    AxisScale(*ends, logarithmic=True).apply(axes, which)
    finished(canvas)
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = ends
    shown = [
        (place, label)
        for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if low <= place <= high
    ]
    assert len(shown) >= 2
    for place, label in shown:
        if 1e-4 <= place <= 1e5:
            assert float(label.get_text()) == pytest.approx(place)
            assert re.fullmatch(r"\d+(\.\d+)?", label.get_text())
        else:
            assert re.fullmatch(r"\$(\d\\times)?10\^\{-?\d+\}\$", label.get_text())
    assert not any(label.get_text() for label in axis.get_minorticklabels())
    assert not overlapping([label for _, label in shown])


def test_numbers_of_a_linear_axis_read_plainly():
    canvas = figures.figure()
    axes = figures.forest(canvas.subplots(), [0.0004, 0.0009])
    finished(canvas)
    assert axes.xaxis.get_offset_text().get_text() == ""
    shares = figures.step_distances(figures.figure().subplots(), [0.0, 1.0, 1.0, 3.0])
    assert format_tick(0.1 + 0.2) == "0.3"
    assert shares.yaxis.get_major_formatter()(0.1, 0) == "10 %"


def scattered(canvas, n_groups):
    rng = np.random.default_rng(5)
    x, y = rng.lognormal(0, 1, 60), rng.uniform(0, 1, 60)
    groups = [(LONG if n_groups < 4 else SIX)[i % n_groups] for i in range(60)]
    return figures.parameter_scatter(canvas.subplots(), x, y, categories=groups)


def recovered(canvas):
    rng = np.random.default_rng(5)
    true = rng.uniform(0, 1, 50)
    found = np.clip(true + rng.normal(0, 0.3, 50), 0, 1)
    ends = np.column_stack([found - 0.2, found + 0.2])
    return figures.recovery(canvas.subplots(), true, found, ends, name="learning_rate")


def several(canvas):
    axes = canvas.subplots()
    n = np.arange(5.0, 100, 5)
    for series, name in enumerate(
        ("learning_rate", "temperature", "stickiness of the last choice")
    ):
        figures.convergence(axes, n, series + 6 / n, label=name, series=series)
    return axes


def regret(canvas):
    t = np.arange(1.0, 60)
    curves = {"linear": t, "power": t**0.6, "logarithmic": 9 * np.log(t)}
    return figures.regret_growth(canvas.subplots(), t, curves, weights=dict.fromkeys(curves, 0.3))


DRAWN = {
    "two groups": lambda canvas: scattered(canvas, 2),
    "six groups": lambda canvas: scattered(canvas, 6),
    "recovery": recovered,
    "several parameters": several,
    "regret": regret,
    "people and agents": lambda canvas: figures.learning_curve(
        canvas.subplots(), np.eye(9)[:4] + 1, np.eye(9) + 1
    ),
    "probabilities": lambda canvas: figures.choice_probability(canvas.subplots()),
    "steps": lambda canvas: figures.step_distances(
        canvas.subplots(), [0, 1, 1, 2, 3.0], [1, 2, 2, 5.0]
    ),
}


BESIDE = [*((name, 1, 2.6) for name in DRAWN), ("two groups", 2, 3.2), ("six groups", 2, 3.2)]


@pytest.mark.parametrize(("name", "columns", "height"), BESIDE)
def test_a_legend_stands_beside_the_data_and_inside_the_figure(name, columns, height):
    canvas = figures.figure(columns=columns, height=height)
    axes = DRAWN[name](canvas)
    finished(canvas)
    place, data = axes.get_legend().get_window_extent(), axes.get_window_extent()
    assert not place.padded(-0.5).overlaps(data)
    assert data.width > 0.45 * min(canvas.bbox.width, canvas.bbox.height)
    for line in axes.lines:
        for x, y in line.get_transform().transform(line.get_xydata()):
            assert not place.padded(-0.5).contains(x, y)
    room = canvas.bbox.padded(2)
    assert room.x0 <= place.x0 and place.x1 <= room.x1
    assert room.y0 <= place.y0 and place.y1 <= room.y1
    assert not overlapping(written(axes))


def test_a_heading_remarks_and_a_legend_stand_over_each_other():
    canvas = figures.figure()
    axes = figures.model_differences(
        canvas.subplots(), [3.0, -1.0, np.nan], names=("UCL", MODELS[0])
    )
    finished(canvas)
    top = [axes._left_title.get_window_extent().y1, axes._right_title.get_window_extent().y1]
    assert top[0] > top[1] > axes.get_legend().get_window_extent().y1 > axes.bbox.y1
    assert not overlapping(written(axes))


@pytest.mark.parametrize("name", ["forest", "population", "recovery", "parameter_scatter"])
def test_intervals_of_a_share_do_not_leave_0_to_1(name):
    axes = figures.figure().subplots()
    values, ends = np.array([0.03, 0.96]), np.array([[-0.1, 0.2], [0.8, np.inf]])
    if name == "forest":
        figures.forest(
            axes, values, ends, name="learning_rate", pooled=0.5, pooled_interval=(-1, 2)
        )
    elif name == "population":
        figures.population(axes, ["a", "b"], values, ends, name="learning_rate")
    elif name == "recovery":
        figures.recovery(axes, values, values, ends, name="learning_rate")
    else:
        both = {"x_interval": ends, "y_interval": ends, "bounds": ((0, 1), None)}
        figures.parameter_scatter(axes, values, values, names=("p", "learning_rate"), **both)
    which = 0 if name in ("forest", "parameter_scatter") else 1
    drawn = [c.get_segments() for c in axes.collections if hasattr(c, "get_segments")]
    spots = np.concatenate([np.concatenate(one) for one in drawn if len(one)])[:, which]
    assert spots.min() == 0 and spots.max() == 1
    assert (axes.get_xlim() if which == 0 else axes.get_ylim())[0] > -0.05
    assert "without a bound" not in axes.get_title(loc="right")


def test_a_name_does_not_bound_estimates_that_say_otherwise():
    axes = figures.forest(figures.figure().subplots(), [0.4, 3.0], name="learning_rate")
    assert axes.get_xlim()[1] > 3


def test_bands_of_rewards_that_are_0_or_1_do_not_leave_0_to_1():
    rewards = np.array([[0.0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]])
    axes = figures.learning_curve(figures.figure().subplots(), rewards, rewards)
    for band in axes.collections:
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() >= 0 and heights.max() <= 1
    free = figures.learning_curve(figures.figure().subplots(), rewards * 5, rewards)
    assert free.get_ylim()[1] > 1.5


@pytest.mark.parametrize("name", DRAWN)
def test_all_letters_have_one_size(name):
    canvas = figures.figure()
    DRAWN[name](canvas)
    sizes = {text.get_fontsize() for text in canvas.findobj(Text) if text.get_text()}
    assert sizes == {FONT_SIZE}


def test_names_of_the_code_are_words_on_axes():
    axes = figures.parameter_scatter(
        figures.figure().subplots(), [1.0], [2.0], names=("learning_rate", "prior_variance")
    )
    assert axes.get_xlabel() == "learning rate"
    assert words(axes.get_ylabel()) == words("prior variance (units of reward²)")
    assert (
        display_name("n_subjects") == "subjects"
        and display_name("RT (s), log_e") == "RT (s), log_e"
    )
    assert axis_label("discount_rate") == "discount rate (per unit of delay)"


def test_lines_are_as_long_as_they_may_be_and_lose_no_letter():
    for longest in (40.0, 60.0, 90.0, 200.0):
        said = break_lines(LONG[0], longest)
        assert said is None or max(map(text_width, said)) <= longest
        assert said is None or words("".join(said)) == words(LONG[0])
    assert wrap_text("abc", 100.0) == "abc"
    for most in (1, 2, 3):
        shown = wrap_text(f"{LONG[0]} (n = 7)", 90.0, most).split("\n")
        assert len(shown) <= most and max(map(text_width, shown)) <= 90
        assert words("".join(shown)).endswith("(n=7)")


def test_a_short_logarithmic_axis_has_round_numbers():
    from matplotlib.figure import Figure

    from penchant.figures.label_text import format_log_axis

    axes = Figure(figsize=(3, 2)).subplots()
    axes.set_xscale("log")
    axes.set_xlim(2.4, 5.6)
    format_log_axis(axes.xaxis)
    axes.figure.canvas.draw()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["3", "4", "5"]


DISORDERS = [
    "major depressive disorder, medicated",
    "major depressive disorder, unmedicated",
    "generalised anxiety disorder",
]


def test_rows_are_as_high_as_their_names_need_and_names_stay_whole():
    high = labelled_row_height_inches(DISORDERS, 3.5)
    canvas = figures.figure(height=0.8 + high * len(DISORDERS))
    ends = [[-1, 1]] * 3
    axes = figures.coefficients(canvas.subplots(), DISORDERS, [0.2, 0.4, 0.1], ends)
    said = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert said == DISORDERS


def test_low_rows_give_long_names_more_of_the_width_before_they_lose_their_ends():
    ends = [[-1, 1]] * 3
    flat = figures.figure(columns=2, height=1.2).subplots(1, 1)
    figures.coefficients(flat, DISORDERS, [0.2, 0.4, 0.1], ends)
    said = [label.get_text() for label in flat.get_yticklabels()]
    assert [one.replace("\n", " ") for one in said] == DISORDERS


def test_a_legend_of_many_lines_makes_the_figure_higher_not_the_axes_lower():
    heights = []
    for n in (1, 6):
        canvas = figures.figure(height=2.4)
        x, density = np.linspace(0, 1, 9), np.tile(np.hanning(9), (n, 1))
        names = [f"{DISORDERS[k % 3]}, site {k}" for k in range(n)]
        figures.population_density(canvas.subplots(), x, density, categories=names)
        grow_figure_for_legends(canvas)
        finished(canvas)
        heights.append(canvas.axes[0].get_window_extent().height)
    assert heights[1] > 0.9 * heights[0]


def test_a_panel_by_itself_shows_nothing_of_its_neighbour():
    from penchant.figures.style import figure, panel_view_boxes

    drawn = figure(columns=2)
    for axes in drawn.subplots(1, 3):
        axes.set_ylabel("prior mean (units of reward)")
        axes.set_xticks([0.0, 1.0], ["none", "as many as there are"])
    drawn.canvas.draw()
    boxes = [tuple(map(float, box.split())) for box in panel_view_boxes(drawn)]
    assert len(boxes) == 3
    for left, right in pairwise(boxes):
        assert left[0] + left[2] <= right[0] + 0.11  # one digit is written


def ticks(axis):
    low, high = sorted(axis.get_view_interval())
    return [tick for tick in axis.get_majorticklocs() if low <= tick <= high]


@pytest.mark.parametrize("n", [2, 7, 20, 61, 140])
def test_axes_that_count_have_whole_numbers_and_begin_at_0(n):
    rng = np.random.default_rng(n)
    later = np.full((3, n), np.nan)
    later[:, 1:] = rng.random((3, n - 1))
    drawn = {
        "people": figures.learning_curve(figures.figure().subplots(), rng.random((3, n)), later),
        "later": figures.learning_curve(figures.figure().subplots(), later),
        "regret": figures.regret_growth(figures.figure().subplots(), rng.random(n).cumsum()),
        "models": figures.model_differences(figures.figure().subplots(), rng.normal(0, 5, n)),
    }
    for axes in drawn.values():
        assert all(tick == round(tick) for tick in ticks(axes.xaxis))
        assert len(ticks(axes.xaxis)) >= 2
    trials = {drawn[name].get_xlim() for name in ("people", "later", "regret")}
    assert trials == {(0.0, 1.02 * n)}


def test_a_colour_bar_is_as_high_as_its_map():
    canvas = figures.figure(columns=2, height=2.6)
    for axes in canvas.subplots(1, 2):
        figures.heat_map(axes, np.arange(12.0), np.array([[i % 4, i // 4] for i in range(12)]))
    finished(canvas)
    for axes in canvas.axes:
        bar = axes.child_axes[0].get_window_extent()
        own = axes.get_window_extent()
        assert (bar.y0, bar.y1) == pytest.approx((own.y0, own.y1), abs=0.5)


def test_a_band_that_is_cut_goes_on_to_the_top_and_is_said():
    x, line = np.linspace(0, 1, 50), np.hanning(50)
    bands = np.stack([np.zeros(50), 9 * line], axis=1)
    axes = figures.population_density(figures.figure().subplots(), x, [line], bands=[bands])
    top = axes.get_ylim()[1]
    assert axes.collections[0].get_paths()[0].vertices[:, 1].max() > top  # no false plateau
    assert "band goes on above" in axes.get_title(loc="right")
    calm = np.stack([0.8 * line, 1.2 * line], axis=1)
    quiet = figures.population_density(figures.figure().subplots(), x, [line], bands=[calm])
    assert quiet.get_ylim()[1] > 1.2 and not quiet.get_title(loc="right")


def test_the_prediction_is_named_where_people_are_compared_with_it():
    rng = np.random.default_rng(2)
    axes = figures.predictive_intervals(
        figures.figure().subplots(), ["a", "b"], [0.5, 2.0], rng.random((99, 2))
    )
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["predicted, 95 %", "observed", "observed, outside"]


def test_names_of_attributes_and_stages_are_words():
    assert display_name("comfort:low_worth:region[urban]") == "worth of comfort low: urban"
    assert display_name("comfort:low") == "comfort low"
    assert display_name("constant:none") == "constant of none"
    assert display_name("reward:transition") == "reward × transition"
    assert (
        axis_label("inverse_temperature_2") == "inverse temperature of stage 2 (1 / units of value)"
    )


def saved(canvas, tmp_path):
    figures.save(canvas, tmp_path / "figure.svg", overwrite=True)
    return finished(canvas)


EIGHT = [f"{drug}_session_{k} (n = 24 of 30)" for drug in "ABCD" for k in (1, 2)]


def crowded(axes, what):
    """Names, tests or a legend that would leave next to nothing of the axes."""
    rng = np.random.default_rng(2)
    if what == "legend":
        names = [f"levodopa_100mg_{k} (n = 9)" for k in range(8)]
        x, y = rng.random(80), rng.random(80)
        figures.parameter_scatter(axes, x, y, categories=np.repeat(names, 10))
    elif what == "confusion":
        names = [*MODELS, "hyperbolic_discounting_with_magnitude_effect", "random"]
        figures.confusion(axes, rng.dirichlet(np.ones(5), 5), names, counts=[100] * 5)
    else:
        tests = {(0, 1): 0.0004, (0, 7): 0.03, (2, 3): 0.4}
        figures.population(axes, EIGHT, np.arange(1, 9) / 9, p_values=tests, name="decision_noise")


@pytest.mark.parametrize("what", ["legend", "confusion", "population"])
def test_a_figure_grows_where_its_axes_would_be_too_flat(what, tmp_path):
    canvas = figures.figure()
    axes = canvas.subplots()
    crowded(axes, what)
    before = canvas.get_figheight()
    saved(canvas, tmp_path)
    high = axes.get_window_extent().height / canvas.dpi
    assert high > 0.4 * before
    assert canvas.get_figheight() > before
    assert not overlapping(written(axes))


def test_a_figure_with_room_keeps_its_height(tmp_path):
    canvas = figures.figure(height=2.2)
    figures.forest(canvas.subplots(), [0.2, 0.4], [[0.1, 0.3], [0.2, 0.5]], labels=["ann", "bo"])
    saved(canvas, tmp_path)
    assert canvas.get_figheight() == 2.2


def test_names_of_axes_stay_inside_the_figure(tmp_path):
    canvas = figures.figure(columns=2)
    figures.population(canvas.subplots(), EIGHT, np.arange(1, 9.0), name="decision_noise")
    rows = figures.figure()
    names = [f"participant_{i:03d}_site_Heidelberg_session_2" for i in range(12)]
    values = np.arange(1.0, 13.0)
    figures.forest(rows.subplots(), values, labels=names, name="inverse_temperature")
    for one in (canvas, rows):
        saved(one, tmp_path)
        for label in (one.axes[0].xaxis.label, one.axes[0].yaxis.label):
            box = label.get_window_extent()
            assert not label.get_text() or (
                box.x1 <= one.bbox.x1 and box.y1 <= one.bbox.y1 and min(box.x0, box.y0) >= 0
            )


def test_a_count_is_not_broken_between_n_and_its_number():
    said = wrap_text("drug_A_session_1 (n = 24 of 30)", 45.0, 5)
    assert "n = 24" in said
