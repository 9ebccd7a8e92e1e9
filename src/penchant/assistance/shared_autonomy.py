"""Shared autonomy in a bandit task: a machine that watches, suggests or decides.

The machine maximises an upper credible limit index over a Gaussian field whose mean function is the
operator's map times the learnt trust in it (`knowledge`). It acts under its posterior instead of
predicting the operator first (Javdani et al. 2015), and sees rewards, unlike the assistive bandit
of Chan et al. (2019). Proposals are scored by the operator's model; executions and their rewards
are learnt from.

Three rules of safety, each with a test: nothing but the proposal is executed unless the task's
owner set "decide"; every advice has a reason made of the numbers that caused it; the machine is
silent where it does not know enough about the operator or the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
from scipy import special

from penchant._typing import Vector
from penchant.argument_checks import check_whole_number
from penchant.assistance.assistant_beliefs import (
    Z_90,
    Field,
    FieldPosterior,
    FieldState,
    OperatorProfile,
    OperatorState,
    Trust,
    fit_operator,
    merge_profiles,
)
from penchant.bandit.episode import Episode
from penchant.errors import DataError, closest_match_hint
from penchant.inference.precompilation import compile_fits
from penchant.json_records import record_document, session_from_document
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.result_tables import (
    MAX_FRAME_ROWS_SHOWN,
    Columns,
    Result,
    Table,
    format_cell,
    format_count,
)

Mode = Literal["watch", "suggest", "decide"]
MODES: tuple[Mode, ...] = ("watch", "suggest", "decide")
Kind = Literal["silent", "suggest", "decide"]


@dataclass(frozen=True, slots=True)
class AdviceOptions:
    """Conditions under which the machine speaks, and the basis of an operator's map."""

    # With fewer choices the model of the operator rests on its prior, and advice would be a guess.
    min_scored_choices: int = 10
    # Simulated probability that the suggestion is better; nearer to 0.5 it is as often wrong as
    # right.
    min_p_better: float = 0.7
    # Nats per choice above chance; a model that predicts no better cannot tell slips from intent.
    min_information: float = 0.1
    # Least trust at which a map is used; in simulations experts end at .88, wrong maps or none at
    # .26 to .30.
    min_trust: float = 0.2
    # In sd of the field (3 points at the usual 15); smaller gains are not worth an interruption.
    min_gain: float = 0.2
    # Accepted suggestions; with fewer, chance alone could make the test of payoffs fail.
    min_accepted: int = 8
    # z of payoffs less predictions; lower is beyond chance, so the machine stops suggesting.
    min_payoff_z: float = -2.0
    max_basis_functions: int = 36  # maps on 100 tiles need no more than 16; twice the cost
    # Share of the field variance; a basis that spans less could not express what operators know.
    basis_variance_share: float = 0.95
    min_reason_difference: float = 0.1  # in sd of the field: smaller ones are not worth a sentence
    # Squared rewards; two options with the same beliefs differ by rounding only, and would divide
    # by 0.
    min_variance: float = 1e-12


ADVICE = AdviceOptions()
LOG_COLUMNS = (
    *("episode", "t", "mode", "assisted", "proposed", "executed", "reward", "kind", "advised"),
    *("reason", "gain", "gain_low", "gain_high", "p_better", "p_slip", "p_accept", "trust"),
    "prequential",
)
# In episodes; one in five unassisted keeps estimates of noise and trust up to date.
UNASSISTED_EVERY = 5


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """The machine's answer to a proposal.

    Attributes
    ----------
    option
        The option it would take; None where it says nothing.
    kind
        "silent", "suggest", or "decide" where the machine has the last word.
    reason
        Why, from the numbers that caused it.
    gain, gain_interval
        How much better the option is expected to be than that proposed, and a 90 % interval.
    p_better
        Probability that it is better.
    p_slip
        How much less likely the proposal was than what the operator's model holds likeliest: 0 for
        the likeliest option, near 1 for a slip.
    p_accept
        Probability that the operator takes it, by the operator's model: a diagnostic.
    """

    option: int | None
    kind: Kind
    reason: str
    gain: float = 0.0
    gain_interval: tuple[float, float] = (0.0, 0.0)
    p_better: float = 0.5
    p_slip: float = 0.0
    p_accept: float = 0.0

    def frame_columns(self) -> Columns:
        """The advice as a row."""
        low, high = self.gain_interval
        own = {name: [value] for name, value in vars(self).items() if name != "gain_interval"}
        return {**own, "gain_low": [low], "gain_high": [high]}

    def table(self) -> Table:
        """The advice as a table, its reason below."""
        low, high = self.gain_interval
        cells = (self.option, self.gain, low, high, self.p_better)
        names = ("option", "gain", "low", "high", "p better")
        words = tuple(map(format_cell, cells))
        return Table(repr(self).strip("<>"), (), names, (words,), (self.reason,))

    def __repr__(self) -> str:
        return f"<Advice: {'nothing' if self.option is None else self.option} ({self.kind})>"


def assist(
    model: UCL,
    field: Field,
    *,
    mode: Mode = "suggest",
    trust: Trust | None = None,
    rng: np.random.Generator | int = 0,
    unassisted: int | None = UNASSISTED_EVERY,
) -> Helper:
    """Return a machine that learns from its operator, and helps.

    Kernels that fitting an episode can need are compiled at once, with a message on stderr.

    Parameters
    ----------
    model
        Of the operator: `UCL`; without a `prior_map` it is given functions that hold most of what a
        landscape of the field can be.
    field
        What the machine itself believes of rewards.
    mode
        "watch": it says nothing; "suggest": it offers another option, and the person has the last
        word; "decide": it executes its own, which only the owner of a task may switch on, and which
        must be shown to the operator.
    trust
        How much of the operator's map it takes over, before it knows the operator.
    rng
        Which episodes go without assistance: the seed is kept in the log.
    unassisted
        One episode in so many goes without assistance, drawn at random, besides the first: noise
        and trust are learnt from these alone. None: the first only.

    Examples
    --------
    >>> import penchant as pn
    >>> places = pn.grid(10, 10)
    >>> model = pn.UCL(locations=places, noise_variance=10.0, length_scale=4.0)
    >>> field = pn.Field(places, mean=30, sd=15, length_scale=2.5, noise_variance=10)
    >>> helper = pn.assist(model, field, mode="suggest")
    >>> helper.announcement
    'This episode goes without assistance: the machine learns how you decide.'
    >>> helper.proposed(42).kind
    'silent'
    >>> helper.executed(42, reward=51.0)
    >>> helper.log[0]["proposed"], helper.log[0]["executed"], helper.log[0]["reward"]
    (42, 42, 51.0)
    """
    helper = Helper(model, field, mode, Trust() if trust is None else trust, rng, unassisted)
    compile_fits(helper.model, MapPrior())
    return helper


@dataclass(frozen=True)
class HelperRecord:
    """What is stored of a machine: its settings and its log, which is replayed."""

    model: Any  # a UCL, or text that stands for one of a user's own class
    field: Field
    mode: Mode
    trust: Trust
    seed: int
    unassisted: int | None
    carried: tuple[list[OperatorProfile], int, float] | None
    log: list[dict[str, Any]]
    proposed: int | None


class Helper(Result):
    """The machine in play; see `assist`.

    Attributes
    ----------
    log
        One row for every decision, from which `replay` makes the same state.
    trust
        In the operator's map, as learnt so far.
    operator_profile
        The operator's parameters, from episodes without assistance.
    is_assisted
        Whether this episode goes with assistance.
    """

    def __init__(
        self,
        model: UCL,
        field: Field,
        mode: Mode,
        trust: Trust,
        rng: np.random.Generator | int,
        unassisted: int | None,
    ) -> None:
        self.model, self.field = _checked_model(model, field), field
        if mode not in MODES:
            hint = closest_match_hint(str(mode), MODES) or "Choose one."
            raise DataError("mode", f"must be one of {', '.join(MODES)}", got=repr(mode), fix=hint)
        if unassisted is not None:
            check_whole_number(unassisted, "unassisted", 1)
        if not isinstance(trust, Trust):
            raise DataError(
                "trust", "must be a Trust", got=repr(trust), fix="Give Trust(0.5, 0.5)."
            )
        self.mode, self.first_trust, self.unassisted = mode, trust, unassisted
        seed = rng.integers(2**62) if isinstance(rng, np.random.Generator) else rng
        self.seed = check_whole_number(seed, "rng", 0)
        self.log: list[dict[str, Any]] = []
        self._carried: tuple[list[OperatorProfile], int, float] | None = None
        self._reset_operator_knowledge()

    def _reset_operator_knowledge(self) -> None:
        self.trust = self.first_trust
        self.operator_profile = OperatorProfile.default(self.model, self.field.mean, self.field.sd)
        self.n_scored, self._score = 0, 0.0
        self._profiles: list[OperatorProfile] = []
        self._rng = np.random.default_rng(self.seed)
        self.episode_number, self.is_assisted = 0, False
        self._begin_episode()

    def _begin_episode(self) -> None:
        self._field = FieldState.before_play(self.field)
        self._operator = OperatorState.before_play(self.model, self.operator_profile)
        self._decisions: list[tuple[int, int, float]] = []
        self._payoff_z: list[float] = []
        self._pending: tuple[int, Advice] | None = None

    @property
    def announcement(self) -> str:
        """The sentence shown to the operator at the start of this episode."""
        if not self.is_assisted:
            return "This episode goes without assistance: the machine learns how you decide."
        if self.mode == "decide":
            return "The machine decides in this episode; you see what it takes instead of yours."
        if self.mode == "watch":
            return "The machine watches, and says nothing."
        return "The machine may suggest another option; you have the last word."

    def belief(self) -> Vector:
        """The operator's map as the machine reads it, from its level."""
        return self._operator.belief()

    def belief_sd(self) -> Vector:
        """Standard deviation of the operator's map at every option."""
        return self._operator.belief_sd()

    @property
    def effective_trust(self) -> float:
        """Trust in the operator's map as it is used: 0 where it is too small."""
        return self.trust.mean if self.trust.mean >= ADVICE.min_trust else 0.0

    @property
    def prequential(self) -> float:
        """Nats per scored choice by which the operator's model beat chance, before each choice."""
        return self._score / self.n_scored if self.n_scored else 0.0

    @property
    def last(self) -> int | None:
        """The option that was proposed, where what was done is not known yet."""
        return None if self._pending is None else self._pending[0]

    def proposed(self, option: int) -> Advice:
        """Advise on an option that the operator proposes, and score the proposal."""
        if self._pending is not None:
            raise DataError(
                "proposed",
                "must be followed by executed",
                got="another proposal",
                fix="Say what was done.",
            )
        option = self._checked_option(option, "option")
        u = self._operator.utilities()
        # Advise before learning from the proposal: p_slip and p_accept are predictions of it.
        advice = self._advise(option, u)
        log_p = self._operator.observe_choice(option)
        self._score += log_p + np.log(self.model.n_options)
        self.n_scored += 1
        self._pending = option, advice
        return advice

    def executed(self, option: int, reward: float | None = None) -> None:
        """Learn which option was executed, and its reward; None where that is unknown."""
        if self._pending is None:
            raise DataError(
                "executed", "must follow proposed", got="no proposal", fix="Say what was proposed."
            )
        option = self._checked_option(option, "option")
        proposed, advice = self._pending
        allowed = {proposed} if advice.option is None else {proposed, advice.option}
        if advice.kind == "decide" and advice.option is not None:
            allowed = {advice.option}
        if option not in allowed:
            raise DataError(
                "option",
                "must be what was proposed or advised",
                got=f"{option}, but they are {' and '.join(map(str, sorted(allowed)))}",
                fix="Nothing else may be executed.",
            )
        self.record_unassisted(option, reward)

    def record_unassisted(self, option: int, reward: float | None = None) -> None:
        """Learn which option was executed in play that this machine had no part in."""
        if self._pending is None:
            raise DataError(
                "happened", "must follow proposed", got="no proposal", fix="Say what was chosen."
            )
        option = self._checked_option(option, "option")
        proposed, advice = self._pending
        reward = None if reward is None else _checked_reward(reward)
        self._pending = None
        if reward is not None:
            if advice.kind == "suggest" and option == advice.option:
                # Before learning from the reward, as the payoff is compared with the prediction of
                # it.
                self._payoff_z.append(self._standardized_payoff(option, reward))
            self._field.observe(option, reward)
            self._operator.observe(option, reward)
        self._operator.advance_time()
        self._decisions.append((proposed, option, np.nan if reward is None else reward))
        self.log.append(self._log_row(proposed, advice, option, reward))

    def _log_row(
        self, proposed: int, advice: Advice, option: int, reward: float | None
    ) -> dict[str, Any]:
        return {
            "episode": self.episode_number,
            "t": len(self._decisions),
            "mode": self.mode,
            "assisted": self.is_assisted,
            "proposed": proposed,
            "executed": option,
            "reward": reward,
            "kind": advice.kind,
            "advised": advice.option,
            "reason": advice.reason,
            "gain": advice.gain,
            "gain_low": advice.gain_interval[0],
            "gain_high": advice.gain_interval[1],
            "p_better": advice.p_better,
            "p_slip": advice.p_slip,
            "p_accept": advice.p_accept,
            "trust": self.trust.mean,
            "prequential": self.prequential,
        }

    def end_episode(self) -> None:
        """Beliefs start afresh; trust and the operator's noise are carried on.

        They are learnt from an episode without assistance only.
        """
        if self._pending is not None:
            raise DataError(
                "end_episode", "must follow executed", got="a proposal", fix="Say what was done."
            )
        if self._decisions:
            # Only unassisted choices are learnt from: whoever follows advice shows the machine its
            # own map.
            if not self.is_assisted:
                self._fit_operator_and_update_trust()
            self.log.append({"episode": self.episode_number, "ended": True})
            self.episode_number += 1
            due = self.unassisted is not None and self._rng.random() < 1 / self.unassisted
            self.is_assisted = not due
        self._begin_episode()

    def _fit_operator_and_update_trust(self) -> None:
        chosen, done, rewards = (np.array(part) for part in zip(*self._decisions, strict=True))
        # Beliefs are unknown after the first missing reward, so the fit ends with that choice.
        gaps = np.isnan(rewards)
        last = int(np.flatnonzero(gaps)[0]) + 1 if gaps.any() else len(rewards)
        episode = Episode(chosen[:last], rewards[:last], executed=done[:last])
        found = fit_operator(self.model, episode)
        if found is None:
            return
        self._profiles.append(found.profile)
        self.operator_profile = merge_profiles(self._profiles)
        paid = ~np.isnan(rewards[:last])
        self.trust = self.trust.updated_by_episode(
            self.field, found.belief_map, done[:last][paid], rewards[:last][paid]
        )

    def _field_posterior(self) -> FieldPosterior:
        trust = self.effective_trust
        no_map = np.zeros(self.model.n_options)
        return self._field.posterior(trust, self._operator.belief() if trust else no_map)

    def _ucl_index(self, posterior: FieldPosterior) -> Vector:
        """Upper credible limit of every option, with the field's share of the bonus."""
        t = np.array([float(self._operator.time)])
        z = float(self.model.credible_z(t)[0])
        return np.asarray(posterior.mean + self.field.bonus * z * posterior.sd())

    def _advise(self, option: int, operator_utilities: Vector) -> Advice:
        silence = self._silence_reason()
        if silence is not None:
            return Advice(None, "silent", silence)
        posterior = self._field_posterior()
        mean, index = posterior.mean, self._ucl_index(posterior)
        p_better, difference_sd = self._p_better_and_sd_of_difference(option, posterior)
        if self.mode == "decide":
            other = int(np.argmax(index))
            if other == option:
                return Advice(None, "silent", "The machine would take the same.")
        else:
            # The largest gain, not weighted by p_accept, which made no difference in simulations.
            allowed = p_better > ADVICE.min_p_better
            allowed[option] = False
            if not allowed.any():
                reason = f"No option is better with a probability above {ADVICE.min_p_better:g}."
                return Advice(None, "silent", reason)
            other = int(np.argmax(np.where(allowed, index, -np.inf)))
            index_gain = float(index[other] - index[option])
            if index_gain < ADVICE.min_gain * self.field.sd:
                reason = f"No option promises more than {max(index_gain, 0):.1f} besides."
                return Advice(None, "silent", reason)
        gain = float(mean[other] - mean[option])
        half = Z_90 * float(difference_sd[other])
        q = np.exp(operator_utilities - operator_utilities.max())
        return Advice(
            other,
            "decide" if self.mode == "decide" else "suggest",
            self._explain_advice(other, option, mean),
            gain,
            (gain - half, gain + half),
            float(p_better[other]),
            float(1.0 - q[option]),
            float(special.expit(operator_utilities[other] - operator_utilities[option])),
        )

    def _p_better_and_sd_of_difference(
        self, option: int, posterior: FieldPosterior
    ) -> tuple[Vector, Vector]:
        """Probability that each option is better than one, and the sd of the difference."""
        own = posterior.sd() ** 2
        variance = own + own[option] - 2 * posterior.covariance_with(option)
        if self.effective_trust:
            # The trust is itself uncertain: without this term (delta method) intervals of gains
            # would be too narrow.
            slope = posterior.mean_derivative_in_trust()
            variance = variance + (slope - slope[option]) ** 2 * self.trust.sd**2
        sd = np.sqrt(np.maximum(variance, ADVICE.min_variance))
        return special.ndtr((posterior.mean - posterior.mean[option]) / sd), sd

    def _silence_reason(self) -> str | None:
        """The sentence that says why no advice is given, or None."""
        if self.mode == "watch":
            return "The machine only watches."
        if not self.is_assisted:
            return self.announcement
        if self.mode == "decide":
            return None
        # The conditions below protect the last word of the operator; "decide" has none to protect.
        if not (self.operator_profile.converged and self._operator.is_at_mode):
            return "The model of the operator has not converged."
        if self.n_scored < ADVICE.min_scored_choices:
            return (
                f"Only {self.n_scored} choices were seen; {ADVICE.min_scored_choices} are needed."
            )
        if self.prequential <= ADVICE.min_information:
            return (
                f"The model of the operator predicts choices {self.prequential:.2f} nats above "
                f"chance; {ADVICE.min_information:g} are needed."
            )
        n, z = len(self._payoff_z), self.accepted_payoff_z
        if n >= ADVICE.min_accepted and z < ADVICE.min_payoff_z:
            return (
                f"{n} suggestions paid less than predicted (z = {z:.1f}): none "
                "are made any more in this episode."
            )
        return None

    @property
    def accepted_payoff_z(self) -> float:
        """z of what accepted suggestions paid less what was predicted, in this episode."""
        n = len(self._payoff_z)
        return float(np.sum(self._payoff_z) / np.sqrt(n)) if n else 0.0

    def _standardized_payoff(self, option: int, reward: float) -> float:
        posterior = self._field_posterior()
        variance = posterior.sd()[option] ** 2 + self.field.noise_variance
        return float((reward - posterior.mean[option]) / np.sqrt(variance))

    def _explain_advice(self, suggested: int, proposed: int, mean: Vector) -> str:
        """Explain an advice by the rewards near it, the operator's own map, and both means."""
        # Two rewards fit in a sentence; beyond two length scales rewards hardly inform about this
        # option.
        away = np.abs(np.asarray(self.field.locations) - self.field.locations[suggested]).sum(
            axis=1
        )
        near = [
            (int(away[done]), done, reward)
            for _, done, reward in self._decisions
            if not np.isnan(reward) and away[done] <= 2 * self.field.length_scale
        ]
        rewards = [f"{reward:.0f}" for _, _, reward in sorted(near)[:2]]
        text = (
            f"Near option {suggested} you found {' and '.join(rewards)}"
            if rewards
            else (f"Nobody has looked near option {suggested}")
        )
        belief = self.effective_trust * self._operator.belief()
        more = belief[suggested] - belief[proposed]
        if more > ADVICE.min_reason_difference * self.field.sd:
            text += f"; you seem to expect {more:.0f} more there than at {proposed}"
        return (
            f"{text}: {mean[suggested]:.0f} is expected there, and {mean[proposed]:.0f} at "
            f"{proposed}."
        )

    def _checked_option(self, option: Any, name: str) -> int:
        number = check_whole_number(option, name, 0)
        if number >= self.model.n_options:
            raise DataError(
                name,
                f"must lie in 0..{self.model.n_options - 1}",
                got=number,
                fix="Options are counted from 0.",
            )
        return number

    def forget(self) -> None:
        """Delete the log, and all that was learnt of the operator."""
        self.log.clear()
        self._carried = None
        self._reset_operator_knowledge()

    def table(self) -> Table:
        """The last decisions as a table."""
        names = ("episode", "t", "proposed", "executed", "reward", "kind", "advised")
        rows = [row for row in self.log if not row.get("ended")]
        cells = tuple(
            tuple(format_cell(row[name]) for name in names) for row in rows[-MAX_FRAME_ROWS_SHOWN:]
        )
        left = len(rows) - len(cells)
        notes = (f"{left} decisions before: see to_frame().",) if left else ()
        return Table(repr(self).strip("<>"), (), names, cells, notes)

    def frame_columns(self) -> Columns:
        """The log, a row for every decision."""
        rows = [row for row in self.log if not row.get("ended")]
        columns = {name: [row[name] for row in rows] for name in LOG_COLUMNS}
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Settings and log, ready for JSON: `from_dict` replays them."""
        record = HelperRecord(
            self.model,
            self.field,
            self.mode,
            self.first_trust,
            self.seed,
            self.unassisted,
            self._carried,
            self.log,
            self.last,
        )
        return record_document(Helper, record)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Go on from what `to_dict` wrote: the same advice follows, bit for bit."""
        kept = session_from_document(cls, document, HelperRecord, model=None)
        again = cls(kept.model, kept.field, kept.mode, kept.trust, kept.seed, kept.unassisted)
        if kept.carried is not None:
            again._adopt_operator_knowledge(*kept.carried)
        again = cast("Self", again._replay_on_copy(kept.log, any_option=True))
        if kept.proposed is not None:
            again.proposed(kept.proposed)
        return again

    def __repr__(self) -> str:
        n = sum(not row.get("ended") for row in self.log)
        return f"<Helper ({self.mode}): {format_count(n, 'decision')}, trust {self.trust.mean:.2f}>"

    def copy_before_first_decision(self) -> Helper:
        """Return a machine with the same settings, before its first decision."""
        other = Helper(
            self.model, self.field, self.mode, self.first_trust, self.seed, self.unassisted
        )
        if self._carried is not None:
            profiles, n_scored, score = self._carried
            other._adopt_operator_knowledge(list(profiles), n_scored, score)
        return other

    def copy_with_operator_knowledge(self, mode: Mode, trust: Trust) -> Helper:
        """Return a machine that knows the operator as this one does, before an assisted episode."""
        other = Helper(self.model, self.field, mode, trust, self.seed, self.unassisted)
        other._adopt_operator_knowledge(list(self._profiles), self.n_scored, self._score)
        return other

    def _adopt_operator_knowledge(
        self, profiles: list[OperatorProfile], n_scored: int, score: float
    ) -> None:
        """Begin with an assisted episode, with another machine's knowledge of the operator."""
        self._carried = (list(profiles), n_scored, score)
        self._profiles = profiles
        self.operator_profile = merge_profiles(profiles) if profiles else self.operator_profile
        self.n_scored, self._score = n_scored, score
        self.is_assisted = True
        self._begin_episode()

    def copy_after_log(self, log: Sequence[Mapping[str, Any]]) -> Helper:
        """Return a fresh machine after the decisions of a log: the same advice, bit for bit.

        An advice that differs from the log's is an error: it is the log of another machine.
        """
        return self._replay_on_copy(log, any_option=False)

    def _replay_on_copy(self, log: Sequence[Mapping[str, Any]], *, any_option: bool) -> Helper:
        """Replay a log; with `any_option`, executions need be neither proposed nor advised."""
        again = self.copy_before_first_decision()
        for number, row in enumerate(log):
            if isinstance(row, Mapping) and row.get("ended"):
                again.end_episode()
                continue
            if not isinstance(row, Mapping) or not {"proposed", "executed", "reward"} <= set(row):
                raise DataError(
                    "log",
                    "must have what was proposed, executed and its reward in every row",
                    got=repr(row),
                    where=f"at row {number}",
                    fix="Give the log of a helper.",
                )
            again.proposed(int(row["proposed"]))
            learn = again.record_unassisted if any_option else again.executed
            learn(int(row["executed"]), row["reward"])
            made = again.log[-1]
            for name in ("kind", "advised", "p_better", "gain", "reason"):
                if name in row and row[name] != made[name]:
                    raise DataError(
                        "log",
                        "must be that of this machine",
                        got=(
                            f"{name} {row[name]!r} where it says {made[name]!r} at t = "
                            f"{made['t']} of episode {made['episode']}"
                        ),
                        fix="Make it with the same model, field, mode, trust and seed.",
                    )
        return again


def replay(helper: Helper, log: Sequence[Mapping[str, Any]] | None = None) -> Helper:
    """The state that a log leads to, from the beginning: the same advice, bit for bit.

    Parameters
    ----------
    helper
        A machine with the model, field, mode, trust and seed of the one that wrote the log.
    log
        Rows of its `log`; the helper's own, if not given.
    """
    return helper.copy_after_log(list(helper.log) if log is None else log)


def _checked_reward(reward: Any) -> float:
    try:
        paid = float(reward)
    except (TypeError, ValueError):
        paid = np.nan
    if not np.isfinite(paid):
        raise DataError("reward", "must be finite, or None", got=repr(reward), fix="Correct it.")
    return paid


def _checked_model(model: UCL, field: Field) -> UCL:
    names = [one.name for one in fields(model)] if is_dataclass(model) else []
    if "prior_map" not in names or isinstance(model, type):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            "model",
            "must be UCL, whose player has a map in mind",
            got=given,
            fix="Use UCL(locations=..., noise_variance=..., length_scale=...).",
        )
    if not isinstance(field, Field):
        raise DataError(
            "field",
            "must be a Field, what the machine itself believes",
            got=repr(field),
            fix="Use Field(locations, mean=..., sd=..., length_scale=..., noise_variance=...).",
        )
    if field.n_options != model.n_options:
        raise DataError(
            "field",
            f"must have the {model.n_options} options of the model",
            got=field.n_options,
            fix="Match them.",
        )
    if model.n_options < 2:
        raise DataError(
            "model", "must have two options or more", got="1", fix="Nothing could be advised."
        )
    if model.length_scale is None or model.bonus != "known":
        raise DataError(
            "model",
            "must fix length_scale, and have the bonus known",
            got="one that does not",
            fix="Give UCL(..., length_scale=4.0).",
        )
    # Operators may know any landscape of the field, so their map needs functions that span it.
    if model.prior_map is None:
        return replace(model, prior_map=field_basis(field))
    return model


def field_basis(field: Field) -> MapBasis:
    """Leading eigenfunctions of the field that span most of its variance (Karhunen-Loeve)."""
    n = min(ADVICE.max_basis_functions, field.n_options - 1)
    scale = field.length_scale
    basis = MapBasis.smooth(field.locations, n, length_scale=scale, kernel=field.kernel)
    spanned = np.cumsum((basis.functions**2).sum(axis=0))
    total = spanned[-1] + float((basis.rest**2).sum())
    n_enough = int(np.searchsorted(spanned, ADVICE.basis_variance_share * total)) + 1
    return basis.leading(min(n_enough, n))
