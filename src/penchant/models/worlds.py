"""Tasks that show something at a decision, or tell more than a reward after it.

A world draws the course of one person: what is seen at the next decision, which options there are,
and what follows the option taken. `simulate`, `recover` and the others take a world where they take
a landscape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.argument_checks import check_number, check_whole_number

Told = Mapping[str, float]


class Course(Protocol):
    """One person's way through a task, event by event."""

    def before(self) -> Told | None:
        """What is seen at the next decision, by name; None where the task is over."""

    def available(self) -> BoolVector | None:
        """Options that can be chosen; None for all."""

    def after(self, chosen: int) -> tuple[float, Told]:
        """The reward of an option, and what is learnt beside it."""


@runtime_checkable
class World(Protocol):
    """A task that draws the course of every person."""

    @property
    def n_options(self) -> int:
        """Number of options."""

    @property
    def n_events(self) -> int:
        """Events, at most."""

    def course(self, rng: np.random.Generator) -> Course:
        """What one person meets."""


class _World:
    """Base of worlds that name the course of a person."""

    _way: ClassVar[type[Any]]

    def course(self, rng: np.random.Generator) -> Course:
        """What one person meets."""
        found: Course = self._way(self, rng)
        return found


class _Trials(_World):
    """Base of worlds of a number of trials, one decision each."""

    n_trials: int

    def __post_init__(self) -> None:
        check_whole_number(self.n_trials, "n_trials", 1)

    @property
    def n_events(self) -> int:
        """As many as trials."""
        return self.n_trials


class _Course:
    """Base of courses, trial by trial: nothing is seen, and all options can be chosen."""

    def __init__(self, world: Any, rng: np.random.Generator) -> None:
        self.world, self.rng, self.trial = world, rng, 0
        self.begin()

    def begin(self) -> None:
        """Draw what is settled before the first trial."""

    def before(self) -> Told | None:
        return None if self.trial == self.world.n_trials else self.seen()

    def seen(self) -> Told:
        """What is seen at a trial."""
        return {}

    def available(self) -> BoolVector | None:
        return None


class _TwoStepCourse(_Course):
    def begin(self) -> None:
        self.state = 0
        self.p = self.rng.uniform(self.world.low, self.world.high, (2, 2))

    def seen(self) -> Told:
        return {"state": float(self.state)}

    def after(self, chosen: int) -> tuple[float, Told]:
        world = self.world
        if self.state == 0:
            usual = self.rng.random() < world.common
            self.state = 1 + (chosen if usual else 1 - chosen)
            return 0.0, {}
        reward = float(self.rng.random() < self.p[self.state - 1, chosen])
        moved = self.p + self.rng.normal(0.0, world.step_sd, (2, 2))
        moved = np.where(moved > world.high, 2 * world.high - moved, moved)
        self.p = np.where(moved < world.low, 2 * world.low - moved, moved)
        self.state, self.trial = 0, self.trial + 1
        return reward, {}


@dataclass(frozen=True)
class TwoStepWorld(_Trials):
    """The two-step task: two decisions in every trial, of which the second is paid.

    The first option of stage 1 leads to state 1 with probability `common`, else to state 2; the
    second option mirrors it. Each of the four second-stage options pays 1 with a probability of its
    own, which takes a random step after every trial and is reflected at the ends. At a decision
    `state` is seen: 0 in stage 1, then 1 or 2.

    Parameters
    ----------
    n_trials
        Trials; twice as many decisions.
    common
        Probability of the usual transition.
    low, high
        Between which the probabilities of reward lie.
    step_sd
        Standard deviation of their steps.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rule = {"inverse_temperature": 4.0, "model_based_share": 0.6, "trace_decay": 0.7}
    >>> rule |= {"stickiness": 0.2, "inverse_temperature_2": 3.0}
    >>> rule |= {"learning_rate_1": 0.5, "learning_rate_2": 0.4}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.TwoStepWorld(3), pn.models.TwoStep(), rule, rng=rng)
    >>> play.before["state"][::2]
    array([0., 0., 0.])
    """

    n_trials: int = 200
    common: float = 0.7
    low: float = 0.25
    high: float = 0.75
    step_sd: float = 0.025

    n_options = 2
    _way = _TwoStepCourse

    @property
    def n_events(self) -> int:
        """Two in every trial."""
        return 2 * self.n_trials


class _GoNoGoCourse(_Course):
    def begin(self) -> None:
        self.cues = self.rng.permutation(np.arange(self.world.n_trials) % 4)

    def seen(self) -> Told:
        return {"cue": float(self.cues[self.trial])}

    def after(self, chosen: int) -> tuple[float, Told]:
        cue = int(self.cues[self.trial])
        self.trial += 1
        right = chosen == (1 if cue < 2 else 0)
        better = (self.rng.random() < self.world.reliability) == right
        return float(better) - float(cue in (1, 3)), {}


@dataclass(frozen=True)
class GoNoGoWorld(_Trials):
    """Four cues: go to win, go to avoid losing, no-go to win, no-go to avoid losing.

    The right response is followed by the better outcome (1 for cues 0 and 2, 0 for cues 1 and 3)
    with probability `reliability`, the wrong one by the worse (0, or -1). Option 0 is no-go, option
    1 is go.

    Parameters
    ----------
    n_trials
        Decisions, cues in random order.
    reliability
        How often the right response pays.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> course = pn.models.GoNoGoWorld(8).course(np.random.default_rng(2))
    >>> course.before()["cue"] in (0, 1, 2, 3)
    True
    """

    n_trials: int = 160
    reliability: float = 0.8

    n_options = 2
    _way = _GoNoGoCourse


class _GainLossCourse(_Course):
    def begin(self) -> None:
        self.p = self.rng.uniform(0.1, 0.9, (2, self.world.n_options))

    def after(self, chosen: int) -> tuple[float, Told]:
        gain, loss = (self.rng.random(2) < self.p[:, chosen]).astype(float)
        self.p = np.clip(self.p + self.rng.normal(0, self.world.step_sd, self.p.shape), 0.1, 0.9)
        self.trial += 1
        return float(gain - loss), {"gain": float(gain), "loss": float(loss)}


@dataclass(frozen=True)
class GainLossWorld(_Trials):
    """Options with a gain and a loss of their own, whose probabilities wander.

    Parameters
    ----------
    n_options, n_trials
        How many.
    step_sd
        Standard deviation of the steps of the probabilities, which stay in 0.1 .. 0.9.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> course = pn.models.GainLossWorld(4, 9).course(np.random.default_rng(3))
    >>> reward, told = course.after(2)
    >>> reward == told["gain"] - told["loss"]
    True
    """

    n_options: int = 4
    n_trials: int = 200
    step_sd: float = 0.05

    _way = _GainLossCourse

    def __post_init__(self) -> None:
        check_whole_number(self.n_options, "n_options", 2)
        super().__post_init__()


class _PairsCourse(_Course):
    def begin(self) -> None:
        world = self.world
        self.order = self.rng.permutation(np.arange(world.n_trials) % len(world.pairs))

    def available(self) -> BoolVector | None:
        mask = np.zeros(self.world.n_options, dtype=bool)
        mask[list(self.world.pairs[self.order[self.trial]])] = True
        return mask

    def after(self, chosen: int) -> tuple[float, Told]:
        self.trial += 1
        return float(self.rng.random() < self.world.probabilities[chosen]), {}


@dataclass(frozen=True)
class PairsWorld(_Trials):
    """Pairs or other sets of options, of which one may be chosen: probabilistic selection.

    Parameters
    ----------
    probabilities
        With which each option pays 1, else 0.
    pairs
        Options that are offered together, two or any other number; sets come in random order.
    n_trials
        How many.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pn.models.PairsWorld(n_trials=3).course(np.random.default_rng(4)).available().tolist()
    [True, True, False, False, False, False]
    """

    probabilities: Sequence[float] = (0.8, 0.2, 0.7, 0.3, 0.6, 0.4)
    pairs: Sequence[tuple[int, ...]] = ((0, 1), (2, 3), (4, 5))
    n_trials: int = 180

    _way = _PairsCourse

    @property
    def n_options(self) -> int:
        """As many as probabilities."""
        return len(self.probabilities)


def reversal_schedule(
    n_decisions: int = 200,
    *,
    every: int = 25,
    reliability: float = 0.8,
    rng: np.random.Generator,
) -> Matrix:
    """What two options pay, 1 or -1, where the better one changes places with the other.

    Parameters
    ----------
    n_decisions
        How many.
    every
        Decisions after which they change places.
    reliability
        How often the better one pays 1.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pays = pn.models.reversal_schedule(50, rng=np.random.default_rng(1))
    >>> pays.shape, bool((pays.sum(axis=1) == 0).all())
    ((50, 2), True)
    """
    check_number(reliability, "reliability", least=0, most=1)
    best = np.arange(n_decisions) // every % 2
    kept = rng.random(n_decisions) < reliability
    first = np.where((best == 0) == kept, 1.0, -1.0)
    return np.column_stack([first, -first])


def iowa_schedule(n_decisions: int = 100, *, rng: np.random.Generator) -> Matrix:
    """What the four decks of the Iowa gambling task pay, net, in their usual proportions.

    Of ten cards of decks A and B each pays 100, of C and D 50; losses are 250 in five of ten (A),
    1250 in one (B), 50 in five (C), 250 in one (D), in random order.

    Parameters
    ----------
    n_decisions
        Cards of each deck.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pn.models.iowa_schedule(rng=np.random.default_rng(1)).sum(axis=0)
    array([-2500., -2500.,  2500.,  2500.])
    """
    gains, losses = (100.0, 100.0, 50.0, 50.0), (250.0, 1250.0, 50.0, 250.0)
    often = (5, 1, 5, 1)
    tens = -(-n_decisions // 10)
    decks = []
    for gain, loss, n in zip(gains, losses, often, strict=True):
        cards = np.full(10, gain)
        cards[:n] -= loss
        decks.append(np.concatenate([rng.permutation(cards) for _ in range(tens)]))
    return np.column_stack(decks)[:n_decisions]


class _FullFeedbackCourse(_Course):
    def after(self, chosen: int) -> tuple[float, Told]:
        row = self.world.schedule[self.trial]
        self.trial += 1
        return float(row[chosen]), {"forgone": float(row[1 - chosen])}


@dataclass(frozen=True, eq=False)
class FullFeedbackWorld(_Trials):
    """A schedule of two options whose rewards are both seen: `forgone` is that not received.

    Parameters
    ----------
    schedule
        What every option pays at every decision, (n_decisions, 2).

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> course = pn.models.FullFeedbackWorld([[1.0, -1.0]]).course(np.random.default_rng(1))
    >>> course.after(1)
    (-1.0, {'forgone': 1.0})
    """

    schedule: Sequence[Sequence[float]] | Matrix

    n_options = 2
    _way = _FullFeedbackCourse

    @property
    def n_trials(self) -> int:  # type: ignore[override]  # said by the schedule
        """As many as rows."""
        return len(self.schedule)


class _AversiveCourse(_Course):
    def begin(self) -> None:
        n = self.world.n_trials
        self.sizes = self.rng.integers(1, 100, (n, 2)).astype(float) / 5.0
        mostly = np.arange(n) // self.world.every % 2 == 0
        self.outcome = mostly == (self.rng.random(n) < self.world.reliability)

    def seen(self) -> Told:
        first, second = self.sizes[self.trial]
        return {"magnitude_0": float(first), "magnitude_1": float(second)}

    def after(self, chosen: int) -> tuple[float, Told]:
        first = bool(self.outcome[self.trial])
        hit = first == (chosen == 0)
        reward = -float(self.sizes[self.trial, chosen]) if hit else 0.0
        self.trial += 1
        return reward, {"outcome": float(first)}


@dataclass(frozen=True)
class AversiveWorld(_Trials):
    """One of two options is punished, by sizes that are shown; which one changes now and then.

    Parameters
    ----------
    n_trials
        How many.
    every
        Trials after which the option that is mostly punished changes.
    reliability
        How often it is the one.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> sorted(pn.models.AversiveWorld(5).course(np.random.default_rng(1)).before())
    ['magnitude_0', 'magnitude_1']
    """

    n_trials: int = 200
    every: int = 30
    reliability: float = 0.8

    n_options = 2
    _way = _AversiveCourse


class _BalloonCourse(_Course):
    def begin(self) -> None:
        self.balloon, self.pump = 0, 1
        self.bursts_at = self.rng.integers(1, self.world.most + 1, self.world.n_balloons)

    def before(self) -> Told | None:
        if self.balloon == self.world.n_balloons:
            return None
        return {"balloon": float(self.balloon), "pump": float(self.pump)}

    def after(self, chosen: int) -> tuple[float, Told]:
        burst = chosen == 1 and self.pump == self.bursts_at[self.balloon]
        reward = float(self.pump - 1) if chosen == 0 else 0.0
        over = burst or chosen == 0
        self.balloon, self.pump = (self.balloon + 1, 1) if over else (self.balloon, self.pump + 1)
        return reward, {"burst": float(burst)}


@dataclass(frozen=True)
class BalloonWorld(_World):
    """Balloons that burst at a pump drawn from 1 to `most`, each as likely.

    Parameters
    ----------
    n_balloons
        How many.
    most
        Pump at which the last of them bursts.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pn.models.BalloonWorld(3).course(np.random.default_rng(1)).before()
    {'balloon': 0.0, 'pump': 1.0}
    """

    n_balloons: int = 30
    most: int = 32

    n_options = 2
    _way = _BalloonCourse

    def __post_init__(self) -> None:
        check_whole_number(self.n_balloons, "n_balloons", 1)
        check_whole_number(self.most, "most", 2)

    @property
    def n_events(self) -> int:
        """At most so many pumps and stops."""
        return self.n_balloons * (self.most + 1)


class _InputCourse(_Course):
    def begin(self) -> None:
        n, every = self.world.n_trials, self.world.every
        p = np.repeat(self.rng.choice(self.world.probabilities, -(-n // every)), every)[:n]
        self.inputs = (self.rng.random(n) < p).astype(float)

    def after(self, chosen: int) -> tuple[float, Told]:
        u = float(self.inputs[self.trial])
        self.trial += 1
        return float(u == chosen), {"input": u}


@dataclass(frozen=True)
class InputWorld(_Trials):
    """A binary input that follows each response, 1 with a probability that changes now and then.

    Parameters
    ----------
    n_trials
        How many.
    every
        Trials after which the probability is drawn anew, from `probabilities`.
    probabilities
        Those that there are.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> _, told = pn.models.InputWorld(5).course(np.random.default_rng(1)).after(0)
    >>> told["input"] in (0.0, 1.0)
    True
    """

    n_trials: int = 320
    every: int = 40
    probabilities: Sequence[float] = (0.9, 0.1, 0.7, 0.3)

    n_options = 2
    _way = _InputCourse


class _BeadsCourse(_Course):
    def begin(self) -> None:
        self.sequence, self.drawn, self.firsts = 0, 0, 0
        self.first_jar = self.rng.random(self.world.n_sequences) < 0.5

    def before(self) -> Told | None:
        if self.sequence == self.world.n_sequences:
            return None
        return {"drawn": float(self.drawn), "firsts": float(self.firsts)}

    def after(self, chosen: int) -> tuple[float, Told]:
        world, is_first = self.world, bool(self.first_jar[self.sequence])
        if chosen == 0:
            colour = self.rng.random() < (world.share if is_first else 1.0 - world.share)
            self.drawn, self.firsts = self.drawn + 1, self.firsts + int(colour)
        if chosen != 0 or self.drawn == world.most:
            self.sequence, self.drawn, self.firsts = self.sequence + 1, 0, 0
        if chosen == 0:
            return 0.0, {}
        return world.win if (chosen == 1) == is_first else -world.loss, {}


@dataclass(frozen=True)
class BeadsWorld(_World):
    """Beads from one of two jars, drawn one after another until a jar is named.

    At a decision `drawn` and `firsts` are seen, beads so far and those of the first colour. Option
    0 draws; 1 and 2 name the first and the second jar and end the sequence, as the last bead does.

    Parameters
    ----------
    n_sequences
        How many jars.
    share
        Of beads of the colour that a jar is known for.
    most
        Beads, at most.
    win, loss
        What naming the right jar pays, and what naming the wrong one takes.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pn.models.BeadsWorld(3).course(np.random.default_rng(1)).before()
    {'drawn': 0.0, 'firsts': 0.0}
    """

    n_sequences: int = 30
    share: float = 0.85
    most: int = 20
    win: float = 1.0
    loss: float = 1.0

    n_options = 3
    _way = _BeadsCourse

    def __post_init__(self) -> None:
        check_whole_number(self.n_sequences, "n_sequences", 1)
        check_whole_number(self.most, "most", 1)
        check_number(self.share, "share", above=0.5, below=1, fix="Give the larger of the two.")

    @property
    def n_events(self) -> int:
        """At most so many draws and names."""
        return self.n_sequences * self.most
