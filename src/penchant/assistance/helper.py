"""A machine beside its operator: it watches, suggests, or decides where it was told to.

What was proposed is scored, what was executed is learnt from. Rules of safety are here, and each is
a test: nothing else is executed than proposed unless the owner of the task set "decide"; every
advice has a reason made of the numbers that caused it; and there is silence where the machine does
not know enough, of the operator or of the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

import numpy as np
from scipy import special

from penchant._typing import Vector
from penchant.arguments import whole_number
from penchant.assistance.knowledge import (
    Field,
    FieldState,
    Known,
    OperatorState,
    Posterior,
    Seen,
    Trust,
    read_episode,
    together,
)
from penchant.bandit.episode import Episode
from penchant.errors import DataError, closest_match_hint
from penchant.inference.precompilation import compile_fits
from penchant.models.model import Declared
from penchant.models.priors import check_kept, model_document, model_of
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.output import (
    MAX_FRAME_ROWS_SHOWN,
    Backend,
    Result,
    Table,
    decode,
    encode,
    format_cell,
    format_count,
    frame_backend,
    make_frame,
)

Mode = Literal["watch", "suggest", "decide"]
MODES: tuple[Mode, ...] = ("watch", "suggest", "decide")
Kind = Literal["silent", "suggest", "decide"]

FEWEST = 10  # scored choices before anything is said
BETTER = 0.7  # probability of being better that a suggestion must exceed
PREDICTS = 0.1  # nats per choice by which the operator's model must beat chance
LEAST_TRUST = 0.2  # below which the operator's map is not used
LEAST_GAIN = 0.2  # of the field's sd that a suggestion must promise
ENOUGH_ACCEPTED, DISAPPOINTED = 8, -2.0  # accepted suggestions, and their z, that end suggestions
MOST_FUNCTIONS, HELD = 36, 0.95  # of an operator's map, and the share of a field they hold
LOGGED = (
    *("episode", "t", "mode", "assisted", "proposed", "executed", "reward", "kind", "advised"),
    *("reason", "gain", "gain_low", "gain_high", "p_better", "p_slip", "p_accept", "trust"),
    "prequential",
)
UNASSISTED = 5  # one episode in so many goes without assistance


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """What the machine says of a proposal.

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

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """The advice as a row."""
        low, high = self.gain_interval
        own = {name: [value] for name, value in vars(self).items() if name != "gain_interval"}
        return make_frame(
            {**own, "gain_low": [low], "gain_high": [high]}, backend or frame_backend(self)
        )

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
    unassisted: int | None = UNASSISTED,
) -> Helper:
    """A machine that learns from its operator, and helps.

    What reading an episode can need is compiled at once, with a message on stderr.

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


class Helper(Result):
    """The machine in play; see `assist`.

    Attributes
    ----------
    log
        One row for every decision, from which `replay` makes the same state.
    trust
        In the operator's map, as learnt so far.
    known
        What episodes without assistance told of the operator.
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
            hint = closest_match_hint(str(mode), MODES) or " Choose one."
            raise DataError(f"mode must be one of {', '.join(MODES)}; got {mode!r}.{hint}")
        if unassisted is not None:
            whole_number(unassisted, "unassisted", 1)
        if not isinstance(trust, Trust):
            raise DataError(f"trust must be a Trust; got {trust!r}. Give Trust(0.5, 0.5).")
        self.mode, self.first_trust, self.unassisted = mode, trust, unassisted
        seed = rng.integers(2**62) if isinstance(rng, np.random.Generator) else rng
        self.seed = whole_number(seed, "rng", 0)
        self.log: list[dict[str, Any]] = []
        self._carried: tuple[list[Known], int, float] | None = None
        self._restart()

    def _restart(self) -> None:
        self.trust = self.first_trust
        self.known = Known.nothing(self.model, self.field.mean, self.field.sd)
        self.n_scored, self._score = 0, 0.0
        self._seen: list[Known] = []
        self._rng = np.random.default_rng(self.seed)
        self.episode_number, self.is_assisted = 0, False
        self._begin()

    def _begin(self) -> None:
        self._field = FieldState.before_play(self.field)
        self._operator = OperatorState.before_play(self.model, self.known)
        self._play: list[tuple[int, int, float]] = []
        self._surprises: list[float] = []
        self._pending: tuple[int, Advice] | None = None

    # -- what is shown ---------------------------------------------------------------------------

    @property
    def announcement(self) -> str:
        """What the operator is told of this episode."""
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
        """How well that map is known, at every option."""
        return self._operator.belief_sd()

    @property
    def used_trust(self) -> float:
        """Trust in the operator's map as it is used: 0 where it is too small."""
        return self.trust.mean if self.trust.mean >= LEAST_TRUST else 0.0

    @property
    def prequential(self) -> float:
        """Nats per scored choice by which the operator's model beat chance, before each choice."""
        return self._score / self.n_scored if self.n_scored else 0.0

    @property
    def last(self) -> int | None:
        """The option that was proposed, where what was done is not known yet."""
        return None if self._pending is None else self._pending[0]

    # -- one decision ----------------------------------------------------------------------------

    def proposed(self, option: int) -> Advice:
        """What the machine says of an option that the operator proposes."""
        if self._pending is not None:
            raise DataError(
                "proposed must be followed by executed; got another proposal. Say what was done."
            )
        option = self._option(option, "option")
        u = self._operator.objective()
        advice = self._advice(option, u)
        log_p = self._operator.choose(option)
        self._score += log_p + np.log(self.model.n_options)
        self.n_scored += 1
        self._pending = option, advice
        return advice

    def executed(self, option: int, reward: float | None = None) -> None:
        """What was done, and what it paid; None where nothing is known of it."""
        if self._pending is None:
            raise DataError(
                "executed must follow proposed; got no proposal. Say what was proposed."
            )
        option = self._option(option, "option")
        proposed, advice = self._pending
        allowed = {proposed} if advice.option is None else {proposed, advice.option}
        if advice.kind == "decide" and advice.option is not None:
            allowed = {advice.option}
        if option not in allowed:
            raise DataError(
                f"option must be what was proposed or advised; got {option}, but they are "
                f"{' and '.join(map(str, sorted(allowed)))}. Nothing else may be executed."
            )
        self.happened(option, reward)

    def happened(self, option: int, reward: float | None = None) -> None:
        """What was done in play that this machine had no part in, whatever it would have said."""
        if self._pending is None:
            raise DataError("happened must follow proposed; got no proposal. Say what was chosen.")
        option = self._option(option, "option")
        proposed, advice = self._pending
        reward = None if reward is None else _finite(reward)
        self._pending = None
        if reward is not None:
            if advice.kind == "suggest" and option == advice.option:
                self._surprises.append(self._surprise(option, reward))
            self._field.observe(option, reward)
            self._operator.observe(option, reward)
        self._operator.tick()
        self._play.append((proposed, option, np.nan if reward is None else reward))
        self.log.append(self._row(proposed, advice, option, reward))

    def _row(
        self, proposed: int, advice: Advice, option: int, reward: float | None
    ) -> dict[str, Any]:
        return {
            "episode": self.episode_number,
            "t": len(self._play),
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
            raise DataError("end_episode must follow executed; got a proposal. Say what was done.")
        if self._play:
            if not self.is_assisted:
                self._learn()
            self.log.append({"episode": self.episode_number, "ended": True})
            self.episode_number += 1
            due = self.unassisted is not None and self._rng.random() < 1 / self.unassisted
            self.is_assisted = not due
        self._begin()

    def _learn(self) -> None:
        chosen, done, rewards = (np.array(part) for part in zip(*self._play, strict=True))
        gaps = np.isnan(rewards)
        last = int(np.flatnonzero(gaps)[0]) + 1 if gaps.any() else len(rewards)
        episode = Episode(chosen[:last], rewards[:last], executed=done[:last])
        seen: Seen | None = read_episode(self.model, episode)
        if seen is None:
            return
        self._seen.append(seen.known)
        self.known = together(self._seen)
        paid = ~np.isnan(rewards[:last])
        self.trust = self.trust.learnt(
            self.field, seen.belief, done[:last][paid], rewards[:last][paid]
        )

    # -- what it thinks --------------------------------------------------------------------------

    def _posterior(self) -> Posterior:
        trust = self.used_trust
        nothing = np.zeros(self.model.n_options)
        return self._field.posterior(trust, self._operator.belief() if trust else nothing)

    def _index(self, known: Posterior) -> Vector:
        t = np.array([float(self._operator.time)])
        z = float(self.model.credible_z(t)[0])
        return np.asarray(known.mean + self.field.bonus * z * known.sd())

    def _advice(self, option: int, u: Vector) -> Advice:
        silent = self._silence()
        if silent is not None:
            return Advice(None, "silent", silent)
        known = self._posterior()
        mean, index = known.mean, self._index(known)
        p_better, spread = self._better(option, known)
        if self.mode == "decide":
            other = int(np.argmax(index))
            if other == option:
                return Advice(None, "silent", "The machine would take the same.")
        else:
            allowed = p_better > BETTER
            allowed[option] = False
            if not allowed.any():
                return Advice(
                    None, "silent", f"No option is better with a probability above {BETTER:g}."
                )
            other = int(np.argmax(np.where(allowed, index, -np.inf)))
            promised = float(index[other] - index[option])
            if promised < LEAST_GAIN * self.field.sd:
                return Advice(
                    None, "silent", f"No option promises more than {max(promised, 0):.1f} besides."
                )
        gain = float(mean[other] - mean[option])
        half = 1.645 * float(spread[other])
        q = np.exp(u - u.max())
        return Advice(
            other,
            "decide" if self.mode == "decide" else "suggest",
            self._reason(other, option, mean),
            gain,
            (gain - half, gain + half),
            float(p_better[other]),
            float(1.0 - q[option]),
            float(special.expit(u[other] - u[option])),
        )

    def _better(self, option: int, known: Posterior) -> tuple[Vector, Vector]:
        """Probability that each option is better than one, and the sd of the difference."""
        own = known.sd() ** 2
        variance = own + own[option] - 2 * known.row(option)
        if self.used_trust:
            left = known.left()
            variance = variance + (left - left[option]) ** 2 * self.trust.sd**2
        sd = np.sqrt(np.maximum(variance, 1e-12))
        return special.ndtr((known.mean - known.mean[option]) / sd), sd

    def _silence(self) -> str | None:
        """Why nothing is said, or None."""
        if self.mode == "watch":
            return "The machine only watches."
        if not self.is_assisted:
            return self.announcement
        if self.mode == "decide":
            return None
        if not (self.known.converged and self._operator.settled):
            return "The model of the operator has not converged."
        if self.n_scored < FEWEST:
            return f"Only {self.n_scored} choices were seen; {FEWEST} are needed."
        if self.prequential <= PREDICTS:
            return (
                f"The model of the operator predicts choices {self.prequential:.2f} nats above "
                f"chance; {PREDICTS:g} are needed."
            )
        z = self.disappointment
        if len(self._surprises) >= ENOUGH_ACCEPTED and z < DISAPPOINTED:
            return (
                f"{len(self._surprises)} suggestions paid less than predicted (z = {z:.1f}): none "
                "are made any more in this episode."
            )
        return None

    @property
    def disappointment(self) -> float:
        """z of what accepted suggestions paid less what was predicted, in this episode."""
        n = len(self._surprises)
        return float(np.sum(self._surprises) / np.sqrt(n)) if n else 0.0

    def _surprise(self, option: int, reward: float) -> float:
        known = self._posterior()
        variance = known.sd()[option] ** 2 + self.field.noise_variance
        return float((reward - known.mean[option]) / np.sqrt(variance))

    def _reason(self, other: int, option: int, mean: Vector) -> str:
        """A sentence from the numbers that caused the advice."""
        apart = np.abs(np.asarray(self.field.locations) - self.field.locations[other]).sum(axis=1)
        near = [
            (int(apart[done]), done, reward)
            for _, done, reward in self._play
            if not np.isnan(reward) and apart[done] <= 2 * self.field.length_scale
        ]
        found = [f"{reward:.0f}" for _, _, reward in sorted(near)[:2]]
        said = (
            f"Near option {other} you found {' and '.join(found)}"
            if found
            else (f"Nobody has looked near option {other}")
        )
        belief = self.used_trust * self._operator.belief()
        more = belief[other] - belief[option]
        if more > 0.1 * self.field.sd:
            said += f"; you seem to expect {more:.0f} more there than at {option}"
        return f"{said}: {mean[other]:.0f} is expected there, and {mean[option]:.0f} at {option}."

    def _option(self, option: Any, name: str) -> int:
        number = whole_number(option, name, 0)
        if number >= self.model.n_options:
            raise DataError(
                f"{name} must lie in 0..{self.model.n_options - 1}; got {number}. Options are "
                "counted from 0."
            )
        return number

    # -- the log ---------------------------------------------------------------------------------

    def forget(self) -> None:
        """Delete the log, and all that was learnt of the operator."""
        self.log.clear()
        self._carried = None
        self._restart()

    # -- what it says, and to go on later ----------------------------------------------------------

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

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """The log, a row for every decision."""
        rows = [row for row in self.log if not row.get("ended")]
        columns = {name: [row[name] for row in rows] for name in LOGGED}
        return make_frame(columns, backend or frame_backend(self))

    def to_dict(self) -> dict[str, Any]:
        """All that is needed to go on later, ready for JSON."""
        return {
            "format": "penchant-helper",
            "version": 1,
            "model": model_document(self.model),
            "field": encode(self.field),
            "mode": self.mode,
            "trust": encode(self.first_trust),
            "seed": self.seed,
            "unassisted": self.unassisted,
            "carried": encode(self._carried),
            "log": [dict(row) for row in self.log],
            "proposed": self.last,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Go on from what `to_dict` wrote: the same advice follows, bit for bit."""
        check_kept(document, "Helper", ("model", "field", "mode", "trust", "seed", "log"))
        again = cls(
            model_of(document["model"], None),
            decode(document["field"]),
            document["mode"],
            decode(document["trust"]),
            document["seed"],
            document["unassisted"],
        )
        carried = decode(document["carried"])
        if carried is not None:
            again._carry(*carried)
        again = cast("Self", again._after(document["log"], free=True))
        if document["proposed"] is not None:
            again.proposed(document["proposed"])
        return again

    def __repr__(self) -> str:
        n = sum(not row.get("ended") for row in self.log)
        return f"<Helper ({self.mode}): {format_count(n, 'decision')}, trust {self.trust.mean:.2f}>"

    def fresh(self) -> Helper:
        """The same machine before anything happened."""
        other = Helper(
            self.model, self.field, self.mode, self.first_trust, self.seed, self.unassisted
        )
        if self._carried is not None:
            seen, n_scored, score = self._carried
            other._carry(list(seen), n_scored, score)
        return other

    def carried_on(self, mode: Mode, trust: Trust) -> Helper:
        """Another machine that knows the operator as this one does, before an assisted episode."""
        other = Helper(self.model, self.field, mode, trust, self.seed, self.unassisted)
        other._carry(list(self._seen), self.n_scored, self._score)
        return other

    def _carry(self, seen: list[Known], n_scored: int, score: float) -> None:
        """Begin with an assisted episode, with what another machine knew of the operator."""
        self._carried = (list(seen), n_scored, score)
        self._seen = seen
        self.known = together(seen) if seen else self.known
        self.n_scored, self._score = n_scored, score
        self.is_assisted = True
        self._begin()

    def replayed(self, log: Sequence[Mapping[str, Any]]) -> Helper:
        """The same machine after what a log says: the same advice, bit for bit.

        An advice that differs from the log's is an error: it is the log of another machine.
        """
        return self._after(log, free=False)

    def _after(self, log: Sequence[Mapping[str, Any]], *, free: bool) -> Helper:
        """The same machine after a log; with `free`, of whatever was done, advised or not."""
        again = self.fresh()
        for number, row in enumerate(log):
            if isinstance(row, Mapping) and row.get("ended"):
                again.end_episode()
                continue
            if not isinstance(row, Mapping) or not {"proposed", "executed", "reward"} <= set(row):
                raise DataError(
                    "log must have what was proposed, executed and its reward in every row; got "
                    f"{row!r} at row {number}. Give the log of a helper."
                )
            again.proposed(int(row["proposed"]))
            done = again.happened if free else again.executed
            done(int(row["executed"]), row["reward"])
            made = again.log[-1]
            for name in ("kind", "advised", "p_better", "gain", "reason"):
                if name in row and row[name] != made[name]:
                    raise DataError(
                        f"log must be that of this machine; got {name} {row[name]!r} where it says "
                        f"{made[name]!r} at t = {made['t']} of episode {made['episode']}. Make it "
                        "with the same model, field, mode, trust and seed."
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
    return helper.replayed(list(helper.log) if log is None else log)


def _finite(reward: Any) -> float:
    try:
        paid = float(reward)
    except (TypeError, ValueError):
        paid = np.nan
    if not np.isfinite(paid):
        raise DataError(f"reward must be finite, or None; got {reward!r}. Correct it.")
    return paid


def _checked_model(model: UCL, field: Field) -> UCL:
    with_map = Declared(model).with_map
    if with_map is None or isinstance(model, type):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataError(
            f"model must be UCL, whose player has a map in mind; got {given}. Use "
            "UCL(locations=..., noise_variance=..., length_scale=...)."
        )
    if not isinstance(field, Field):
        raise DataError(
            f"field must be a Field, what the machine itself believes; got {field!r}. Use "
            "Field(locations, mean=..., sd=..., length_scale=..., noise_variance=...)."
        )
    if field.n_options != model.n_options:
        raise DataError(
            f"field must have the {model.n_options} options of the model; got "
            f"{field.n_options}. Match them."
        )
    if model.n_options < 2:
        raise DataError("model must have two options or more; got 1. Nothing could be advised.")
    if model.length_scale is None or model.bonus != "known":
        raise DataError(
            "model must fix length_scale, and have the bonus known; got one that does not. Give "
            "UCL(..., length_scale=4.0)."
        )
    if model.prior_map is None:
        found: UCL = with_map(field_basis(field))
        return found
    return model


def field_basis(field: Field) -> MapBasis:
    """Functions that hold most of what a landscape of the field can be, as an operator may."""
    n = min(MOST_FUNCTIONS, field.n_options - 1)
    scale = field.length_scale
    basis = MapBasis.smooth(field.locations, n, length_scale=scale, kernel=field.kernel)
    held = np.cumsum((basis.functions**2).sum(axis=0))
    every = held[-1] + float((basis.rest**2).sum())
    return basis.leading(min(int(np.searchsorted(held, HELD * every)) + 1, n))
