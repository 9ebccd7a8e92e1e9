"""Model selection: cross-validation folds, likelihood-ratio tests, random-effects selection.

A decision that is held out is not scored in training, but what was chosen and received stays in the
history that later decisions are predicted from: a learner learnt from it, whoever predicts it.

People may follow different models. With r_k the share of people whom model k describes, Dirichlet
with alpha_0 for every model before the data, and L_nk the log-evidence of person n for model k, the
variational posterior of r is Dirichlet with alpha, where (Stephan et al. 2009)

    g_nk ∝ exp(L_nk + digamma(alpha_k) - digamma(sum alpha)),    alpha_k = alpha_0 + sum_n g_nk.

The exceedance probability of a model is that of being the most frequent one. It takes for granted
that frequencies differ; the protected one (Rigoux et al. 2014) does not. With F1 the free energy of
the above, F0 = sum_n log(mean_k exp L_nk) the log-evidence of equal frequencies, and
BOR = 1 / (1 + exp(F1 - F0)) the probability that frequencies are equal,

    protected exceedance = (1 - BOR) exceedance + BOR / K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from scipy import special

from penchant._typing import BoolVector, IntVector, Label, Labels, Matrix, Vector
from penchant.argument_checks import check_number, check_whole_number
from penchant.bandit.episode import Episode
from penchant.choices.offers import Offers
from penchant.errors import DataError, closest_match_hint, format_list, mark_argument
from penchant.inference.fit import History
from penchant.inference.fit_each import fit_each_model
from penchant.models.model import Declared, Model
from penchant.models.spatial.map_basis import MapPrior
from penchant.result_tables import Column, Columns, Result, Table, format_columns
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.prior import ParameterPrior, ScaledPrior
from penchant.tail_probabilities import chi_square_sf

ComparisonPrior = ParameterPrior | MapPrior
Folds = int | Literal["block"] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class CrossValidationSplit:
    """A cross-validation fold of one subject.

    Attributes
    ----------
    subject, fold
        Whose decisions are held out, and what the fold is called.
    training, held_out
        Episodes in which all other decisions are scored, and those in which these are.
    positions
        Which of the subject's scored decisions are held out.
    """

    subject: Label
    fold: Any
    training: tuple[Any, ...]
    held_out: tuple[Any, ...]
    positions: IntVector


def cross_validation_splits(
    episodes: Sequence[History], folds: Folds
) -> list[CrossValidationSplit]:
    """Splits of every subject who has decisions in more than one fold.

    A subject with all decisions in one fold would leave none to train on and has no split. If that
    is true of all subjects it is an error.

    Parameters
    ----------
    episodes
        All that happened.
    folds
        "block": leave out one block after another. A number k: leave out every k-th decision, in k
        ways. Or labels: an array for each episode with a label for each event.
    """
    labels = fold_labels(episodes, folds)
    by_subject: dict[Any, list[int]] = {}
    for k, episode in enumerate(episodes):
        by_subject.setdefault(episode.subject, []).append(k)
    found: list[CrossValidationSplit] = []
    undivided: list[DataError] = []
    for subject, mine in by_subject.items():
        own, parts = [episodes[k] for k in mine], [labels[k] for k in mine]
        names = _folds_with_scored_decisions(own, parts)
        if len(names) > 1:
            found += _subject_splits(subject, own, parts, names)
        elif names:
            undivided.append(_single_fold_error(subject, names, folds))
    if undivided and not found:
        raise undivided[0]
    return found


def _folds_with_scored_decisions(
    episodes: Sequence[History], labels: Sequence[Labels]
) -> list[Any]:
    """Folds that a subject has decisions in."""
    scored = [own[episode.scored] for episode, own in zip(episodes, labels, strict=True)]
    return list(dict.fromkeys(np.concatenate(scored).tolist()))


def fold_labels(episodes: Sequence[History], folds: Folds) -> list[Labels]:
    """The fold of every event, by episode."""
    if isinstance(folds, str):
        if folds != "block":
            raise DataError(
                "folds",
                "must be 'block', a number of folds, or labels",
                got=repr(folds),
                fix="Choose one.",
            )
        return [_constant_labels(episode.block, episode.n_events) for episode in episodes]
    if isinstance(folds, (int, np.integer)):
        return _every_kth_label(episodes, check_whole_number(int(folds), "folds", 2))
    return _labels_of_given_folds(episodes, folds)


def copy_with_scored_mask(episode: History, scored: BoolVector, subject: Label) -> Any:
    """Copy an episode with other decisions scored, under another subject's name.

    All events stay: a learner has learnt from those that are not scored, too.
    """
    if isinstance(episode, Offers):
        return Offers.of_checked(episode.chosen, episode.offers, scored, subject, episode.block)
    events = episode.events._replace(scored=scored)
    return Episode.of_events(events, subject, episode.block, episode.context)


def _every_kth_label(episodes: Sequence[History], k: int) -> list[Labels]:
    """Ordinal of each decision among those of its subject, modulo k."""
    done: dict[Any, int] = {}
    found = []
    for episode in episodes:
        before = done.get(episode.subject, 0)
        number = before + np.cumsum(episode.scored) - 1
        done[episode.subject] = before + episode.n_decisions
        found.append(np.asarray(number % k, dtype=object))
    return found


def _labels_of_given_folds(episodes: Sequence[History], folds: Sequence[Any]) -> list[Labels]:
    if len(folds) != len(episodes):
        raise DataError(
            "folds",
            f"must hold labels for each of the {len(episodes)} episodes",
            got=len(folds),
            fix="Give an array for each, with a label for each event.",
        )
    found = []
    for k, (labels, episode) in enumerate(zip(folds, episodes, strict=True)):
        own = np.asarray(labels, dtype=object)
        if own.shape != (episode.n_events,):
            raise DataError(
                "folds",
                f"must hold {episode.n_events} labels, one per event, for episode {k}",
                got=f"shape {own.shape}",
                fix="Correct it.",
            )
        missing = np.flatnonzero([is_missing(label) for label in own.tolist()] & episode.scored)
        if missing.size:
            places = format_list((f"event {t}" for t in missing[:11]), missing.size)
            raise DataError(
                "folds",
                "must hold a label for every decision that is scored",
                got=f"none at {places} of episode {k}",
                fix="Fill them, or leave these decisions unscored.",
            )
        found.append(own)
    return found


def is_missing(label: Label) -> bool:
    """Whether there is no label: None, or NaN, which is not equal to itself."""
    return label is None or label != label


def _constant_labels(label: Label, n: int) -> Labels:
    found = np.empty(n, dtype=object)
    found[:] = [label] * n
    return found


def _subject_splits(
    subject: Label, episodes: Sequence[History], labels: Sequence[Labels], names: Sequence[Any]
) -> list[CrossValidationSplit]:
    scored = np.concatenate([episode.scored for episode in episodes])
    every = np.concatenate(labels)
    number = {name: k for k, name in enumerate(names)}
    codes = np.array([number.get(label, -1) for label in every.tolist()], dtype=np.int64)
    ends = np.cumsum([episode.n_events for episode in episodes])[:-1]
    by_episode = np.split(codes, ends)
    # Subject and fold together name a training set, so that one batched fit serves all splits.
    return [
        CrossValidationSplit(
            subject,
            name,
            _episodes_scored_at(episodes, [own != k for own in by_episode], (subject, name)),
            _episodes_scored_at(episodes, [own == k for own in by_episode], (subject, name)),
            np.flatnonzero(codes[scored] == k),
        )
        for name, k in number.items()
    ]


def _episodes_scored_at(
    episodes: Sequence[History], masks: Sequence[BoolVector], subject: Label
) -> tuple[Any, ...]:
    """Episodes with only these decisions scored, less those that have none left."""
    both = [(episode, episode.scored & own) for episode, own in zip(episodes, masks, strict=True)]
    return tuple(
        copy_with_scored_mask(episode, scored, subject) for episode, scored in both if scored.any()
    )


def _single_fold_error(subject: Label, names: Sequence[Any], folds: Folds) -> DataError:
    by_block = folds == "block"
    return DataError(
        "folds",
        "must leave something to learn from",
        got=f"one block ({format_list(map(str, names))})" if by_block else "one fold only",
        where="" if subject is None else f"for subject {subject}",
        fix=f"Pass {mark_argument('folds', 5)}, or leave the subject out.",
    )


@dataclass(frozen=True, eq=False)
class HeldOutLogLikelihoods:
    """Log-probabilities of decisions by fits that did not see them.

    Attributes
    ----------
    log_likelihoods
        {model: one per decision}, -inf where a fold has no finite estimate.
    subjects, blocks, events, folds
        Whose decision it is, in which block, which event of it, from 0, and in which fold.
    without
        {model: number of folds without a finite estimate}.
    words
        How the folds were made, and with which prior.
    """

    log_likelihoods: Mapping[str, Vector]
    subjects: Labels
    blocks: Labels
    events: IntVector
    folds: Labels
    without: Mapping[str, int]
    words: str

    def totals(self, subjects: tuple[Label, ...]) -> Matrix:
        """Sums over the decisions of each subject: (n_subjects, n_models)."""
        index = {subject: i for i, subject in enumerate(subjects)}
        owner = np.array([index[subject] for subject in self.subjects.tolist()], dtype=np.int64)
        return np.column_stack(
            [
                np.array([values[owner == i].sum() for i in range(len(subjects))])
                for values in self.log_likelihoods.values()
            ]
        )


def held_out_log_likelihoods(
    models: Mapping[str, Model],
    episodes: Sequence[History],
    splits: Sequence[CrossValidationSplit],
    parameter_prior: ComparisonPrior | None,
    average: bool,
    threads: int | None,
    fold_and_prior_description: str,
) -> HeldOutLogLikelihoods:
    """Predict every decision by fits to the other folds of its subject.

    Parameters
    ----------
    models
        By name.
    episodes
        Of the subjects that have splits.
    splits
        What `cross_validation_splits` returned.
    parameter_prior, average, threads
        As in `compare_models`.
    fold_and_prior_description
        How the folds were made, and with which prior.
    """
    # Decisions are laid out subject by subject, as those of one subject may be in episodes that are
    # apart; positions of a split count from the first of its subject.
    subjects = list(dict.fromkeys(episode.subject for episode in episodes))
    ordered = [e for subject in subjects for e in episodes if e.subject == subject]
    counts = {s: sum(e.n_decisions for e in ordered if e.subject == s) for s in subjects}
    starts = dict(zip(subjects, np.cumsum([0, *counts.values()])[:-1].tolist(), strict=True))
    n = sum(counts.values())
    folds = np.empty(n, dtype=object)
    for split in splits:
        for position in split.positions:
            folds[starts[split.subject] + position] = split.fold
    training = [episode for split in splits for episode in split.training]
    log_likelihoods, without = {}, {}
    for name, model in models.items():
        prior = parameter_prior
        # A prior of maps has no meaning for a model without one: only its part for other weights is
        # used.
        if isinstance(prior, MapPrior) and Declared(model).prior_map is None:
            prior = ScaledPrior(prior.others)
        estimates = fit_each_model(training, model, parameter_prior=prior, threads=threads)
        # A fold without a finite estimate predicts nothing. Its loss is infinite: leaving it out
        # would favour the model that fails.
        values, n_without = np.full(n, -np.inf), 0
        for split, estimate in zip(splits, _estimates_by_split(estimates, splits), strict=True):
            if np.isfinite(estimate.theta).all():
                at = starts[split.subject] + split.positions
                values[at] = _predicted_log_likelihoods(estimate, split.held_out, average)
            else:
                n_without += 1
        log_likelihoods[name], without[name] = values, n_without
    return HeldOutLogLikelihoods(
        log_likelihoods,
        object_array([e.subject for e in ordered for _ in range(e.n_decisions)]),
        object_array([e.block for e in ordered for _ in range(e.n_decisions)]),
        np.concatenate([np.flatnonzero(e.scored) for e in ordered]),
        folds,
        without,
        fold_and_prior_description,
    )


def _estimates_by_split(
    estimates: Estimates, cut: Sequence[CrossValidationSplit]
) -> list[Estimate]:
    index = {label: k for k, label in enumerate(estimates.subjects)}
    return [estimates[index[(split.subject, split.fold)]] for split in cut]


def _predicted_log_likelihoods(
    estimate: Estimate, episodes: tuple[Any, ...], average: bool
) -> Vector:
    if not average:
        return np.asarray(estimate.log_likelihoods(episodes))
    p = estimate.predict(episodes, average=True)
    chosen = np.concatenate([episode.scored_options for episode in episodes])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p[np.arange(len(chosen)), chosen]))


def object_array(values: list[Any]) -> Labels:
    """Vector of any objects; np.array would make a matrix of tuples."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


# Log-units by which a nesting model may fit worse before the pair is called not nested: above the
# tolerances of two searches, and far below what a test could notice.
NESTING_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """Whether the data need the larger of two nested models.

    Twice the difference of the log-likelihoods is compared with a chi-squared distribution. That a
    model is nested in the other is taken on the user's word. Where the smaller model lies at the
    edge of the larger one, such as a learning rate of 0, p-values are too large.

    Attributes
    ----------
    smaller, larger
        Names of the models.
    statistics, p_values
        One per subject.
    df
        Parameters that the larger model has more.
    """

    json_names = ("smaller", "larger", "df", "statistics", "p_values", "total", "total_p_value")
    smaller: str
    larger: str
    statistics: Vector
    df: int

    @property
    def p_values(self) -> Vector:
        """Probability of such a statistic, or a larger one, under the smaller model."""
        return np.asarray(chi_square_sf(self.statistics, self.df))

    @property
    def total(self) -> float:
        """Sum of the statistics."""
        return float(self.statistics.sum())

    @property
    def total_p_value(self) -> float:
        """P-value of the sum, with the degrees of freedom of all subjects together."""
        return float(chi_square_sf(self.total, self.df * len(self.statistics)))

    @property
    def impossible(self) -> IntVector:
        """Indices of subjects whom the larger model fits worse: it does not nest the smaller."""
        return np.flatnonzero(self.statistics < -2 * NESTING_TOL)


def likelihood_ratios(
    nested: Sequence[tuple[str, str]],
    names: Sequence[str],
    log_likelihood: Any,
    n_parameters: Sequence[int],
) -> tuple[LikelihoodRatio, ...]:
    """Tests of the pairs (smaller, larger) that are said to be nested."""
    return tuple(
        LikelihoodRatio(
            names[a],
            names[b],
            2.0 * (log_likelihood[:, b] - log_likelihood[:, a]),
            n_parameters[b] - n_parameters[a],
        )
        for a, b in checked_nested_pairs(nested, names, n_parameters)
    )


def checked_nested_pairs(
    nested: Sequence[tuple[str, str]], names: Sequence[str], n_parameters: Sequence[int]
) -> list[tuple[int, int]]:
    """Indices of the models of each pair, after checking them."""
    found = []
    for pair in nested:
        if isinstance(pair, str) or len(pair) != 2:
            raise DataError(
                "nested",
                "must hold pairs (smaller, larger) of names",
                got=repr(pair),
                fix="Correct it.",
            )
        for name in pair:
            if name not in names:
                raise DataError(
                    "nested",
                    f"must name models among {', '.join(names)}",
                    got=repr(name),
                    fix=closest_match_hint(name, names) or "Correct it.",
                )
        a, b = (list(names).index(name) for name in pair)
        if n_parameters[a] >= n_parameters[b]:
            raise DataError(
                "nested",
                "must hold pairs (smaller, larger)",
                got=(
                    f"{pair[0]} with {n_parameters[a]} parameters and {pair[1]} with "
                    f"{n_parameters[b]}"
                ),
                fix="Turn them round, or leave the pair out.",
            )
        found.append((a, b))
    return found


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """Settings of random-effects model selection."""

    # Iterations of the variational posterior: convergence is linear, and slow only where two models
    # are nearly tied in everybody.
    max_iterations: int = 10_000
    # In people, as alpha is a count; far below the three digits that are printed.
    alpha_tol: float = 1e-10
    # Absolute error of a probability; far below the digits that are printed.
    quadrature_tol: float = 1e-10
    # Limit of the adaptive rule: large alpha make the integrand a step that it refines.
    max_subintervals: int = 400


SELECTION = SelectionOptions()


COLUMNS = (
    Column("model", "model"),
    Column("frequency", "share of people", ".3f"),
    Column("exceedance", "exceedance", ".3f"),
    Column("protected_exceedance", "protected", ".3f"),
)


@dataclass(frozen=True, eq=False, repr=False)
class ModelSelection(Result):
    """Frequencies of models among people, by random-effects Bayesian selection.

    Attributes
    ----------
    names
        Of the models.
    alpha
        Parameters of the Dirichlet posterior of the models' frequencies.
    frequencies
        Expected share of people that each model describes.
    exceedance, protected_exceedance
        Probability that each model is the most frequent one, frequencies taken to differ, or not.
    equal_probability
        Bayesian omnibus risk (BOR): probability that all models are as frequent.
    responsibilities
        Probability that each person follows each model: (n_subjects, n_models).
    """

    names: tuple[str, ...]
    alpha: Vector
    exceedance: Vector
    protected_exceedance: Vector
    equal_probability: float
    responsibilities: Matrix

    @property
    def frequencies(self) -> Vector:
        """Expected share of people that each model describes."""
        return np.asarray(self.alpha / self.alpha.sum())

    def frame_columns(self) -> Columns:
        """A row per model."""
        return {
            "model": self.names,
            "alpha": self.alpha.tolist(),
            "frequency": self.frequencies.tolist(),
            "exceedance": self.exceedance.tolist(),
            "protected_exceedance": self.protected_exceedance.tolist(),
        }

    def table(self) -> Table:
        """The summary as a table."""
        header, rows = format_columns(self.frame_columns(), COLUMNS)
        return Table(
            "Bayesian model selection, random effects",
            (
                ("Subjects", str(len(self.responsibilities))),
                ("Equally frequent", f"probability {self.equal_probability:.3f}"),
            ),
            header,
            rows,
            (),
        )

    def __repr__(self) -> str:
        best = int(np.argmax(self.protected_exceedance))
        return (
            f"<ModelSelection: {self.names[best]} most frequent with probability "
            f"{self.protected_exceedance[best]:.3f} (protected)>"
        )


def select_models(
    log_evidence: Any, names: Sequence[str] | None = None, *, prior_count: float = 1.0
) -> ModelSelection:
    """Random-effects Bayesian model selection from the log-evidence of every person.

    Parameters
    ----------
    log_evidence
        (n_subjects, n_models): log-evidence or what stands for it, such as -BIC/2 or the
        cross-validated log-likelihood.
    names
        Of the models.
    prior_count
        alpha_0 of every model; 1: all frequencies are as likely before the data.

    Examples
    --------
    Nine people for whom the first model is better, one for whom the second is:

    >>> import penchant as pn
    >>> found = pn.results.select_models([[0.0, -5.0]] * 9 + [[-5.0, 0.0]], ["learner", "habit"])
    >>> found.frequencies.round(2), found.exceedance.round(3)
    (array([0.84, 0.16]), array([0.995, 0.005]))
    >>> found.protected_exceedance.round(2)
    array([0.95, 0.05])
    """
    evidence = _checked_evidence(log_evidence)
    n_models = evidence.shape[1]
    check_number(prior_count, "prior_count", above=0, fix="1 is usual.")
    labels = tuple(names) if names is not None else tuple(f"model {k + 1}" for k in range(n_models))
    if len(labels) != n_models:
        raise DataError(
            "names",
            f"must be {n_models}, one per column of log_evidence",
            got=len(labels),
            fix="Name every model.",
        )
    alpha, g = _variational_posterior(evidence, prior_count)
    exceedance = exceedance_probabilities(alpha)
    equal = float(special.expit(null_log_evidence(evidence) - free_energy(evidence, alpha, g)))
    protected = (1.0 - equal) * exceedance + equal / n_models
    return ModelSelection(labels, alpha, exceedance, protected, equal, g)


def exceedance_probabilities(alpha: Vector) -> Vector:
    """Probability of each share of a Dirichlet distribution to be the largest.

    Two shares: the Beta distribution function at 1/2. More: shares are Gamma variables divided by
    their sum, so that with their densities f and distribution functions G

        P(k is largest) = integral f_k(x) prod_{j != k} G_j(x) dx,

    one integral over the probabilities of G_k each.

    Examples
    --------
    >>> exceedance_probabilities(np.array([2.0, 1.0])).tolist()
    [0.75, 0.25]
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if len(alpha) == 1:
        return np.ones(1)
    if len(alpha) == 2:
        second = special.betainc(alpha[0], alpha[1], 0.5)
        return np.array([1.0 - second, second])
    found = np.array([_probability_of_largest(alpha, k) for k in range(len(alpha))])
    # Probabilities sum to 1 but for the error of the quadrature.
    return np.asarray(found / found.sum())


def _probability_of_largest(alpha: Vector, k: int) -> float:
    others = np.delete(alpha, k)

    def below(u: float) -> float:
        x = special.gammaincinv(alpha[k], u)
        return float(np.prod(special.gammainc(others, x)))

    # The integrand rises where the largest of the others has its middle: without a break point
    # there, the adaptive rule can miss a steep step.
    middle = float(special.gammainc(alpha[k], others.max()))
    breaks = [p for p in (middle,) if 0.0 < p < 1.0]
    value, _ = scipy.integrate.quad(
        below,
        0.0,
        1.0,
        points=breaks or None,
        limit=SELECTION.max_subintervals,
        epsabs=SELECTION.quadrature_tol,
    )
    return float(value)


def null_log_evidence(evidence: Matrix) -> float:
    """Log-evidence of equal frequencies, F0: every model has chance 1/K in every person."""
    n, n_models = evidence.shape
    return float(special.logsumexp(evidence, axis=1).sum() - n * np.log(n_models))


def free_energy(evidence: Matrix, alpha: Vector, g: Matrix) -> float:
    """Lower bound F1 of the log-evidence of unequal frequencies, at the variational posterior."""
    counts = g.sum(axis=0)
    before = alpha - counts
    logs = special.digamma(alpha) - special.digamma(alpha.sum())
    joint = (g * evidence).sum() + (counts * logs).sum()
    shares = ((before - alpha) * logs).sum() - _log_beta(before) + _log_beta(alpha)
    return float(joint + shares - special.xlogy(g, g).sum())


def _log_beta(alpha: Vector) -> float:
    return float(special.gammaln(alpha).sum() - special.gammaln(alpha.sum()))


def _variational_posterior(evidence: Matrix, prior_count: float) -> tuple[Vector, Matrix]:
    """Fixed point of alpha and g (Stephan et al. 2009), by iteration from the prior."""
    alpha = np.full(evidence.shape[1], prior_count)
    for _ in range(SELECTION.max_iterations):
        # digamma(sum alpha) is the same for all models and cancels.
        g = special.softmax(evidence + special.digamma(alpha), axis=1)
        updated = prior_count + g.sum(axis=0)
        change = float(np.abs(updated - alpha).max())
        alpha = updated
        if change < SELECTION.alpha_tol:
            break
    return alpha, g


def _checked_evidence(log_evidence: Any) -> Matrix:
    evidence = np.array(log_evidence, dtype=np.float64)
    if evidence.ndim != 2 or not evidence.size:
        raise DataError(
            "log_evidence",
            "must have shape (n_subjects, n_models)",
            got=evidence.shape,
            fix="Give a row per person and a column per model.",
        )
    wrong = np.argwhere(~np.isfinite(evidence))
    if len(wrong):
        cells = format_list(
            (f"{evidence[n, k]} at person {n}, model {k}" for n, k in wrong[:11]), len(wrong)
        )
        raise DataError(
            "log_evidence",
            "must be finite",
            got=cells,
            fix="Leave these people out, or fit with a parameter_prior.",
        )
    return evidence
