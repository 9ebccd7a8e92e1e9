"""Comparison of models, against literal refits and formulas."""

import json

import numpy as np
import pytest
from scipy import special, stats

import penchant as pn
from penchant.workflow.model_selection import cross_validation_splits, fold_labels

MODELS = {
    "learner": pn.QLearning(3, initial_value=0.0),
    "sticky": pn.QLearning(3, initial_value=0.0, stickiness=True),
    "habit": pn.models.RandomChoice(3),
}


def _blocks(task, *who, rng):
    done = pn.simulate(task, *who, rng=rng)
    return done if isinstance(done, list) else [done]


def _plays(n_subjects=3, n_blocks=2, n=26, seed=4, rate=0.4):
    """Two blocks each, with timeouts and decisions that are not scored."""
    rng = np.random.default_rng(seed)
    task = pn.Task(pn.Landscape([0.2, 0.5, 0.9], pn.GaussianNoise(0.1)), n, n_blocks)
    found = []
    for i in range(n_subjects):
        rule = {"temperature": 0.3, "learning_rate": rate}
        for k, e in enumerate(_blocks(task, pn.QLearning(3), rule, rng=rng)):
            chosen, rewards = e.chosen.copy(), e.rewards.copy()
            chosen[5 + i], rewards[5 + i] = -1, np.nan
            scored = np.arange(n) != 9 + k
            found.append(pn.Episode(chosen, rewards, scored=scored, subject=f"s{i}", block=f"b{k}"))
    return found


def _log_probabilities(model, episode, theta, psi):
    """Of every decision scored, by the formula."""
    q = model.explanatory(episode, *psi) @ theta
    log_p = q - special.logsumexp(q, axis=1, keepdims=True)
    return log_p[np.arange(episode.n_events), episode.chosen][episode.scored]


def _with_scored(episode, scored):
    return pn.Episode(
        episode.chosen,
        episode.rewards,
        scored=scored,
        subject=episode.subject,
        block=episode.block,
    )


def test_criteria_are_those_of_maximum_likelihood():
    plays = _plays()
    found = pn.compare_models(MODELS, plays)
    for k, model in enumerate(MODELS.values()):
        for i, estimate in enumerate(pn.fit_each(plays, model)):
            assert found.log_likelihood[i, k] == pytest.approx(estimate.log_likelihood, rel=1e-9)
            assert found.aic[i, k] == pytest.approx(estimate.aic)
            assert found.bic[i, k] == pytest.approx(estimate.bic)
            assert found.statuses[i][k] == estimate.status
    assert found.criterion == "bic"
    assert found.totals == pytest.approx(found.bic.sum(axis=0))
    assert found.best == list(MODELS)[int(np.argmin(found.bic.sum(axis=0)))]
    assert found.n_best.sum() == 3


def _numbered(episodes):
    """Subject, block, event, and number among the subject's scored decisions, of every decision."""
    for subject in dict.fromkeys(e.subject for e in episodes):
        places = [
            (e, int(t)) for e in episodes if e.subject == subject for t in np.where(e.scored)[0]
        ]
        for number, (episode, t) in enumerate(places):
            yield subject, episode.block, t, number


@pytest.mark.parametrize("folds", [3, "block"])
def test_held_out_log_likelihoods_are_those_of_literal_refits(folds):
    plays = _plays(n_subjects=2)
    models = {"learner": MODELS["learner"], "habit": MODELS["habit"]}
    found = pn.compare_models(models, plays, folds=folds).held_out
    places = list(_numbered(plays))
    label = [block if folds == "block" else number % folds for _, block, _, number in places]
    assert found.folds.tolist() == label
    named = zip(found.subjects, found.blocks, found.events.tolist(), strict=True)
    assert list(named) == [place[:3] for place in places]
    for name, model in models.items():
        for subject, fold in dict.fromkeys(zip(found.subjects, label, strict=True)):
            held = {p[:3] for p, own in zip(places, label, strict=True) if own == fold}
            mine = [e for e in plays if e.subject == subject]
            out = [
                np.array([(subject, e.block, t) in held for t in range(e.n_events)]) for e in mine
            ]
            training = [_with_scored(e, e.scored & ~o) for e, o in zip(mine, out, strict=True)]
            fitted = pn.fit(training, model, parameter_prior=pn.ScaledPrior())
            by_hand = np.concatenate(
                [
                    _log_probabilities(model, _with_scored(e, o), fitted.weights, fitted.psi)
                    for e, o in zip(mine, out, strict=True)
                ]
            )
            which = (found.subjects == subject) & (np.array(label) == fold)
            np.testing.assert_allclose(
                found.log_likelihoods[name][which], by_hand, rtol=1e-5, atol=1e-7
            )


def test_totals_are_sums_over_the_decisions_of_a_subject():
    found = pn.compare_models({"habit": MODELS["habit"]}, _plays(), folds="block")
    values = found.held_out.log_likelihoods["habit"]
    for i, subject in enumerate(found.subjects):
        by_hand = values[found.held_out.subjects == subject].sum()
        assert found.held_out_log_likelihood[i, 0] == pytest.approx(by_hand)


def test_a_held_out_decision_stays_in_the_history():
    plays = _plays(n_subjects=1, n_blocks=1)
    for split in cross_validation_splits(plays, 4):
        for kept in (*split.training, *split.held_out):
            np.testing.assert_array_equal(kept.chosen, plays[0].chosen)
            np.testing.assert_array_equal(kept.rewards, plays[0].rewards)
        both = split.training[0].scored | split.held_out[0].scored
        np.testing.assert_array_equal(both, plays[0].scored)
        assert not (split.training[0].scored & split.held_out[0].scored).any()


def test_every_decision_is_held_out_once():
    plays = _plays()
    for folds in (2, 5, "block", [np.arange(26) // 9] * 6):
        cut = cross_validation_splits(plays, folds)
        for subject in ("s0", "s1", "s2"):
            places = np.concatenate([s.positions for s in cut if s.subject == subject])
            total = sum(e.n_decisions for e in plays if e.subject == subject)
            assert sorted(places) == list(range(total))


def test_labels_make_the_folds_that_numbers_make():
    plays = _plays()
    by_number = pn.compare_models({"learner": MODELS["learner"]}, plays, folds=3)
    by_label = pn.compare_models({"learner": MODELS["learner"]}, plays, folds=fold_labels(plays, 3))
    np.testing.assert_allclose(
        by_label.held_out_log_likelihood, by_number.held_out_log_likelihood, rtol=1e-9
    )


def test_events_that_are_not_scored_need_no_label():
    plays = _plays(n_subjects=1)
    labels = [np.where(e.scored, "ab"[k], None) for k, e in enumerate(plays)]
    by_label, by_block = (
        pn.compare_models({"habit": MODELS["habit"]}, plays, folds=folds)
        for folds in (labels, "block")
    )
    np.testing.assert_allclose(
        by_label.held_out_log_likelihood, by_block.held_out_log_likelihood, rtol=1e-12
    )


def test_averaged_predictions_are_those_of_predict():
    plays = _plays(n_subjects=1)
    found = pn.compare_models({"learner": MODELS["learner"]}, plays, folds="block", average=True)
    fitted = pn.fit(plays[1:], MODELS["learner"], parameter_prior=pn.ScaledPrior())
    p = fitted.predict(plays[0], average=True)
    by_hand = np.log(p[np.arange(len(p)), plays[0].scored_options])
    values = found.held_out.log_likelihoods["learner"]
    np.testing.assert_allclose(values[: len(by_hand)], by_hand, rtol=1e-6)


def test_likelihood_ratios_are_compared_with_chi_squared():
    plays = _plays()
    found = pn.compare_models(MODELS, plays, nested=[("learner", "sticky")])
    (ratio,) = found.likelihood_ratios
    by_hand = 2 * (found.log_likelihood[:, 1] - found.log_likelihood[:, 0])
    assert ratio.df == 1
    np.testing.assert_allclose(ratio.statistics, by_hand)
    np.testing.assert_allclose(ratio.p_values, stats.chi2(1).sf(by_hand))
    assert ratio.total_p_value == pytest.approx(stats.chi2(3).sf(by_hand.sum()))
    assert not len(ratio.impossible)
    assert "learner in sticky: likelihood ratio" in found.summary()


def test_p_values_are_uniform_where_the_smaller_model_is_true():
    task = pn.Task(pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.1)), 150)
    rng = np.random.default_rng(8)
    plays = [
        pn.simulate(task, pn.models.RandomChoice(2), {"bias_0": 0.2}, rng=rng, subject=i)
        for i in range(120)
    ]

    found = pn.compare_models(
        {"habit": pn.models.RandomChoice(2), "more": _Lagged()}, plays, nested=[("habit", "more")]
    )
    assert stats.kstest(found.likelihood_ratios[0].p_values, "uniform").pvalue > 1e-3


class _Lagged:
    """Random choice, and a preference for what was chosen before."""

    weights = ("bias", "stay")
    shape = ()

    def explanatory(self, episode):
        x = np.zeros((episode.n_events, 2, 2))
        x[:, 0, 0] = 1.0
        before = episode.chosen[:-1]
        x[np.arange(1, episode.n_events), before, 1] = 1.0
        return x


def test_models_that_are_not_nested_are_found_out():
    models = {"learner": MODELS["learner"], "lags": pn.models.HistoryRegression(3, choice_lags=3)}
    found = pn.compare_models(models, _plays(), nested=[("learner", "lags")])
    assert len(found.likelihood_ratios[0].impossible)
    assert "The larger model fits worse for s0" in found.summary()


def test_without_a_prior_separated_folds_make_the_loss_infinite_and_it_says_so():
    sure = pn.Task(pn.Landscape([0.1, 0.9], pn.GaussianNoise(0.01)), 24)
    rule = {"temperature": 0.02, "learning_rate": 0.5}
    plays = [
        pn.simulate(sure, pn.QLearning(2), rule, rng=np.random.default_rng(i), subject=i)
        for i in range(4)
    ]
    models = {"learner": pn.QLearning(2)}
    weak, plain = (
        pn.compare_models(models, plays, folds=3, parameter_prior=prior)
        for prior in (pn.ScaledPrior(), None)
    )
    assert np.isfinite(weak.totals).all() and weak.best == "learner"
    assert np.isinf(plain.totals).all() and plain.best is None
    assert plain.held_out.without["learner"] > 0
    assert "whose loss is infinite" in plain.summary() and "Best: none" in plain.summary()
    assert plain.selection is None and "weak" in weak.summary()


def test_people_who_follow_different_models_are_told_apart():
    turning = np.repeat([[0.2, 0.8], [0.8, 0.2], [0.1, 0.7]], 40, axis=0)
    task, rng = pn.Task(turning), np.random.default_rng(5)
    rules = [(pn.QLearning(2), {"temperature": 0.15, "learning_rate": 0.4})] * 6
    rules += [(pn.models.RandomChoice(2), {"bias_0": 0.9})] * 3
    plays = [pn.simulate(task, m, rule, rng=rng, subject=i) for i, (m, rule) in enumerate(rules)]
    found = pn.compare_models(
        {"learner": pn.QLearning(2), "habit": pn.models.RandomChoice(2)}, plays
    )
    assert found.n_best.tolist() == [6, 3]
    assert found.selection.frequencies == pytest.approx([7 / 11, 4 / 11], abs=0.05)
    evidence = pn.results.select_models(-found.bic / 2, found.names)
    assert found.selection.exceedance == pytest.approx(evidence.exceedance)


def test_differences_are_positive_where_the_first_is_better():
    found = pn.compare_models(MODELS, _plays(), criterion="aic")
    differences = found.differences("learner", "habit")
    np.testing.assert_allclose(differences, found.aic[:, 2] - found.aic[:, 0])
    spread = found.scores() - found.scores()[:, [found.names.index(found.best)]]
    np.testing.assert_allclose(found.standard_errors, np.sqrt(3) * spread.std(axis=0, ddof=1))


def test_the_order_of_subjects_does_not_matter():
    plays = _plays()
    turned = [e for subject in ("s2", "s0", "s1") for e in plays if e.subject == subject]
    found, other = (pn.compare_models(MODELS, given, folds="block") for given in (plays, turned))
    order = [other.subjects.index(subject) for subject in found.subjects]
    np.testing.assert_allclose(found.bic, other.bic[order], rtol=1e-9)
    np.testing.assert_allclose(
        found.held_out_log_likelihood, other.held_out_log_likelihood[order], rtol=1e-9
    )
    np.testing.assert_allclose(found.selection.alpha, other.selection.alpha, rtol=1e-8)


def test_interleaved_episodes_of_subjects_are_kept_apart():
    plays = _plays()
    mixed = [plays[k] for k in (0, 2, 4, 1, 3, 5)]
    found, other = (
        pn.compare_models({"h": MODELS["habit"]}, given, folds=3) for given in (plays, mixed)
    )
    np.testing.assert_allclose(
        found.held_out.log_likelihoods["h"], other.held_out.log_likelihoods["h"], rtol=1e-9
    )
    assert found.held_out.subjects.tolist() == other.held_out.subjects.tolist()


def test_static_choices_are_compared_too():
    rng = np.random.default_rng(3)
    offers = {
        "amount": np.column_stack([rng.uniform(5, 20, 60), rng.uniform(20, 60, 60)]),
        "delay": np.column_stack([np.zeros(60), rng.uniform(5, 200, 60)]),
    }
    rule = {"temperature": 4.0, "discount_rate": 0.02}
    plays = [
        pn.simulate(offers, pn.HyperbolicDiscounting(), rule, rng=rng, subject=i) for i in range(4)
    ]
    models = {
        "hyperbolic": pn.HyperbolicDiscounting(),
        "exponential": pn.models.ExponentialDiscounting(),
    }
    found = pn.compare_models(models, plays, folds=5)
    assert np.isfinite(found.totals).all()
    assert len(found.held_out.events) == 240


def test_subjects_without_a_decision_are_left_out_and_named():
    silent = pn.Episode([-1, -1], [np.nan, np.nan], subject="quiet")
    found = pn.compare_models({"habit": pn.models.RandomChoice(3)}, [silent, *_plays()])
    assert found.left_out == ("quiet",) and found.subjects == ("s0", "s1", "s2")
    assert "Left out, without a decision: quiet" in found.summary()


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_the_result(threads):
    plays = _plays()
    found = pn.compare_models(MODELS, plays, folds=3, threads=threads)
    same = pn.compare_models(MODELS, plays, folds=3)
    np.testing.assert_allclose(
        found.held_out_log_likelihood, same.held_out_log_likelihood, rtol=1e-9
    )


def test_tables_and_documents_hold_all_of_it():
    found = pn.compare_models(MODELS, _plays(), folds=3, nested=[("learner", "sticky")])
    assert found.to_frame(backend="pyarrow").num_rows == 9
    rows = found.decisions(backend="pyarrow")
    assert rows.num_rows == int(found.n_decisions.sum())
    assert set(MODELS) < set(rows.column_names)
    document = json.loads(json.dumps(found.to_dict()))
    assert document["best"] == found.best
    assert [m["name"] for m in document["models"]] == list(MODELS)
    assert repr(found).startswith("<ModelComparison of learner, sticky, habit for 3 subjects")
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "folds must be"),
        ({"folds": "blocks"}, "folds must be 'block', a number of folds, or labels"),
        ({"folds": [[0, 1]]}, "folds must hold labels for each of the 6 episodes; got 1"),
        ({"folds": [np.zeros(3)] * 6}, r"folds must hold 26 labels, one per event, for episode 0"),
        ({"folds": [np.zeros(26)] * 6}, "got one fold only for subject s0"),
        ({"folds": [[None, *"ab" * 12, "a"]] * 6}, "got none at event 0 of episode 0"),
        ({"folds": [[*np.arange(25.0), np.nan]] * 6}, "got none at event 25 of episode 0"),
        ({"criterion": "held_out"}, "criterion must be 'aic' or 'bic' where nothing was held out"),
        ({"criterion": "dic"}, "criterion must be one of aic, bic, held_out; got 'dic'"),
        ({"nested": [("learner", "stick")]}, "Did you mean 'sticky'"),
        ({"nested": [("sticky", "learner")]}, r"nested must hold pairs \(smaller, larger\); got"),
        ({"nested": ["learner"]}, "nested must hold pairs"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.compare_models(MODELS, _plays(), **options)


@pytest.mark.parametrize("folds", ["block", 3])
def test_whoever_has_decisions_in_one_fold_only_is_left_out_and_named(folds):
    alone = pn.Episode([1, None], [1, None], subject="brief", block="b0")
    others = _plays()
    found = pn.compare_models(MODELS, [alone, *others], folds=folds)
    without = pn.compare_models(MODELS, others, folds=folds)
    assert found.undivided == ("brief",) and found.left_out == ()
    assert found.subjects == without.subjects
    np.testing.assert_array_equal(found.held_out_log_likelihood, without.held_out_log_likelihood)
    np.testing.assert_array_equal(found.log_likelihood, without.log_likelihood)
    assert "so that none are left to learn from: brief." in " ".join(found.summary().split())


def test_one_block_cannot_be_left_out():
    alone = pn.Episode([0, 1, 2], [1, 0, 1], subject="s0", block="b0")
    with pytest.raises(pn.errors.DataError, match=r"got one block \(b0\) for subject s0"):
        pn.compare_models(MODELS, alone, folds="block")


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([pn.models.RandomChoice(3)], "models must be one or more by name; got list"),
        ({}, "models must be one or more by name"),
        ({"x": 3}, "model must be a model; got int"),
    ],
)
def test_wrong_models_are_refused(models, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.compare_models(models, _plays())


def test_decisions_need_folds():
    found = pn.compare_models({"habit": pn.models.RandomChoice(3)}, _plays())
    with pytest.raises(pn.errors.DataError, match="folds must be given"):
        found.decisions()
    with pytest.raises(pn.errors.DataError, match="model must be 'habit'; got 'habits'"):
        found.differences("habit", "habits")
