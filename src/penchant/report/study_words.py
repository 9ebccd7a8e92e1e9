"""What a study found and how, in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._version import __version__
from penchant.choices.notes import counted
from penchant.errors import listing
from penchant.softmax.tables import number, p_value
from penchant.study import Study
from penchant.study.forward_table import left_out
from penchant.study.plan import model_words, nominal_words
from penchant.study.working_scale import LOG, positive

SIGNIFICANT = 0.05


def asked(study: Study) -> str:
    """What the study asks."""
    model = model_words(study.plan.model).split(",")[0]
    who = counted(study.data.n_people, "subject")
    if not study.data.is_play:
        compared = "; and do conditions differ" if study.data.conditions else ""
        return f"What did each of {who} want, taken to choose by {model}{compared}?"
    compared = ", and whether conditions differ" if study.data.conditions else ""
    return (
        f"What did each of {who} want and believe, taken to choose by {model}; what sets those "
        f"apart whose regret stops growing from the others{compared}; and do agents with these "
        "estimates behave like the people they come from?"
    )


def in_short(study: Study) -> list[str]:
    """The findings, each in one sentence."""
    data = study.data
    decisions = sum(fit.exact.n_decisions for fit in study.fits.values())
    played = f"{counted(len(data.episodes), 'episode')}, " if data.is_play else ""
    who, scored = counted(data.n_people, "subject"), counted(decisions, "decision")
    said = [f"Data: {who}, {played}{scored} scored."]
    said += [f"Note: {note}" for note in data.notes if data.people is not None][-1:]
    said += [_performance(study)] if data.is_play else []
    counts = ", ".join(f"{count} {status}" for status, count in study.counts().items())
    said.append(f"Exact fits: {counts}.")
    said += [_linearized(study)] if study.linearized else []
    return [*said, *_differences(study), *_paired(study), *_agreement(study)]


def _performance(study: Study) -> str:
    high = sum(1 for order in study.growth if order.category == "high")
    low = sum(1 for order in study.growth if order.category == "low")
    return (
        f"Performance: {high} high (regret grows like a logarithm, or not at all), {low} low "
        f"(linear or power law){_unclassified(len(study.subjects) - high - low)}."
    )


def _paired(study: Study) -> list[str]:
    """Differences between conditions within subjects."""
    done = [d for d in study.paired_tests if not np.isnan(d.p_value)]
    if not study.paired_tests:
        return []
    if not done:
        return ["Tests within subjects: none could be done, as too few have estimates in both."]
    clear = [d for d in done if d.adjusted_p_value < SIGNIFICANT]
    named = [
        f"{_plain(d.name)} in {d.first} against {d.second} (p {_p(d.adjusted_p_value)})"
        for d in clear
    ]
    found = f"{len(clear)} of {len(done)} paired differences have p < 0.05 after Holm's adjustment"
    return [f"Tests within subjects: {found}{': ' + listing(named) if clear else ''}."]


def _unclassified(count: int) -> str:
    return f", {count} with too few decisions to tell" if count else ""


def _linearized(study: Study) -> str:
    found = [fit.linearized for fit in study.fits.values() if fit.linearized is not None]
    valid = sum(fit.valid for fit in found)
    return (
        f"Linearised fits, as in the paper: {valid} of {len(found)} lie within the range in which "
        "the linearisation means something."
    )


def _differences(study: Study) -> list[str]:
    if study.exact_tests is None:
        return []
    tests = study.exact_tests.differences
    clear = [d for d in tests if d.adjusted_p_value < SIGNIFICANT]
    done = sum(not np.isnan(d.p_value) for d in tests)
    if not done:
        return ["Tests between groups: none could be done, as too few subjects have estimates."]
    if not clear:
        none = f"none of {done} differences has p < 0.05 after Holm's adjustment"
        return [f"Tests between groups: {none}."]
    named = [
        f"{_plain(d.name)} of {d.first} against {d.second} (p {_p(d.adjusted_p_value)})"
        for d in clear
    ]
    return [
        f"Tests between groups: {len(clear)} of {done} differences have p < 0.05 after Holm's "
        f"adjustment: {listing(named)}."
    ]


def _agreement(study: Study) -> list[str]:
    """How agents, or the models one step ahead, compare with the people they come from."""
    if study.how_simulated == "one step ahead":
        return _ahead(study)
    pairs = [
        (study.observed[s].regret[-1], fit.simulated.regret[-1])
        for s, fit in study.fits.items()
        if fit.simulated is not None and len(study.observed[s].regret)
    ]
    if not pairs:
        return []
    people, agents = np.mean(pairs, axis=0)
    return [
        f"Forward simulation: {counted(len(pairs), 'subject')} end with a regret of "
        f"{number(float(people), 4)} on average, agents with their estimates with "
        f"{number(float(agents), 4)}."
    ]


def _ahead(study: Study) -> list[str]:
    """What the models expected one step ahead, and what the people then did."""
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
        f"Forward simulation, one step ahead, as the table does not say what every option paid: "
        f"{counted(len(pairs), 'subject')} choose the option that their model holds likeliest in "
        f"{people:.1f} % of decisions, where it expects {models:.1f} %."
    ]


def simulation_words(study: Study) -> str:
    """How agents were simulated, as the end of a sentence about them.

    Captions, methods and the section on agents say the same.
    """
    if study.how_simulated == "payoffs":
        assert study.data.payoffs is not None
        return (
            "agents that play every subject's own episodes anew with the subject's exact "
            f"estimates: who chooses an option gets {study.data.payoffs.words}, at that decision "
            "of that subject"
        )
    if study.how_simulated == "landscape":
        return (
            "agents that play anew with each subject's exact estimates, in the landscape of each "
            f"episode, whose mean rewards are known; rewards are drawn: {_noise(study)}"
        )
    return (
        "what the model expects with each subject's exact estimates at every decision, after what "
        "the subject truly chose and received before it (one step ahead). Nobody plays anew, as "
        "the table does not say what every option paid"
    )


def not_simulated(study: Study) -> str:
    """How many subjects are left out: without an estimate to simulate with, or in no group."""
    lost = left_out(study.groups, study.fits)
    grouped = {subject for group in study.groups for subject in group.subjects}
    alone = [subject for subject in study.subjects if subject not in grouped]
    return "".join(
        f" Left out, {why}: {counted(len(who), 'subject')} ({listing(map(str, who))})."
        for why, who in (("without a finite estimate", lost), ("as they are in no group", alone))
        if who
    )


def methods(study: Study) -> list[str]:
    """A methods paragraph for a paper, in its parts."""
    plan = study.plan
    logs = [
        _axis(name) for name, log in zip(_names(study), positive(plan.model), strict=True) if log
    ]
    scale = f" ({' and '.join(logs)} as logarithms)" if logs else ""
    how = (
        "maximum likelihood"
        if plan.parameter_prior is None
        else f"maximum a posteriori with the prior {plan.parameter_prior!r} on the weights"
    )
    kind = (
        "likelihood-ratio (profile) intervals" if plan.intervals == "profile" else "Wald intervals"
    )
    alike = "performance and condition" if study.data.conditions else "performance"
    alike = alike if study.data.is_play else "condition"
    shared = "Parameters were shared by the decisions of a subject."
    if study.data.is_play:
        shared = (
            "Beliefs started afresh in every episode; parameters were shared by the episodes of a "
            "subject."
        )
    paragraphs = [
        f"Choices were modelled by {model_words(plan.model)}. {shared} For given shape parameters "
        "the model is linear in its weights and the log-likelihood concave, so that parameters "
        f"were estimated by {how} with a search over the shape parameters alone, global and "
        f"without starting values, with {100 * plan.level:g} % {kind} (Penchant {__version__}).",
        *([_regret(study)] if study.data.is_play else []),
        f"Groups are subjects of the same {alike}. "
        f"Exact estimates were pooled{scale} by random effects (REML), and by other rules for "
        "comparison; subjects without a finite estimate are listed and left out, never averaged. "
        "Groups that differ in one respect were compared by Welch's test of each parameter and a "
        "joint test with full covariances (Hotelling's with unequal covariances), two-sided, "
        "adjusted by Holm's method over all comparisons.",
    ]
    if study.data.people is not None:
        paragraphs.append(
            "Conditions varied within subjects, who were fitted once in each of them; conditions "
            "were compared by paired t tests of the estimates of subjects with one in both, "
            "adjusted by Holm's method, and by Wilcoxon's signed-rank test."
        )
    if plan.nominals:
        points = "; ".join(
            f"{name} performance: {nominal_words(p)}" for name, p in plan.nominals.items()
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


def _simulation(study: Study) -> str:
    if study.how_simulated == "one step ahead":
        return (
            "For every subject with an estimate, the choice probabilities of the fitted model were "
            "taken at every decision after the subject's own choices and rewards up to it (one "
            "step ahead). Rewards and regret were not simulated, as what options paid that were "
            "not chosen is not known: columns of payoffs, or a landscape, let agents play."
        )
    paid = f"rewards drawn in known landscapes ({_noise(study)})"
    if study.data.payoffs is not None:
        paid = f"what they chose paying {study.data.payoffs.words}, at that decision"
    return (
        f"For every subject with an estimate, {study.plan.n_replicates} agents played the "
        "subject's own episodes, with the same options shown and the same decisions missed, making "
        f"their own choices, {paid} (seed {study.plan.seed})."
    )


def _regret(study: Study) -> str:
    return (
        f"{study.landscapes.words} Where a subject played several episodes, losses were averaged "
        "over them decision by decision. Curves a + b t, a t^b and a + b log t were fitted to "
        "cumulative regret by least squares; performance is high where the logarithm fits best or "
        "regret does not grow, and low otherwise. Linear against power law is close to arbitrary, "
        f"and both are low.{_bootstrap(study.plan.n_bootstrap)}"
    )


def _noise(study: Study) -> str:
    if study.landscapes.binary:
        return "0 or 1 with the option's mean as probability"
    variance = getattr(study.plan.model, "noise_variance", study.landscapes.noise_variance)
    return f"normal, with variance {number(float(variance), 4)}"


def _bootstrap(n: int) -> str:
    if not n:
        return ""
    return f" A wild bootstrap with {n} replicates says how sure the category of a subject is."


def _names(study: Study) -> tuple[str, ...]:
    return study.fits[study.subjects[0]].exact.natural_names


def _axis(name: str) -> str:
    return name.replace("_", " ")


def _plain(name: str) -> str:
    return _axis(name.removeprefix(LOG))


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def shown(value: Any, digits: int = 4) -> str:
    """A cell for reading."""
    if value is None:
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return number(float(value), digits)
    return str(value)
