"""Tasks that show something at a decision, or tell more than a reward after it.

A world draws the events of one person: what is seen at the next decision and which options there
are, then what follows the option taken. `simulate`, `recover` and the others take a world where
they take a landscape.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from penchant._typing import Matrix
from penchant.argument_checks import check_number, check_whole_number

Told = Mapping[str, float]


Events = Generator[Any, int, None]


@runtime_checkable
class World(Protocol):
    """A task that draws the events of every person."""

    @property
    def n_options(self) -> int:
        """Number of options."""

    @property
    def n_events(self) -> int:
        """Events, at most."""

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person.

        Before a decision it yields what is seen, by name, and which options there are, None for
        all; for the option that it is sent, the reward and what is learnt beside it.
        """


class _Trials:
    """Base of worlds of a number of trials, one decision each."""

    n_trials: int

    def __post_init__(self) -> None:
        check_whole_number(self.n_trials, "n_trials", 1)

    @property
    def n_events(self) -> int:
        """Number of events, equal to that of trials."""
        return self.n_trials


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

    @property
    def n_events(self) -> int:
        """Two in every trial."""
        return 2 * self.n_trials

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        p = rng.uniform(self.low, self.high, (2, 2))
        for _ in range(self.n_trials):
            first = yield {"state": 0.0}, None
            is_usual = rng.random() < self.common
            state = 1 + (first if is_usual else 1 - first)
            yield 0.0, {}
            second = yield {"state": float(state)}, None
            reward = float(rng.random() < p[state - 1, second])
            moved = p + rng.normal(0.0, self.step_sd, (2, 2))
            moved = np.where(moved > self.high, 2 * self.high - moved, moved)
            p = np.where(moved < self.low, 2 * self.low - moved, moved)
            yield reward, {}


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
    >>> seen, _ = next(pn.models.GoNoGoWorld(8).events(np.random.default_rng(2)))
    >>> seen["cue"] in (0, 1, 2, 3)
    True
    """

    n_trials: int = 160
    reliability: float = 0.8

    n_options = 2

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        for cue in rng.permutation(np.arange(self.n_trials) % 4).tolist():
            chosen = yield {"cue": float(cue)}, None
            is_right = chosen == (1 if cue < 2 else 0)
            is_better = (rng.random() < self.reliability) == is_right
            yield float(is_better) - float(cue in (1, 3)), {}


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
    >>> events = pn.models.GainLossWorld(4, 9).events(np.random.default_rng(3))
    >>> _ = next(events)
    >>> reward, told = events.send(2)
    >>> reward == told["gain"] - told["loss"]
    True
    """

    n_options: int = 4
    n_trials: int = 200
    step_sd: float = 0.05

    def __post_init__(self) -> None:
        check_whole_number(self.n_options, "n_options", 2)
        super().__post_init__()

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        p = rng.uniform(0.1, 0.9, (2, self.n_options))
        for _ in range(self.n_trials):
            chosen = yield {}, None
            gain, loss = (rng.random(2) < p[:, chosen]).astype(float).tolist()
            p = np.clip(p + rng.normal(0, self.step_sd, p.shape), 0.1, 0.9)
            yield gain - loss, {"gain": gain, "loss": loss}


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
    >>> _, options = next(pn.models.PairsWorld(n_trials=3).events(np.random.default_rng(4)))
    >>> options.tolist()
    [True, True, False, False, False, False]
    """

    probabilities: Sequence[float] = (0.8, 0.2, 0.7, 0.3, 0.6, 0.4)
    pairs: Sequence[tuple[int, ...]] = ((0, 1), (2, 3), (4, 5))
    n_trials: int = 180

    @property
    def n_options(self) -> int:
        """Length of `probabilities`, which are those of every option."""
        return len(self.probabilities)

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        for pair in rng.permutation(np.arange(self.n_trials) % len(self.pairs)):
            mask = np.zeros(self.n_options, dtype=bool)
            mask[list(self.pairs[pair])] = True
            chosen = yield {}, mask
            yield float(rng.random() < self.probabilities[chosen]), {}


def reversal_schedule(
    n_decisions: int = 200,
    *,
    every: int = 25,
    reliability: float = 0.8,
    rng: np.random.Generator,
) -> Matrix:
    """Draw rewards of 1 or -1 of two options, of which the better one alternates.

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
    """Draw net payoffs of the four decks of the Iowa gambling task, in usual proportions.

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
    >>> events = pn.models.FullFeedbackWorld([[1.0, -1.0]]).events(np.random.default_rng(1))
    >>> _ = next(events)
    >>> events.send(1)
    (-1.0, {'forgone': 1.0})
    """

    schedule: Sequence[Sequence[float]] | Matrix

    n_options = 2

    @property
    def n_trials(self) -> int:  # type: ignore[override]  # said by the schedule
        """Number of trials: the rows of the schedule."""
        return len(self.schedule)

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        for row in self.schedule:
            chosen = yield {}, None
            yield float(row[chosen]), {"forgone": float(row[1 - chosen])}


@dataclass(frozen=True)
class AversiveWorld(_Trials):
    """Aversive reversal task: one of two options is punished, by magnitudes that are shown.

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
    >>> seen, _ = next(pn.models.AversiveWorld(5).events(np.random.default_rng(1)))
    >>> sorted(seen)
    ['magnitude_0', 'magnitude_1']
    """

    n_trials: int = 200
    every: int = 30
    reliability: float = 0.8

    n_options = 2

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        sizes = rng.integers(1, 100, (self.n_trials, 2)).astype(float) / 5.0
        mostly = np.arange(self.n_trials) // self.every % 2 == 0
        outcomes = mostly == (rng.random(self.n_trials) < self.reliability)
        for both, is_first in zip(sizes.tolist(), outcomes.tolist(), strict=True):
            chosen = yield {"magnitude_0": both[0], "magnitude_1": both[1]}, None
            is_hit = is_first == (chosen == 0)
            yield -both[chosen] if is_hit else 0.0, {"outcome": float(is_first)}


@dataclass(frozen=True)
class BalloonWorld:
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
    >>> next(pn.models.BalloonWorld(3).events(np.random.default_rng(1)))[0]
    {'balloon': 0.0, 'pump': 1.0}
    """

    n_balloons: int = 30
    most: int = 32

    n_options = 2

    def __post_init__(self) -> None:
        check_whole_number(self.n_balloons, "n_balloons", 1)
        check_whole_number(self.most, "most", 2)

    @property
    def n_events(self) -> int:
        """At most so many pumps and stops."""
        return self.n_balloons * (self.most + 1)

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        bursts_at = rng.integers(1, self.most + 1, self.n_balloons)
        for balloon in range(self.n_balloons):
            pump, is_over = 1, False
            while not is_over:
                chosen = yield {"balloon": float(balloon), "pump": float(pump)}, None
                is_burst = chosen == 1 and pump == bursts_at[balloon]
                is_over = is_burst or chosen == 0
                yield float(pump - 1) if chosen == 0 else 0.0, {"burst": float(is_burst)}
                pump += 1


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
    >>> events = pn.models.InputWorld(5).events(np.random.default_rng(1))
    >>> _ = next(events)
    >>> _, told = events.send(0)
    >>> told["input"] in (0.0, 1.0)
    True
    """

    n_trials: int = 320
    every: int = 40
    probabilities: Sequence[float] = (0.9, 0.1, 0.7, 0.3)

    n_options = 2

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        n = self.n_trials
        p = np.repeat(rng.choice(self.probabilities, -(-n // self.every)), self.every)[:n]
        for u in (rng.random(n) < p).astype(float).tolist():
            chosen = yield {}, None
            yield float(u == chosen), {"input": u}


@dataclass(frozen=True)
class BeadsWorld:
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
    >>> next(pn.models.BeadsWorld(3).events(np.random.default_rng(1)))[0]
    {'drawn': 0.0, 'firsts': 0.0}
    """

    n_sequences: int = 30
    share: float = 0.85
    most: int = 20
    win: float = 1.0
    loss: float = 1.0

    n_options = 3

    def __post_init__(self) -> None:
        check_whole_number(self.n_sequences, "n_sequences", 1)
        check_whole_number(self.most, "most", 1)
        check_number(self.share, "share", above=0.5, below=1, fix="Give the larger of the two.")

    @property
    def n_events(self) -> int:
        """At most so many draws and names."""
        return self.n_sequences * self.most

    def events(self, rng: np.random.Generator) -> Events:
        """Generate the events of one person; see `World.events`."""
        for is_first in (rng.random(self.n_sequences) < 0.5).tolist():
            drawn, firsts, is_named = 0, 0, False
            while not is_named and drawn < self.most:
                chosen = yield {"drawn": float(drawn), "firsts": float(firsts)}, None
                is_named = chosen != 0
                if is_named:
                    yield self.win if (chosen == 1) == is_first else -self.loss, {}
                else:
                    firsts += int(rng.random() < (self.share if is_first else 1.0 - self.share))
                    drawn += 1
                    yield 0.0, {}
