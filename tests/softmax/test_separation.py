"""Whether the maximum exists."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

import penchant as pn
import reference
from made import case, half_separated_case, separated_case
from penchant.softmax.decisions import ChoiceDecisions
from penchant.softmax.maximum_likelihood import solve
from penchant.softmax.separation import (
    _furthest_in_plane,
    _solve_linear_program,
    _unique_vertex,
    are_maxima_proven_to_exist,
    build_recession_cone,
    limits_along_recession,
    nnls_bounds,
)


def _direction(estimate):
    found = estimate.diagnostics.separation.direction
    return np.array([found.get(name, 0.0) for name in estimate.names])


def _random_problem(seed):
    """Few decisions on a coarse grid: ties, quasi-separation, lack of rank, bad units."""
    rng = np.random.default_rng(seed)
    n, m, d = rng.integers(1, 9), rng.integers(2, 5), rng.integers(1, 4)
    x = rng.integers(-2, 3, size=(n, m, d)) * rng.choice([1.0, 1.0, 1e-3, 1e4], size=d)
    chosen = rng.integers(0, m, size=n)
    if rng.random() < 0.5:
        largest = np.maximum(np.abs(x).max(axis=(0, 1)), 1e-9)
        chosen = (x @ (3 * rng.normal(size=d) / largest)).argmax(axis=1)
    return x, chosen


@given(seed=st.integers(0, 10**6))
def test_the_flag_is_the_answer_of_the_linear_program(seed):
    x, chosen = _random_problem(seed)
    if not reference.differences(list(x), chosen).any():
        return
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    found = estimate.diagnostics.separation is not None
    assert found == reference.separated(list(x), chosen)
    if estimate.diagnostics.rank == x.shape[2]:
        assert (estimate.status == "separated") == found


@pytest.mark.parametrize("seed", range(40))
def test_the_supremum_is_the_limit_of_ever_weaker_priors(seed):
    x, chosen = _random_problem(seed)
    choices = pn.Choices.from_arrays(x, chosen)
    estimate = pn.fit(choices)
    weak = pn.fit(choices, parameter_prior=pn.ScaledPrior(c=1e-9))
    # a prior of variance 1e9 costs about 1e-9 theta^2 with theta of order 20
    assert estimate.log_likelihood == pytest.approx(weak.log_likelihood, abs=1e-4)
    if estimate.diagnostics.rank < x.shape[2]:
        return
    scale = np.sqrt(np.diag(reference.within_set_scatter(list(x))))
    for a, value in enumerate(estimate.theta):
        if np.isinf(value):
            assert weak.theta[a] * scale[a] * np.sign(value) > 1
        elif np.isfinite(value):
            assert weak.theta[a] == pytest.approx(value, rel=1e-3, abs=1e-3 / scale[a])


def _nested():
    """Data whose separation is nested: one direction first, then one among what is left."""
    rng = np.random.default_rng(0)
    problems = []
    for trial in range(1500):
        n, m, d = rng.integers(1, 9), rng.integers(2, 5), rng.choice([1, 2, 3])
        x = rng.integers(-2, 3, size=(n, m, d)) * rng.choice([1, 1, 1e-3, 1e4], size=d)
        chosen = rng.integers(0, m, n)
        if rng.random() < 0.5:
            theta = rng.normal(size=d) * 3 / np.maximum(np.abs(x).max((0, 1)), 1e-9)
            chosen = np.array([np.argmax(one @ theta) for one in x])
        if trial in (243, 475, 519, 622):
            problems.append((x.astype(float), chosen))
    return problems


@pytest.mark.parametrize("problem", range(4))
def test_the_direction_of_nested_separation_lowers_no_difference(problem):
    x, chosen = _nested()[problem]
    v = _direction(pn.fit(pn.Choices.from_arrays(x, chosen)))
    rows = reference.differences(list(x), chosen)
    assert (rows @ v >= -1e-7 * (np.abs(rows) @ np.abs(v))).all()


@pytest.mark.parametrize("units", [[1e-9, 3e-12], [1e12, 1e9]])
def test_the_direction_of_nested_separation_is_right_in_any_units(units):
    rng = np.random.default_rng(29)
    found = 0
    for _ in range(30):
        x = rng.integers(-2, 3, size=(6, 3, 2)) * np.array(units)
        chosen = (x @ (rng.normal(size=2) / units)).argmax(axis=1)
        estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
        if estimate.status == "separated":
            found += 1
            v = _direction(estimate)
            rows = reference.differences(list(x), chosen)
            assert (rows @ v >= -1e-7 * (np.abs(rows) @ np.abs(v))).all()
    assert found > 20


@pytest.mark.parametrize("make", [separated_case, half_separated_case])
def test_along_the_direction_no_difference_falls_and_the_likelihood_rises(make):
    data = make()
    estimate = pn.fit(data.choices)
    v = _direction(estimate)
    rows = reference.differences(data.sets, data.chosen)
    assert (rows @ v).min() > -1e-7
    values = [reference.log_likelihood(s * v, data.sets, data.chosen) for s in (1.0, 5.0, 25.0)]
    assert values[0] < values[1] < values[2] <= estimate.log_likelihood + 1e-9


def test_complete_separation_has_supremum_zero_and_no_error():
    estimate = pn.fit(separated_case().choices)
    assert estimate.status == "separated"
    assert estimate.diagnostics.separation.kind == "complete"
    assert estimate.diagnostics.separation.supremum == 0
    assert estimate.theta[0] == np.inf
    assert np.isnan(estimate.standard_errors).all()
    assert "no maximum" in estimate.message


def test_quasi_separation_leaves_the_fit_among_ties():
    data = half_separated_case()
    estimate = pn.fit(data.choices)
    assert estimate.diagnostics.separation.kind == "quasi-complete"
    assert estimate.theta[0] == np.inf
    sets, chosen = [], []
    for x, c in zip(data.sets, data.chosen, strict=True):
        kept = np.flatnonzero(x[:, 0] == x[c, 0])
        sets.append(x[kept, 1:])
        chosen.append(int(np.flatnonzero(kept == c)[0]))
    rest = pn.fit(pn.Choices.from_arrays(sets, chosen))
    assert estimate.log_likelihood == pytest.approx(rest.log_likelihood, rel=1e-12)
    assert estimate.theta[1] == pytest.approx(rest.theta[0], rel=1e-9)
    assert estimate.standard_errors[1] == pytest.approx(rest.standard_errors[0], rel=1e-9)
    assert np.isnan(estimate.standard_errors[0])


def test_one_contradicting_choice_ends_the_separation():
    data = half_separated_case()
    data.sets.append(np.array([[1.0, 0.3], [0.0, -0.2]]))
    data.chosen.append(1)
    estimate = pn.fit(data.choices)
    assert estimate.status == "converged"
    assert np.isfinite(estimate.standard_errors).all()


@pytest.mark.parametrize("m", [2, 100])
def test_one_decision_is_separated_or_not_as_its_place_says(m):
    x = np.linspace(0.3, 2.1, m)[:, None]
    for chosen, status in ((0, "separated"), (m - 1, "separated"), (m // 2, "converged")):
        if m == 2 and status == "converged":
            continue
        assert pn.fit(pn.Choices.from_arrays([x], [chosen])).status == status


def test_everybody_choosing_one_option_is_separated_by_its_constant():
    x = np.random.default_rng(3).normal(size=(30, 3, 1))
    estimate = pn.fit(pn.Choices.from_arrays(x, np.full(30, 1)).with_constants())
    assert estimate.status == "separated"
    assert estimate.theta[estimate.names.index("constant:1")] == np.inf


def test_an_option_never_chosen_is_named():
    data = case(n=50, sizes=(3, 3), d=1)
    chosen = [min(c, 1) for c in data.chosen]
    estimate = pn.fit(pn.Choices.from_arrays(data.sets, chosen).with_constants())
    assert estimate.status == "separated"
    assert estimate.theta[estimate.names.index("constant:2")] == -np.inf
    assert "An option is always or never chosen" in estimate.message
    kept = pn.Choices.from_arrays([x[:2] for x in data.sets], chosen).with_constants()
    assert estimate.log_likelihood == pytest.approx(pn.fit(kept).log_likelihood, rel=1e-11)


def test_decisions_of_weight_zero_neither_separate_nor_contradict():
    data = separated_case()
    sets = [*data.sets, data.sets[0]]
    wrong = (data.chosen[0] + 1) % len(data.sets[0])
    chosen = [*data.chosen, wrong]
    weights = [2] * len(data.sets) + [0]
    estimate = pn.fit(pn.Choices.from_arrays(sets, chosen, weights=weights))
    assert estimate.status == "separated"


def test_unavailable_options_neither_separate_nor_contradict():
    data = separated_case()
    sets = [np.vstack([x, [x[:, 0].max() + 3.0, 0.4]]) for x in data.sets]
    available = np.concatenate([[True] * (len(x) - 1) + [False] for x in sets])
    choices = pn.Choices.from_arrays(sets, data.chosen, available=available)
    assert pn.fit(choices).status == "separated"
    assert pn.fit(pn.Choices.from_arrays(sets, data.chosen)).status != "separated"


def test_offsets_do_not_matter_for_existence():
    rng = np.random.default_rng(7)
    for make in (separated_case, half_separated_case, case):
        data = make()
        offset = [5 * rng.normal(size=len(x)) for x in data.sets]
        with_offset = pn.Choices.from_arrays(data.sets, data.chosen, offset=np.concatenate(offset))
        assert pn.fit(with_offset).status == pn.fit(data.choices).status


@pytest.mark.parametrize("units", [[1e-9, 1e6], [1e8, 1e-7], [1e-98, 1e98]])
def test_units_do_not_matter_for_existence(units):
    for make in (separated_case, half_separated_case):
        data = make()
        scaled = pn.fit(pn.Choices.from_arrays([x * units for x in data.sets], data.chosen))
        assert scaled.status == "separated"
        assert scaled.theta[0] == np.inf


@pytest.mark.parametrize("weight", [1e-6, 1e12])
def test_the_size_of_weights_does_not_matter_for_existence(weight):
    data = half_separated_case()
    choices = pn.Choices.from_arrays(
        data.sets,
        data.chosen,
        weights=np.full(len(data.sets), weight),
        weight_kind="probability",
    )
    assert pn.fit(choices).status == "separated"


def test_rounding_noise_does_not_make_a_tie_decisive():
    data = half_separated_case()
    noisy = [x + 1e-15 * np.arange(len(x))[:, None] for x in data.sets]
    assert pn.fit(pn.Choices.from_arrays(noisy, data.chosen)).status == "separated"


@pytest.mark.parametrize("seed", [1, 8, 11])
def test_rounding_of_one_variable_does_not_excuse_what_another_says(seed):
    """Uncertainties that differ by their last digit, and values that fade over magnitudes."""
    rng = np.random.default_rng(seed)
    n, m = 200, 4
    by_chance = pn.Episode(rng.integers(0, m, n), rng.normal(1.0, 1.0, n))
    model = pn.KalmanFilter(m, decay=None, drift_variance=None, bonus=True)
    x = model.explanatory(by_chance, 4.8e-4, 8.1e-3, 1e-12)
    estimate = pn.fit(pn.Choices.from_arrays(x, by_chance.chosen))
    assert estimate.log_likelihood < -0.97 * n * np.log(m)


def test_separated_but_for_a_negligible_difference_is_weak():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(60, 3, 1))
    chosen = x[:, :, 0].argmax(axis=1)
    x[0, :, 0], chosen[0] = [0.0, 1e-7, -3.0], 0
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.status == "weakly identified"
    assert estimate.diagnostics.near_separation == {"x1": 1.0}


def _separated_but_for(size, seed):
    """A badge that only options chosen have, or a value that is followed always; but for `size`."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 90))
    if seed % 2:
        x = rng.integers(0, 4, size=(n, 2, 1)).astype(float)
        chosen = x[:, :, 0].argmax(axis=1)
        x[0, :, 0], chosen[0] = [0.0, size], 0
        return x, chosen
    x = rng.normal(size=(n, 3, 2))
    chosen = (x[:, :, 0] + rng.gumbel(size=(n, 3))).argmax(axis=1)
    x[:, :, 1] = 0.0
    x[np.arange(5), chosen[:5], 1] = 1.0
    x[6, (chosen[6] + 1) % 3, 1] = size
    return x, chosen


@pytest.mark.parametrize("size", [5e-5, 1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("seed", range(4))
def test_a_maximum_that_hangs_on_less_than_a_thousandth_is_weak(size, seed):
    x, chosen = _separated_but_for(size, seed)
    estimate = pn.fit(pn.Choices.from_arrays(x, chosen))
    assert estimate.status == "weakly identified"
    assert "below a thousandth of a standard deviation" in estimate.message
    assert set(estimate.diagnostics.near_separation) == {f"x{x.shape[2]}"}
    each = pn.fit_each(pn.Choices.from_arrays(x, chosen, subject=np.full(len(x), "ann")))
    assert each.status == ("weakly identified",)
    assert each.messages == (estimate.message,)


@pytest.mark.parametrize("seed", range(4))
def test_a_maximum_that_hangs_on_more_is_not(seed):
    x, chosen = _separated_but_for(0.05, seed)
    assert pn.fit(pn.Choices.from_arrays(x, chosen)).status == "converged"


@pytest.mark.parametrize("seed", range(8))
def test_small_differences_that_nothing_hangs_on_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(70, 3, 2))
    chosen = (x @ [4.0, -3.0] + rng.gumbel(size=(70, 3))).argmax(axis=1)
    x[:30, 1] = x[:30, 0] + 1e-6 * rng.normal(size=(30, 2))
    subject = np.repeat(["ann", "bob"], 35)
    assert pn.fit(pn.Choices.from_arrays(x, chosen)).status == "converged"
    each = pn.fit_each(pn.Choices.from_arrays(x, chosen, subject=subject))
    assert each.status == ("converged", "converged")


def _with_outlier(size):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(100, 3, 1))
    chosen = pn.simulate(pn.Choices.from_arrays(x, None), [0.9], rng=rng).chosen
    x[7, chosen[7], 0] = size
    keep = np.arange(100) != 7
    without = pn.fit(pn.Choices.from_arrays(x[keep], chosen[keep]))
    return pn.fit(pn.Choices.from_arrays(x, chosen)), without


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_one_outlier_that_agrees_with_the_rest_changes_no_estimate(size):
    estimate, without = _with_outlier(size)
    assert estimate.theta == pytest.approx(without.theta, rel=1e-9)


@pytest.mark.parametrize("size", [1e11, 1e14])
def test_one_huge_outlier_does_not_make_the_rest_count_as_ties(size):
    estimate, without = _with_outlier(size)
    assert estimate.status != "separated"
    assert estimate.theta == pytest.approx(without.theta, rel=1e-9)


def test_one_outlier_does_not_make_a_well_determined_estimate_weak():
    estimate, _ = _with_outlier(1e6)
    assert estimate.status == "converged"


def test_the_certificate_needs_a_small_decrement():
    covariance = np.array([[0.5, 0.1], [0.1, 0.3]])
    largest = np.array([2.0, 1.5])
    both = np.array([largest, largest, 1e9 * largest]), np.array([covariance] * 3)
    found = are_maxima_proven_to_exist(*both, np.array([1e-6, 0.5, 1e-10]), np.full(3, 100.0))
    assert found.tolist() == [True, False, False]


@given(
    seed=st.integers(0, 100_000), kind=st.sampled_from(["any", "half", "edges", "narrow", "axes"])
)
def test_two_parameters_need_no_linear_program(seed, kind):
    rng = np.random.default_rng(seed)
    n, middle = int(rng.integers(1, 60)), rng.uniform(-np.pi, np.pi)
    angle = {
        "any": rng.uniform(-np.pi, np.pi, n),
        "half": middle + rng.uniform(-1.57, 1.57, n),
        "edges": middle + rng.choice([-np.pi / 2, np.pi / 2, 0.3], n),
        "narrow": middle + rng.uniform(-0.2, 0.2, n),
        "axes": rng.choice([0, np.pi / 2, np.pi, -np.pi / 2, np.pi / 4], n),
    }[kind]
    rows = np.column_stack([np.cos(angle), np.sin(angle)])
    rows = (rows / np.abs(rows).max(axis=1, keepdims=True)).round(12)
    goal = rows.mean(axis=0) if seed % 2 else rng.normal(size=2)
    found, expected = _furthest_in_plane(goal, rows), _solve_linear_program(goal, rows)
    assert goal @ found == pytest.approx(goal @ expected, abs=1e-8)
    assert (rows @ found).min() >= -1e-9
    assert np.abs(found).max() <= 1.0


def test_a_constraint_of_any_size_bounds_the_direction():
    """A weight whose variable hardly differs has a constraint of 1e15 and more in its units."""
    rng = np.random.default_rng(4)
    rows = np.vstack([rng.normal(size=(9, 3)) + 2.0, [[0.0, 0.0, 1.0]]])
    goal = np.array([0.5, -0.2, -0.3])
    expected = _solve_linear_program(goal, rows)
    rows[-1] *= 3.3e15
    np.testing.assert_allclose(_solve_linear_program(goal, rows), expected, atol=1e-9)


def test_a_linear_program_that_is_given_up_is_tried_less_finely(monkeypatch):
    tried = []
    solver = scipy.optimize.linprog

    def moody(*arguments, options, **others):
        tried.append(options["primal_feasibility_tolerance"])
        found = solver(*arguments, options=options, **others)
        found.x = None if len(tried) < 3 else found.x
        return found

    rows, goal = np.array([[1.0, 0.2, 0.0], [0.3, 1.0, 0.5]]), np.array([0.4, 0.1, -0.2])
    expected = _solve_linear_program(goal, rows)
    monkeypatch.setattr(scipy.optimize, "linprog", moody)
    np.testing.assert_allclose(_solve_linear_program(goal, rows), expected, atol=1e-9)
    assert tried == [1e-10, 1e-9, 1e-7]


@given(seed=st.integers(0, 10**6))
def test_multipliers_tell_whether_the_linear_program_comes_anywhere(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(3, 6))
    rows = rng.integers(-2, 3, size=(n, d)).astype(float)
    if rng.random() < 0.6:  # all rows on one side of a plane, some of them on it
        rows *= np.where(rows @ rng.integers(-1, 2, size=d) < 0, -1.0, 1.0)[:, None]
    rows = rows[rows.any(axis=1)] / np.abs(rows[rows.any(axis=1)]).max(axis=1, keepdims=True)
    if not len(rows):
        return
    allowed = rng.integers(-1, 2, size=(int(rng.integers(0, 3)), d)).astype(float)
    allowed = allowed[allowed.any(axis=1)]
    goals = [(rows.sum(axis=0), len(rows)), (rng.choice([-1.0, 1.0]) * np.eye(d)[0], 1)]
    for goal, size in goals:
        furthest = goal @ _solve_linear_program(goal, np.vstack([rows, allowed]))
        assert nnls_bounds([goal], rows, allowed)[0].decide_whether_rise_exists(size) == (
            furthest > 1e-6 * size
        )


def test_multipliers_leave_to_the_linear_program_what_is_nearly_balanced():
    rows = np.array(
        [[1.0, 0.3, 0.2], [-1.0, -0.3, -0.2 + 1e-6], [0.5, -1.0, 0.1], [-0.5, 1.0, 0.1]]
    )
    assert (
        nnls_bounds([rows.sum(axis=0)], rows, np.empty((0, 3)))[0].decide_whether_rise_exists(4)
        is True
    )
    rows[2:] = [[0.5, -1.0, 1e-6], [-0.5, 1.0, 0.0]]
    assert (
        nnls_bounds([rows.sum(axis=0)], rows, np.empty((0, 3)))[0].decide_whether_rise_exists(4)
        is None
    )


@given(seed=st.integers(0, 10**6), whole=st.booleans())
def test_the_only_vertex_is_where_the_linear_program_ends(seed, whole):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(3, 7))
    rows = rng.integers(-2, 3, size=(n, d)).astype(float) if whole else rng.normal(size=(n, d))
    if rng.random() < 0.7:
        rows *= np.where(rows @ rng.integers(-2, 3, size=d) < 0, -1.0, 1.0)[:, None]
    rows = rows[rows.any(axis=1)] / np.abs(rows[rows.any(axis=1)]).max(axis=1, keepdims=True)
    if not len(rows):
        return
    found = _unique_vertex(rows.mean(axis=0), rows)
    if found is not None:
        expected = _solve_linear_program(rows.mean(axis=0), rows)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)  # of the linear program


def test_a_vertex_that_is_not_the_only_one_is_left_to_the_linear_program():
    assert _unique_vertex(np.array([1.0, 1.0, 0.0]), np.eye(3)) is None  # nothing tells the third
    edge = np.array([[1.0, -1.0, -1.0]])  # along it the second and the third stand for each other
    assert _unique_vertex(np.array([0.5, 0.25, 0.25]), edge) is None
    found = _unique_vertex(np.array([0.5, 0.3, 0.2]), edge)
    np.testing.assert_allclose(found, [1.0, 1.0, 0.0], rtol=0, atol=1e-15)


@given(seed=st.integers(0, 10**6))
def test_weights_go_where_linear_programs_say_that_recession_directions_lead(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, size=(int(rng.integers(4, 30)), 2, 3)) * [1.0, 1e-2, 30.0]
    chosen = (x @ rng.integers(-1, 2, size=3) + rng.normal(size=x.shape[:2]) / 3).argmax(axis=1)
    choices = pn.Choices.from_arrays(x, chosen)
    found = solve(ChoiceDecisions(choices, 1))
    if found.recession is None or not found.identified_part.complete:
        return
    where = limits_along_recession(
        build_recession_cone(choices, found.identified_part.scale), found.recession
    )
    np.testing.assert_array_equal(np.where(np.isinf(found.theta), found.theta, 0.0), _ends(where))


def _ends(where):
    return np.where(np.isinf(where), where, 0.0)


def test_what_is_left_of_a_variable_beside_certain_choices_may_be_too_small_to_count():
    x = np.zeros((5, 2, 2))
    x[:3, 1, 0], x[:3, 1, 1] = 1.0, [1.0, 2.0, 0.5]  # always taken
    x[3:, 1, 1] = 4e-106  # taken once, left once
    estimate = pn.fit(pn.Choices.from_arrays(x, [1, 1, 1, 1, 0]))
    assert estimate.status == "separated"
    assert estimate.log_likelihood == pytest.approx(2 * np.log(0.5), rel=1e-12)
