"""A comparison of models in sentences, and as plain numbers and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penchant.errors import listing
from penchant.softmax.document import plain, plain_label
from penchant.softmax.tables import p_value
from penchant.study.likelihood_ratio import LikelihoodRatio

if TYPE_CHECKING:
    from penchant.study.model_comparison import ModelComparison

WORDS = {"aic": "AIC", "bic": "BIC", "held_out": "held-out loss"}
EVIDENCE = {"aic": "-AIC/2", "bic": "-BIC/2", "held_out": "the held-out log-likelihood"}


def comparison_notes(found: ModelComparison) -> tuple[str, ...]:
    """What a reader of the table should know."""
    notes = [
        "k parameters for each subject; log-lik., AIC and BIC by maximum likelihood, in total.",
    ]
    if found.held_out is not None:
        notes.append(f"held-out: log-likelihood of {found.held_out.words}.")
        notes += [
            f"{name}: {count} folds without a finite estimate, whose loss is infinite. "
            "Leave parameter_prior at its weak default."
            for name, count in found.held_out.without.items()
            if count
        ]
    if found.selection is None:
        notes.append("No share and PXP, as a score is infinite.")
    else:
        notes.append(
            "share of people and protected exceedance probability (PXP) by Bayesian model "
            f"selection with {EVIDENCE[found.criterion]} as log-evidence; probability that all "
            f"models are as frequent: {found.selection.equal_probability:.3f}."
        )
    notes += [_said(ratio, found.subjects) for ratio in found.likelihood_ratios]
    if found.left_out:
        notes.append(f"Left out, without a decision: {listing(map(str, found.left_out))}.")
    if found.undivided:
        notes.append(
            "Left out, with all decisions in one fold, so that none are left to learn from: "
            f"{listing(map(str, found.undivided))}."
        )
    return tuple(notes)


def comparison_document(found: ModelComparison) -> dict[str, Any]:
    """Plain numbers and text, ready for JSON."""
    chosen = found.selection
    return {
        "format": "penchant-model-comparison",
        "version": 1,
        "criterion": found.criterion,
        "best": found.best,
        "models": [_model(found, k) for k in range(len(found.names))],
        "subjects": [_subject(found, i) for i in range(len(found.subjects))],
        "equal_probability": None if chosen is None else chosen.equal_probability,
        "likelihood_ratios": [_ratio(ratio) for ratio in found.likelihood_ratios],
        "notes": list(found.notes),
    }


def _model(found: ModelComparison, k: int) -> dict[str, Any]:
    chosen, name = found.selection, found.names[k]
    return {
        "name": name,
        "model": str(found.models[name]),
        "n_parameters": found.n_parameters[k],
        "log_likelihood": plain(float(found.log_likelihood[:, k].sum())),
        "aic": plain(float(found.aic[:, k].sum())),
        "bic": plain(float(found.bic[:, k].sum())),
        "held_out_log_likelihood": plain(float(found.held_out_log_likelihood[:, k].sum())),
        "n_best": int(found.n_best[k]),
        "frequency": None if chosen is None else float(chosen.frequencies[k]),
        "exceedance": None if chosen is None else float(chosen.exceedance[k]),
        "protected_exceedance": None if chosen is None else float(chosen.protected_exceedance[k]),
    }


def _subject(found: ModelComparison, i: int) -> dict[str, Any]:
    return {
        "subject": plain_label(found.subjects[i]),
        "n_decisions": int(found.n_decisions[i]),
        "statuses": list(found.statuses[i]),
        "log_likelihood": plain(found.log_likelihood[i]),
        "aic": plain(found.aic[i]),
        "bic": plain(found.bic[i]),
        "held_out_log_likelihood": plain(found.held_out_log_likelihood[i]),
    }


def _said(ratio: LikelihoodRatio, subjects: tuple[Any, ...]) -> str:
    n, low = len(ratio.statistics), int((ratio.p_values < 0.05).sum())
    words = (
        f"{ratio.smaller} in {ratio.larger}: likelihood ratio {ratio.total:.2f} with "
        f"{ratio.df * n} degrees of freedom in total, p-value {p_value(ratio.total_p_value)}; "
        f"below 0.05 for {low} of {n} subjects."
    )
    if len(ratio.impossible):
        who = listing(str(subjects[i]) for i in ratio.impossible)
        words += f" The larger model fits worse for {who}: the models are not nested."
    return words


def _ratio(ratio: LikelihoodRatio) -> dict[str, Any]:
    return {
        "smaller": ratio.smaller,
        "larger": ratio.larger,
        "df": ratio.df,
        "statistics": plain(ratio.statistics),
        "p_values": plain(ratio.p_values),
        "total": ratio.total,
        "total_p_value": ratio.total_p_value,
    }
