"""Sentences of the report: question, summary of the results, and methods of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from penchant._version import __version__
from penchant.errors import MarkedText, format_list, text_with_marks
from penchant.figures.label_text import display_name, name_in_sentence
from penchant.models.offers.attributes import Attributes
from penchant.models.parameter_descriptions import PARAMETER_WORDS
from penchant.population.subject_estimates import positive_parameter_mask, price_sensitivity_warning
from penchant.report.group_sentences import SIGNIFICANT, answers, group_name, p_text, plain_name
from penchant.result_tables import format_count, format_number
from penchant.softmax.prior import ScaledPrior
from penchant.studies.findings import Findings, left_out
from penchant.studies.fitting import validity_of
from penchant.studies.plan import model_words, nominal_text
from penchant.tables.labels import in_natural_order


def question(study: Findings) -> str:
    """The study's question, as a sentence."""
    model = model_words(study.plan.model).split("," if study.plan.model.shape else ", worth")[0]
    who = format_count(study.data.n_people, "subject")
    alone = f"The choices of {who} are modelled with {_model_description(study, model)}"
    modelled = f"{alone}, subject by subject." if study.data.n_people > 1 else f"{alone}."
    questions = [_group_question(column, study) for column in study.data.conditions]
    if study.plan.performance:
        questions.append(
            "What distinguishes subjects whose regret stops growing from those whose regret grows "
            "on?"
        )
    if study.plan.n_replicates:
        ahead = study.how_simulated == "one step ahead"
        agents = "Do agents with these estimates behave like the subjects?"
        ones = "Do the subjects choose" if study.data.n_people > 1 else "Does the subject choose"
        questions.append(f"{ones} as their model expects?" if ahead else agents)
    if not study.data.conditions:
        each = "each" if study.data.n_people > 1 else "the"
        questions.insert(0, f"Which parameters describe {each} subject?")
    return " ".join([*questions, modelled])


def _model_description(study: Findings, described: str) -> str:
    """A model in words, its attributes as readers know them."""
    for name in study.plan.model.weights:
        if display_name(name) != name:
            described = re.sub(
                rf"(?<![\w:]){re.escape(name)}(?![\w:])", display_name(name), described
            )
    if isinstance(study.plan.model, Attributes):
        described = f"a conditional logit of the {described}"
    return described


def _group_question(column: str, study: Findings) -> str:
    labels = in_natural_order(set(study.data.conditions[column].values()))
    named = [group_name(column, str(label)) for label in labels]
    if len(named) == 2:
        return f"Do {' and '.join(named)} (column {column}) differ in their parameters?"
    return (
        f"Do the {len(named)} groups of column {column} ({format_list(named)}) "
        "differ in parameters?"
    )


_NAMES = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b(?![=(])")
_OF_CONDITIONS = re.compile(r"\b[a-z]\w*(?::\w+)?\[[^\[\]]+\]")  # of parameters in a population


def for_reader(message: str, names: Iterable[str] = ()) -> str:
    """A message of the library on a page: parameters in words, also those of the user's own names.

    >>> for_reader("Of prior_mean = 3: use a prior.")
    'Of prior mean = 3: use a prior.'
    >>> for_reader("No spread was found in learning_rate:drug[placebo].")
    'No spread was found in learning rate (placebo).'
    """
    message = text_with_marks(message)
    for name in sorted(names, key=len, reverse=True):
        if name_in_sentence(name) != name:
            message = re.sub(
                rf"(?<![\w=]){re.escape(name)}(?![\w(])", name_in_sentence(name), message
            )
    message = _OF_CONDITIONS.sub(lambda found: name_in_sentence(found[0]), message)
    return _NAMES.sub(
        lambda found: display_name(found[0]) if found[0] in PARAMETER_WORDS else found[0], message
    )


def estimator_text(study: Findings) -> str:
    """The estimator of the exact fits, as readers know it."""
    return "maximum-likelihood" if study.plan.parameter_prior is None else "MAP"


def interval_words(kind: str) -> str:
    """Name of a kind of intervals, with a capital for Wald's."""
    return "Wald" if kind == "wald" else kind


def capital(words: str) -> str:
    """Text with a capital, to begin a sentence."""
    return words[:1].upper() + words[1:]


def summary_sentences(study: Findings) -> list[MarkedText]:
    """Summarise the findings, each in one sentence."""
    data = study.data
    decisions = sum(fit.exact.n_decisions for fit in study.fits.values())
    played = f"{format_count(len(data.episodes), 'block')}, " if data.is_play else ""
    who, trials = format_count(data.n_people, "subject"), format_count(decisions, "trial")
    sentences = [f"Data: {who}, {played}{trials} included."]
    sentences += [
        f"Note: {text_with_marks(note)}" for note in data.notes if data.people is not None
    ][-1:]
    sentences += answers(study)
    sentences += [_performance(study)] if study.plan.performance else []
    counts = ", ".join(f"{count} {status}" for status, count in study.counts().items())
    weak = study.counts().get("weakly identified", 0)
    alone = len(study.subjects) == 1
    means = "Weakly identified estimates are kept in means: read their intervals."
    kept = f" {'Read its interval.' if alone else means}" if weak else ""
    sentences.append(f"{capital(estimator_text(study))} fits: {counts}.{kept}")
    worth = price_sensitivity_warning(
        ((s, study.fits[s].exact) for s in study.subjects), study.plan.model
    )
    sentences += [worth] if worth else []
    sentences += [_linearized(study)] if study.linearized else []
    crossed = _differences(study) if study.plan.performance else []
    return list(map(MarkedText, (*sentences, *crossed, *_agreement(study))))


def _performance(study: Findings) -> str:
    high = sum(1 for order in study.growth if order.category == "high")
    low = sum(1 for order in study.growth if order.category == "low")
    return (
        f"Performance: {high} high (regret grows like a logarithm, or not at all), {low} low "
        f"(linear or power law){_unclassified(len(study.subjects) - high - low)}."
    )


def _unclassified(count: int) -> str:
    return f", {count} with too few trials to tell" if count else ""


def _linearized(study: Findings) -> str:
    found = [fit.linearized for fit in study.fits.values() if fit.linearized is not None]
    valid = sum(validity_of(fit).valid for fit in found)
    return (
        f"Linearised fits, as in the paper: {valid} of {len(found)} lie within the range in which "
        "the linearisation means something."
    )


def _differences(study: Findings) -> list[str]:
    if study.exact_tests is None:
        return []
    tests = study.exact_tests.differences
    clear = [d for d in tests if d.adjusted_p_value < SIGNIFICANT]
    done = sum(not np.isnan(d.p_value) for d in tests)
    if not done:
        return ["Tests by performance: none could be done, as too few subjects have estimates."]
    if not clear:
        none = f"none of {done} differences has p < 0.05 after Holm's adjustment"
        return [f"Tests by performance: {none}."]
    named = [
        f"{plain_name(d.name)} of {d.first} against {d.second} (p {p_text(d.adjusted_p_value)})"
        for d in clear
    ]
    return [
        f"Tests by performance: {len(clear)} of {done} differences have p < 0.05 after Holm's "
        f"adjustment: {format_list(named)}."
    ]


def _agreement(study: Findings) -> list[str]:
    """Compare simulated agents, or predictions one step ahead, with the subjects."""
    if study.how_simulated == "one step ahead":
        return _prediction_agreement(study)
    if not study.plan.performance:
        return _reward_agreement(study)
    pairs = [
        (study.observed[s].regret[-1], fit.simulated.regret[-1])
        for s, fit in study.fits.items()
        if fit.simulated is not None and len(study.observed[s].regret)
    ]
    if not pairs:
        return []
    people, agents = np.mean(pairs, axis=0)
    return [
        f"Forward simulation: {_subject_count(study, len(pairs))} end with a regret of "
        f"{format_number(float(people), 4)} on average, agents with their estimates with "
        f"{format_number(float(agents), 4)}."
    ]


def _reward_agreement(study: Findings) -> list[str]:
    pairs = [
        (np.nanmean(study.observed[s].reward), np.nanmean(fit.simulated.reward))
        for s, fit in study.fits.items()
        if fit.simulated is not None and not np.isnan(study.observed[s].reward).all()
    ]
    if not pairs:
        return []
    people, agents = np.mean(pairs, axis=0)
    return [
        f"Forward simulation: {_subject_count(study, len(pairs))} receive "
        f"{format_number(float(people), 4)} "
        f"a trial on average, agents with their estimates {format_number(float(agents), 4)}."
    ]


def _prediction_agreement(study: Findings) -> list[str]:
    """Compare the expected and the observed share of choices of the likeliest option."""
    known = [fit.simulated for fit in study.fits.values() if fit.simulated is not None]
    pairs = [
        (np.nanmean(one.met), np.nanmean(one.likeliest))
        for one in known
        if one.met is not None and one.likeliest is not None and np.isfinite(one.met).any()
    ]
    if not pairs:
        return []
    people, models = 100 * np.mean(pairs, axis=0)
    return [
        f"Prediction one step ahead: {_subject_count(study, len(pairs))} "
        f"{'choose' if len(pairs) > 1 else 'chooses'} the option that their model holds likeliest "
        f"in {people:.1f} % of trials, where it expects {models:.1f} %."
    ]


def _subject_count(study: Findings, n: int) -> str:
    """Number of subjects; also of fits, if each subject is fitted once in every condition."""
    if study.data.people is None:
        return format_count(n, "subject")
    return f"{format_count(study.data.n_people, 'subject')} ({format_count(n, 'fit')})"


def simulation_text(study: Findings) -> str:
    """Say how agents were simulated, as the end of a sentence about them.

    Captions, methods and the section on agents say the same.
    """
    if study.how_simulated == "payoffs":
        assert study.data.payoffs is not None
        return (
            "agents that play every subject's own blocks anew with the subject's "
            f"estimates: who chooses an option gets {study.data.payoffs.description}, at that "
            "decision "
            "of that subject"
        )
    if study.how_simulated == "landscape":
        return (
            "agents that play anew with each subject's estimates, in the reward environment of "
            f"each block, whose mean rewards are known; rewards are drawn: {_noise(study)}"
        )
    return (
        "the predictions of the model with each subject's estimates at every trial, after the "
        "subject's own choices and rewards before it (one step ahead)"
    )


def not_simulated(study: Findings) -> str:
    """List the subjects who are not simulated: without a finite estimate, or in no group."""
    lost = left_out(study.groups, study.fits)
    grouped = {subject for group in study.groups for subject in group.subjects}
    alone = [subject for subject in study.subjects if subject not in grouped]
    return "".join(
        f" Left out, {why}: {format_count(len(who), 'subject')} ({format_list(map(str, who))})."
        for why, who in (("without a finite estimate", lost), ("as they are in no group", alone))
        if who
    )


def methods(study: Findings) -> list[str]:
    """A methods paragraph for a paper, in its parts."""
    plan = study.plan
    logs = [
        display_name(name)
        for name, log in zip(_names(study), positive_parameter_mask(plan.model), strict=True)
        if log
    ]
    scale = f" ({' and '.join(logs)} as logarithms)" if logs else ""
    how = (
        "maximum likelihood"
        if plan.parameter_prior is None
        else f"maximum a posteriori with {_prior(plan.parameter_prior)} on the weights"
    )
    kind = (
        "likelihood-ratio (profile) intervals" if plan.intervals == "profile" else "Wald intervals"
    )
    shared = "Parameters were shared by the trials of a subject."
    if study.data.is_play:
        shared = (
            "Beliefs started afresh in every block; parameters were shared by the blocks of a "
            "subject."
        )
    paragraphs = [
        f"Choices were modelled by {_model_description(study, model_words(plan.model))}. {shared} "
        f"{_linear(study)} {how}{_search(study)}, with {100 * plan.level:g} % {kind} "
        f"(Penchant {__version__}).",
        *_compared(study, scale),
        *([_regret(study)] if study.plan.performance else []),
        *([_crossed(study)] if study.plan.performance else []),
        *_averaged(study, scale),
        *_everybody(study),
    ]
    if plan.nominals:
        points = "; ".join(
            f"{name} performance: {nominal_text(p)}" for name, p in plan.nominals.items()
        )
        paragraphs.append(
            "The paper's estimator linearises the model about a nominal point per performance "
            f"({points}), averages theta over the subjects of a group with the pooled covariance "
            "sum C / n^2 (Table I), and maps the average back (Table II). Delta / nominal says how "
            "far the estimate lies from the point it was linearised about: beyond 1 the deviation "
            "is larger than the nominal value itself, and at 2 the linearised standard deviation "
            "of an option reaches 0, so that the prior variance comes out as a third of the "
            "nominal one whatever the data."
        )
    if plan.n_replicates:
        paragraphs.append(_simulation(study))
    return paragraphs


def _prior(prior: Any) -> str:
    """The prior of the weights, as a paper says it."""
    if isinstance(prior, ScaledPrior):
        return f"a normal prior, mean 0 and variance {1 / prior.c:.4g} for scaled variables,"
    return f"the prior {prior!r}"


def _linear(study: Findings) -> str:
    if study.plan.model.shape:
        return (
            "For given shape parameters the model is linear in its weights and the log-likelihood "
            "concave, so that parameters were estimated by"
        )
    return (
        "The model is linear in its weights and the log-likelihood concave; parameters were "
        "estimated by"
    )


def _search(study: Findings) -> str:
    if not study.plan.model.shape:
        return ""
    return " with a search over the shape parameters alone, global and without starting values"


def _averaged(study: Findings, scale: str) -> list[str]:
    """Describe how the estimates of several subjects were pooled."""
    if len(study.subjects) < 2:
        return []
    lost = any(rules["random-effects"].left_out for rules in study.exact.values())
    left = "; subjects without a finite estimate are listed and left out, never averaged"
    return [
        f"{capital(estimator_text(study))} estimates of groups were pooled{scale} by random "
        f"effects "
        f"(REML), and by other rules for comparison{left if lost else ''}."
    ]


def _compared(study: Findings, scale: str) -> list[str]:
    """Describe the tests between groups, and between conditions within subjects."""
    sentences = []
    if study.group_tests.differences:
        columns = dict.fromkeys(d.column for d in study.group_tests.differences)
        decided = study.everybody is not None and bool(study.everybody.contrasts)
        beside = " by the hierarchical model below, and in the study's tables" if decided else ""
        sentences.append(
            f"Groups (column {' and '.join(columns)}) were compared{beside} by parameter{scale} by "
            f"Welch's t test, with Hedges' g{_overall(study)}{_ranked(study)} p-values are "
            "two-sided, adjusted by Holm's method over parameters and pairs."
        )
    if study.data.people is not None:
        sentences.append(
            "Conditions varied within subjects, who were fitted once in each of them; conditions "
            "were compared by paired t tests of the estimates of subjects with one in both, with "
            "Cohen's dz, and by Wilcoxon's signed-rank test of all subjects with a rank in both, "
            "adjusted by Holm's method."
        )
    return sentences


def _ranked(study: Findings) -> str:
    if not any(row.n_left_out for row in study.left_out):
        return ", and by Mann-Whitney's test."
    return (
        "; subjects without a finite estimate were left out of these tests, and their shares "
        "compared. Mann-Whitney's test kept them: estimates at an end of the range ranked there, "
        "others without a finite estimate by their interval, overlapping ranges as ties."
    )


def _everybody(study: Findings) -> list[str]:
    """Describe the fit of the population model; empty if there is none."""
    if study.everybody is None:
        return []
    fit = study.everybody.fit
    scales = ", ".join(f"{name_in_sentence(name)}: {link}" for name, link in fit.links.items())
    how = "restricted maximum likelihood" if fit.estimator == "reml" else "maximum likelihood"
    return [
        "In addition a hierarchical model was fitted to all subjects at once: parameters were "
        "assumed to be normally distributed between people on the scale of their link function "
        f"({scales}), and the mean, its dependence on the conditions, and the covariance were "
        f"estimated by {how} of all trials, with the parameters of each person integrated out by "
        "adaptive Gauss-Hermite quadrature. Differences are contrasts of means with Student t "
        "intervals and p-values adjusted by Holm's method over all of them; nobody was left out."
    ]


def _overall(study: Findings) -> str:
    if not study.group_tests.overall:
        return ""
    return ", and more than two groups at once by Welch's F test and Kruskal-Wallis's test"


def _crossed(study: Findings) -> str:
    alike = "performance and condition" if study.data.conditions else "performance"
    return (
        f"Subjects of the same {alike} were also taken for a group. Groups that differ in one "
        "respect were compared by Welch's test of each parameter and a joint test with full "
        "covariances (Hotelling's with unequal covariances), two-sided, adjusted by Holm's method "
        "over all comparisons."
    )


def _simulation(study: Findings) -> str:
    if study.how_simulated == "one step ahead":
        return (
            "For every subject with an estimate, the choice probabilities of the fitted model were "
            "taken at every trial after the subject's own choices and rewards up to it (one "
            "step ahead)."
        )
    paid = f"rewards drawn in known landscapes ({_noise(study)})"
    if study.data.payoffs is not None:
        paid = f"the options they chose paying {study.data.payoffs.description}, at that decision"
    return (
        f"For every subject with an estimate, {study.plan.n_replicates} agents played the "
        "subject's own episodes, with the same options shown and the same decisions missed, making "
        f"their own choices, {paid} (seed {study.plan.seed})."
    )


def _regret(study: Findings) -> str:
    return (
        f"{study.landscapes.description} Where a subject played several episodes, losses were "
        "averaged "
        "over them decision by decision. Curves a + b t, a t^b and a + b log t were fitted to "
        "cumulative regret by least squares; performance is high where the logarithm fits best or "
        "regret does not grow, and low otherwise. Linear against power law is close to arbitrary, "
        f"and both are low.{_bootstrap(study.plan.n_bootstrap)}"
    )


def _noise(study: Findings) -> str:
    if study.landscapes.binary:
        return "0 or 1 with the option's mean as probability"
    return f"normal, with variance {format_number(study.landscapes.noise_for(study.plan.model), 4)}"


def _bootstrap(n: int) -> str:
    if not n:
        return ""
    return f" A wild bootstrap with {n} replicates says how sure the category of a subject is."


def _names(study: Findings) -> tuple[str, ...]:
    return study.fits[study.subjects[0]].exact.natural_names


def format_report_cell(value: Any, digits: int = 4) -> str:
    """Format a value as a cell of a table of the report."""
    if value is None:
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return format_number(float(value), digits).replace("inf", "∞")
    return str(value)
