"""`fit_each`: the numbers of `fit`, for every subject."""

import pickle

import numpy as np
import pytest

import penchant as pn


def _subjects(n=500, weighted=False, with_offset=False, seed=11):
    """Ragged sets of about forty subjects; some have one or two decisions, some are separated."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 33, size=n)
    subject[:1], subject[1:3], subject[3:9] = 101, 102, 103
    sets = [rng.normal(size=(rng.integers(1, 7), 2)) * [1.0, 50.0] for _ in range(n)]
    for k in range(3, 9):  # subject 103 cannot tell the two variables apart
        sets[k][:, 1] = 2.0 * sets[k][:, 0]
    drawn = pn.simulate(pn.Choices.from_arrays(sets, None), [1.2, -0.03], rng=rng)
    chosen = np.array(drawn.chosen)
    for k in np.flatnonzero(subject == 7):  # subject 7 always takes the largest
        chosen[k] = sets[k][:, 0].argmax()
    rows = sum(len(x) for x in sets)
    return pn.Choices.from_arrays(
        sets,
        chosen,
        subject=[f"s{s}" for s in subject],
        weights=rng.integers(1, 4, size=n) if weighted else None,
        offset=rng.normal(size=rows) if with_offset else None,
    )


def _alone(choices, i, **options):
    return pn.fit(choices.subset(np.flatnonzero(choices.subject == i)), **options)


def _assert_same(together, alone, exact=True):
    assert together.status == alone.status
    assert together.message == alone.message
    if exact:
        np.testing.assert_array_equal(together.theta, alone.theta)
        assert together.log_likelihood == alone.log_likelihood
        assert together.log_posterior == alone.log_posterior
    else:  # one rounding of the prior's precision
        np.testing.assert_allclose(together.theta, alone.theta, rtol=1e-13)
        assert together.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-13)
        assert together.log_posterior == pytest.approx(alone.log_posterior, rel=1e-13)
    np.testing.assert_allclose(together.covariance, alone.covariance, rtol=1e-12)
    assert together.null_log_likelihood == alone.null_log_likelihood
    assert together.n_decisions == alone.n_decisions
    assert together.n_options == alone.n_options
    assert together.total_weight == alone.total_weight
    assert together.diagnostics.rank == alone.diagnostics.rank
    assert together.diagnostics.separation == alone.diagnostics.separation
    assert together.diagnostics.certificate == alone.diagnostics.certificate


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_offset", [False, True])
def test_every_subject_has_the_estimate_of_a_fit_alone(weighted, with_offset):
    choices = _subjects(weighted=weighted, with_offset=with_offset)
    estimates = pn.fit_each(choices)
    assert {"converged", "separated", "not identified"} <= set(estimates.status)
    for i, together in enumerate(estimates):
        alone = _alone(choices, i)
        _assert_same(together, alone)
        np.testing.assert_array_equal(estimates.theta[i], alone.theta)
        assert estimates.log_likelihood[i] == alone.log_likelihood
        np.testing.assert_allclose(estimates.covariance[i], alone.covariance, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "firth"},
        {"max_steps": 3},
        {"constraints": pn.Constraints([[1.0, 0.0]], [0.9])},
    ],
)
def test_other_methods_are_those_of_fit(options):
    choices = _subjects(n=250)
    for i, together in enumerate(pn.fit_each(choices, **options)):
        _assert_same(together, _alone(choices, i, **options))


PRIORS = [
    pn.ScaledPrior(c=1.7),
    pn.GaussianPrior([0.3, 0.01], [[2.0, 0.01], [0.01, 0.002]]),
]


@pytest.mark.parametrize("prior", PRIORS)
def test_priors_give_the_estimates_of_fit_to_rounding(prior):
    choices = _subjects(weighted=True)
    estimates = pn.fit_each(choices, parameter_prior=prior)
    for i, together in enumerate(estimates):
        _assert_same(together, _alone(choices, i, parameter_prior=prior), exact=False)


@pytest.mark.parametrize("prior", PRIORS)
def test_priors_give_the_estimates_of_fit_to_the_last_digit(prior):
    choices = _subjects()
    for i, together in enumerate(pn.fit_each(choices, parameter_prior=prior)):
        _assert_same(together, _alone(choices, i, parameter_prior=prior))


def test_threads_change_no_digit():
    choices = _subjects()
    one, two = pn.fit_each(choices, threads=1), pn.fit_each(choices, threads=2)
    np.testing.assert_array_equal(one.theta, two.theta)
    np.testing.assert_array_equal(one.covariance, two.covariance)
    np.testing.assert_array_equal(one.log_likelihood, two.log_likelihood)


def test_the_order_of_decisions_moves_no_subject():
    choices = _subjects()
    turned = choices.subset(np.random.default_rng(1).permutation(choices.n_decisions))
    one, other = pn.fit_each(choices), pn.fit_each(turned)
    assert one.subjects == other.subjects
    assert one.status == other.status
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-10)  # another order of sums


def test_labels_that_are_numbers_are_found_as_they_are_written():
    rng = np.random.default_rng(6)
    x, who = rng.normal(size=(90, 3, 2)), np.repeat([101, 207, 350], 30)
    drawn = pn.simulate(pn.Choices.from_arrays(x, np.zeros(90, int)), [0.5, -0.4], rng=rng)
    estimates = pn.fit_each(pn.Choices.from_arrays(x, drawn.chosen, subject=who))
    assert estimates["207"].subject == estimates.of(207).subject == estimates[1].subject
    with pytest.raises(
        IndexError, match=r"from 0 to 2; got 207\.\nIt is the label .* use of\(207\)"
    ):
        estimates[207]


def test_subjects_are_found_by_label_position_and_slice():
    estimates = pn.fit_each(_subjects())
    assert estimates.subjects == tuple(sorted(estimates.subjects, key=lambda s: int(s[1:])))
    assert estimates.of("s7").subject == "s7"
    assert estimates.of("s7").status == "separated"
    assert estimates[-1].subject == estimates.subjects[-1]
    assert [e.subject for e in estimates[1:3]] == list(estimates.subjects[1:3])
    assert len(estimates) == len(estimates.subjects) == sum(estimates.counts().values())
    assert repr(estimates).startswith(f"<Estimates of {len(estimates)} subjects:")
    with pytest.raises(IndexError):
        estimates[len(estimates)]
    with pytest.raises(
        pn.errors.DataError, match=r"subject must be one of the .* fitted; got 'nobody'"
    ):
        estimates.of("nobody")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_has_one_row_per_subject(backend):
    pytest.importorskip(backend)
    estimates = pn.fit_each(_subjects())
    table = estimates.to_frame(backend=backend)
    columns = table.column_names if backend == "pyarrow" else list(table.columns)
    assert columns[:5] == ["subject", "status", "n_decisions", "log_likelihood", "x1"]
    assert table.shape[0] == len(estimates)
    assert "x2_standard_error" in columns and "message" in columns


def test_choices_must_have_subjects():
    choices = pn.Choices.from_arrays(np.random.default_rng(1).normal(size=(3, 2, 1)), [0, 1, 0])
    with pytest.raises(pn.errors.DataError, match="choices must say whose they are"):
        pn.fit_each(choices)


def test_sets_without_choices_cannot_be_fitted():
    sets = pn.Choices.from_arrays(np.ones((3, 2, 1)), None, subject=[1, 1, 2])
    with pytest.raises(pn.errors.DataError, match="choices must say what was chosen"):
        pn.fit_each(sets)


def test_a_robust_covariance_is_that_of_fit():
    rng = np.random.default_rng(4)
    sets = pn.Choices.from_arrays(
        rng.normal(size=(90, 4, 2)), None, subject=np.repeat(["a", "b", "c"], 30)
    )
    choices = pn.simulate(sets, [0.8, -0.3], rng=rng)
    for i, together in enumerate(pn.fit_each(choices, covariance="robust")):
        alone = _alone(choices, i, covariance="robust")
        np.testing.assert_allclose(together.covariance, alone.covariance, rtol=1e-12)
        assert together.covariance_kind == alone.covariance_kind


def test_the_subjects_left_in_a_subset_are_fitted():
    choices = _subjects(n=250)
    some = choices.subset(np.flatnonzero(choices.subject < 4))
    estimates = pn.fit_each(some)
    assert estimates.of(choices.subject_labels[2]).n_decisions == (choices.subject == 2).sum()


def test_a_separated_subject_does_not_stop_the_robust_fits_of_the_others():
    estimates = pn.fit_each(_subjects(), covariance="robust")
    assert estimates.of("s7").status == "separated"


def test_a_subject_whose_weights_are_all_zero_does_not_stop_the_others():
    choices = _subjects()
    weights = np.where(choices.subject == 0, 0, 1)
    sets = [
        choices.explanatory[a:b]
        for a, b in zip(choices.first_row[:-1], choices.first_row[1:], strict=True)
    ]
    weighted = pn.Choices.from_arrays(
        sets, choices.chosen, weights=weights, subject=choices.subject
    )
    estimates = pn.fit_each(weighted)
    assert estimates.status[0] == "not identified"
    assert estimates.status[1:] == pn.fit_each(choices).status[1:]


def test_decisions_of_weight_zero_can_be_left_out():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 4, 3))
    chosen = rng.integers(0, 4, size=60)
    x[5:20, :, 2] = 0.7
    weights = np.where(np.arange(60) < 5, 0, 1)
    subject = np.repeat(["a", "b", "c"], 20)
    kept = weights > 0
    one = pn.fit_each(pn.Choices.from_arrays(x, chosen, weights=weights, subject=subject))
    other = pn.fit_each(pn.Choices.from_arrays(x[kept], chosen[kept], subject=subject[kept]))
    assert one.status == other.status
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-12)


def test_estimates_can_be_pickled():
    estimates = pn.fit_each(_subjects(n=250))
    again = pickle.loads(pickle.dumps(estimates))
    np.testing.assert_array_equal(again.theta, estimates.theta)
    assert again[0].status == estimates[0].status
