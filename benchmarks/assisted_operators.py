"""Simulated operators, apprentices and warnings: the experiments that `assist.py` measures.

`team_gains` compares the regret of operators alone, of the machine alone and of both together; six
kinds of operators, three of them outside the machine's model. `apprentice_gains` lets a machine
watch an expert and then play alone, with the expert's map inferred from choices, the rewards that
it saw, or both: a landscape is then a persistent part, of which the expert has a map, plus a part
drawn anew in each play, and rewards transfer as far as the persistent part goes (Gaussian process
regression with two variance components). `warning_scores` trains early warnings on simulated
players. All operators are simulated: no claim about people follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import penchant as pn
from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.assistance.assistant_beliefs import TRACKING
from penchant.assistance.poor_performance_warning import (
    FEATURES,
    Calibration,
    FeatureSet,
    area_under_roc,
)
from penchant.assistance.shared_autonomy import ADVICE, Helper, Mode, field_basis
from penchant.bandit.beliefs import GAUSSIAN
from penchant.bandit.landscape import landscape_a
from penchant.models.model import Agents
from penchant.models.simulate import agents_of, draw_options

OperatorKind = Literal["expert", "novice", "wrong", "local", "kernel", "q-learner"]
KINDS: tuple[OperatorKind, ...] = ("expert", "novice", "wrong", "local", "kernel", "q-learner")
KIND_DESCRIPTIONS = {
    "expert": "a map with a correlation of 0.9 with the truth",
    "novice": "no map",
    "wrong": "a map that has nothing to do with the truth, and as sure as an expert",
    "local": "an expert's map, and choices near the last one; outside the machine's model",
    "kernel": "an expert's map, another kernel, noise that does not cool; outside the model",
    "q-learner": "no map and no sense of place; outside the machine's model",
}
CONDITIONS = ("human", "machine", "suggest", "sensor", "sensor, trust")
Z_95 = 1.96  # half-width of a 95 % normal interval, in standard deviations
# Decision noise nu in rewards, from nearly greedy to nearly random, so that averages are not over
# one kind of player.
OPERATOR_NOISE_RANGE = (4.0, 25.0)
# In rewards; a flatter map is constant but for rounding, and would be divided by 0.
MIN_MAP_SD = 1e-9
CHOLESKY_JITTER = 1e-8  # squared rewards; smooth kernels are singular to rounding without it


@dataclass(frozen=True, eq=False)
class TeamEnvironment:
    """Landscapes drawn from the machine's field, and operators with some knowledge of each.

    Attributes
    ----------
    field
        Distribution of landscapes. The machine knows it, which favours the machine.
    similarity
        Correlation of an expert's map with the landscape.
    prior_variance
        Variance of the operators' beliefs about an option, in squared rewards.
    """

    field: pn.Field
    n_decisions: int = 30
    similarity: float = 0.9
    prior_variance: float = 150.0

    @classmethod
    def hard(cls) -> TeamEnvironment:
        """Narrow peaks on 10 x 10 tiles, 30 choices: search is hard, so knowledge helps."""
        places = pn.grid(10, 10)
        return cls(pn.Field(places, mean=30, sd=15, length_scale=1.7, noise_variance=10))

    @property
    def root(self) -> Matrix:
        """Cholesky factor of the landscapes' covariance."""
        jitter = CHOLESKY_JITTER * np.eye(self.field.n_options)
        return np.asarray(np.linalg.cholesky(self.field.covariance() + jitter), float)

    def landscape(self, root: Matrix, rng: np.random.Generator) -> Vector:
        """Mean rewards of all options, drawn."""
        return np.asarray(self.field.mean + root @ rng.standard_normal(len(root)))

    def machine_model(self) -> pn.UCL:
        """Model of the operator that the machine fits."""
        places = self.field.locations
        return pn.UCL(locations=places, noise_variance=self.field.noise_variance, length_scale=4.0)

    def operator(
        self, kind: OperatorKind, noise: float, truth: Vector, root: Matrix, rng: Any
    ) -> Agents:
        """Draw an operator of a kind, with that kind's knowledge of the landscape `truth`."""
        if kind == "q-learner":
            start = self.field.mean
            # The temperature of Q-learning does not cool: a third of nu is as noisy as a UCL
            # operator late in an episode.
            rule = {"temperature": max(noise / 3, 1.0), "learning_rate": 0.5}
            learner: Agents = agents_of(pn.QLearning(len(truth), start), rule, 1)
            return learner
        # Drawn for all kinds alike, though novices do not use it: with the same seed all kinds then
        # meet the same randomness.
        r, mean = self.similarity, self.field.mean
        other = root @ rng.standard_normal(len(root))
        knowledge = {"wrong": other, "novice": 0.0 * other}.get(
            kind, r * (truth - mean) + np.sqrt(1 - r**2) * other
        )
        belief = mean + knowledge
        settings: dict[str, Any] = {"length_scale": 4.0}
        settings["noise_variance"] = self.field.noise_variance
        natural = {"decision_noise": noise, "prior_mean": mean}
        natural["prior_variance"] = self.prior_variance
        if kind == "kernel":
            # The noise of this kind does not cool, so it is smaller from the start.
            settings |= {"kernel": GAUSSIAN, "length_scale": 1.5, "cooling": "constant"}
            natural["decision_noise"] = noise / 2.5
        if kind == "local":
            settings["locality"] = ("distance",)
            natural["distance"] = -0.25
        model = pn.UCL(locations=self.field.locations, **settings)
        deviation = belief - belief.mean()
        if deviation.std() > MIN_MAP_SD:
            model = replace(model, prior_map=pn.MapBasis.of([belief]))
            natural |= {"prior_mean": float(belief.mean()), "map_1": float(deviation.std())}
        found: Agents = agents_of(model, natural, 1)
        return found


@dataclass(frozen=True, eq=False)
class Gains:
    """Regret per choice of operators of one kind under every condition.

    Attributes
    ----------
    kind
        Of operator.
    regret
        (n_operators,) by condition.
    trust
        Learnt from the episode without assistance.
    """

    kind: str
    regret: Mapping[str, Vector]
    trust: Vector

    def gain(self, condition: str, over: str = "human") -> tuple[float, float]:
        """Mean gain of a condition over another, and the half-width of its 95 % interval."""
        return _mean_and_half_width(self.regret[over] - self.regret[condition])

    def share_worse(self, condition: str, by: float = 1.0) -> float:
        """Share of operators who lose more than `by` per choice against being alone."""
        return float((self.regret[condition] - self.regret["human"] > by).mean())


def _mean_and_half_width(differences: Vector) -> tuple[float, float]:
    error = Z_95 * differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean()), float(error)


def team_gains(
    kind: OperatorKind,
    *,
    n_operators: int,
    rng: np.random.Generator,
    world: TeamEnvironment | None = None,
    conditions: tuple[str, ...] = CONDITIONS,
    advance: Callable[[int], None] | None = None,
) -> Gains:
    """Simulate operators of a kind: alone, the machine alone, and together.

    Everybody first plays an episode without assistance, from which the machine learns their noise
    and its trust; then one under every condition, in the same new landscape with the same
    knowledge of it.

    Parameters
    ----------
    kind
        Of operator, such as "expert" or "wrong".
    n_operators
        How many to simulate.
    rng
        Randomness; each operator has its own stream.
    world
        Landscapes and people; those of a hard search, if not given.
    conditions
        Who plays: "human", "machine", or a mode of assistance.
    advance
        Called with the number of each operator done.
    """
    world = TeamEnvironment.hard() if world is None else world
    root, model = world.root, world.machine_model()
    regret: dict[str, list[float]] = {name: [] for name in conditions}
    trusts = []
    for own in rng.spawn(n_operators):
        noise = _draw_operator_noise(own)
        first, truth = world.landscape(root, own), world.landscape(root, own)
        trained = pn.assist(model, world.field, mode="suggest", unassisted=None)
        before = world.operator(kind, noise, first, root, own)
        _episode_regret(world, first, before, trained, own)
        trusts.append(trained.trust.mean)
        # Common random numbers: differences between conditions vary less than regrets do.
        seed = int(own.integers(2**62))
        for name in conditions:
            again = np.random.default_rng(seed)
            operator = world.operator(kind, noise, truth, root, again)
            helper = _helper_for_condition(name, trained)
            regret[name].append(_episode_regret(world, truth, operator, helper, again))
        if advance is not None:
            advance(1)
    found = {name: np.array(values) for name, values in regret.items()}
    return Gains(kind, found, np.array(trusts))


def _draw_operator_noise(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(*np.log(OPERATOR_NOISE_RANGE))))


def _helper_for_condition(condition: str, trained: Helper) -> Helper | None:
    """The machine of a condition, with the trained one's knowledge of the operator."""
    if condition == "human":
        return None
    mode: Mode = "suggest" if condition == "suggest" else "decide"
    trust = trained.trust
    if condition == "machine":
        trust = pn.Trust(0.0, 0.0)
    elif condition == "sensor":
        # The default trust shows what the trust learnt in the unassisted episode adds.
        trust = pn.Trust()
    return trained.copy_with_operator_knowledge(mode, trust)


def _episode_regret(
    world: TeamEnvironment,
    truth: Vector,
    agents: Agents,
    helper: Helper | None,
    rng: np.random.Generator,
) -> float:
    """Regret per choice of one episode."""
    place = pn.Landscape(truth, pn.GaussianNoise(world.field.noise_variance))
    play = pn.simulate_team(place, agents, helper, n_decisions=world.n_decisions, rng=rng)
    return float(pn.results.cumulative_regret(play, place)[-1] / world.n_decisions)


BASELINES = ("expert", "own map", "no prior")
TRANSFERS = ("map", "rewards", "rewards and map", "rewards and counts")
TRANSFER_DESCRIPTIONS = {
    "expert": "the expert goes on alone, with their own noise",
    "own map": "the machine is told the expert's map, which nobody can tell",
    "no prior": "the machine has watched nobody",
    "map": "it has read the map from the choices, and starts without the rewards",
    "rewards": "it has seen the rewards, and no map",
    "rewards and map": "it has both",
    "rewards and counts": "it takes how often options were visited for the map",
}


@dataclass(frozen=True, eq=False)
class Apprenticeship:
    """Regret per choice of machines that watched experts, for one number of watched plays.

    Attributes
    ----------
    n_watched
        Plays that were watched.
    regret
        (n_experts,) by what was taken over.
    similarity
        Correlation of the map that was read with the expert's.
    """

    n_watched: int
    regret: Mapping[str, Vector]
    similarity: Vector

    def difference(self, what: str, other: str) -> tuple[float, float]:
        """Mean regret of one less that of another, and the half-width of its 95 % interval."""
        return _mean_and_half_width(self.regret[what] - self.regret[other])


@dataclass(frozen=True, eq=False)
class RecurringLandscapes:
    """Wide hills on 10 x 10 tiles: a persistent part plus a part drawn anew in each play.

    Standard deviations are in rewards; the machine knows both, which favours it. `similarity` is
    the correlation of an expert's map with the persistent part.
    """

    persistent_sd: float = 12.0
    new_sd: float = 8.0
    length_scale: float = 2.0
    similarity: float = 0.8
    n_decisions: int = 60

    @property
    def world(self) -> TeamEnvironment:
        """Distribution of the persistent part, and its experts."""
        field = pn.Field(pn.grid(10, 10), 30, self.persistent_sd, self.length_scale, 10.0)
        return TeamEnvironment(field, self.n_decisions, self.similarity)


def apprentice_gains(
    n_watched: int,
    *,
    n_experts: int,
    rng: np.random.Generator,
    hills: RecurringLandscapes | None = None,
    watched_decisions: int = 15,
    advance: Callable[[int], None] | None = None,
) -> Apprenticeship:
    """Simulate machines that watch experts, and then play a new landscape alone.

    Parameters
    ----------
    n_watched
        Plays of the expert that the machine watches.
    n_experts
        How many to simulate.
    rng
        Randomness; each expert has its own stream.
    hills
        Landscapes and experts.
    watched_decisions
        Choices of each play that is watched.
    advance
        Called with the number of each expert done.
    """
    hills = RecurringLandscapes() if hills is None else hills
    world = hills.world
    root = world.root
    model = replace(world.machine_model(), prior_map=field_basis(world.field))
    regret: dict[str, list[float]] = {name: [] for name in (*BASELINES, *TRANSFERS)}
    similarity = []
    for own in rng.spawn(n_experts):
        regrets, r = _simulate_expert_and_apprentice(
            hills, root, model, n_watched, watched_decisions, own
        )
        for name, value in regrets.items():
            regret[name].append(value)
        similarity.append(r)
        if advance is not None:
            advance(1)
    found = {name: np.array(values) for name, values in regret.items()}
    return Apprenticeship(n_watched, found, np.array(similarity))


def _simulate_expert_and_apprentice(
    hills: RecurringLandscapes,
    root: Matrix,
    model: pn.UCL,
    n_watched: int,
    n_decisions: int,
    rng: np.random.Generator,
) -> tuple[dict[str, float], float]:
    """Regret per choice by what was taken over, and the correlation of inferred and true map."""
    world = hills.world
    mean, r = world.field.mean, world.similarity
    noise = _draw_operator_noise(rng)
    persistent = world.landscape(root, rng)
    # A seed, not a stream, so that the expert has the same map in every play.
    map_seed = int(rng.integers(2**62))

    def new_expert() -> Agents:
        own = np.random.default_rng(map_seed)
        return world.operator("expert", noise, persistent, root, own)

    def new_landscape() -> pn.Landscape:
        scale = hills.new_sd / hills.persistent_sd
        new = scale * root @ rng.standard_normal(len(persistent))
        return pn.Landscape(persistent + new, pn.GaussianNoise(world.field.noise_variance))

    # `Agents` do not show their map: repeating the draws of `TeamEnvironment.operator` gives it.
    other = root @ np.random.default_rng(map_seed).standard_normal(len(persistent))
    own_map = r * (persistent - mean) + np.sqrt(1 - r**2) * other
    plays = [
        _play_unassisted(new_landscape(), new_expert(), n_decisions, rng) for _ in range(n_watched)
    ]
    inferred = _infer_expert_belief_map(model, plays)
    # Visit counts are the naive rival of an inferred map; with the mean and variance of a map they
    # differ from it in shape alone.
    visits = np.concatenate([play.executed for play in plays])
    counts = np.log1p(np.bincount(visits, minlength=len(persistent)))
    counts = hills.persistent_sd * (counts - counts.mean()) / max(float(counts.std()), MIN_MAP_SD)
    watched = WatchedRewards.of(hills, plays)
    last, seed = new_landscape(), int(rng.integers(2**62))

    def machine_regret(belief: Vector, *, with_rewards: bool) -> float:
        # Without rewards the trust in the map still comes from them, as it is learnt while
        # watching.
        known = watched.with_map(belief)
        known = known if with_rewards else replace(known, options=(), rewards=(), plays=())
        own = np.random.default_rng(seed)
        return _machine_regret_per_choice(last, model, known, hills.n_decisions, own)

    no_map = np.zeros(len(persistent))
    played = _play_unassisted(last, new_expert(), hills.n_decisions, np.random.default_rng(seed))
    found = {
        "expert": float(pn.results.cumulative_regret(played, last)[-1] / hills.n_decisions),
        "own map": machine_regret(own_map, with_rewards=False),
        "no prior": machine_regret(no_map, with_rewards=False),
        "map": machine_regret(inferred, with_rewards=False),
        "rewards": machine_regret(no_map, with_rewards=True),
        "rewards and map": machine_regret(inferred, with_rewards=True),
        "rewards and counts": machine_regret(counts, with_rewards=True),
    }
    is_flat = inferred.std() < MIN_MAP_SD
    return found, 0.0 if is_flat else float(np.corrcoef(inferred, own_map)[0, 1])


@dataclass(frozen=True, eq=False)
class WatchedRewards:
    """Rewards of several plays whose landscapes share a persistent part, and of the current one.

    Attributes
    ----------
    correlation
        Correlation of the options, the same in the persistent and the new part.
    expected, persistent_variance
        Prior mean of the persistent part (the level, and a map times the trust in it), and its
        variance less what the map explains.
    options, rewards, plays
        Option, reward and number of the play of each observation.
    """

    correlation: Matrix
    expected: Vector
    persistent_variance: float
    new_variance: float
    noise_variance: float
    bonus: float
    options: tuple[int, ...]
    rewards: tuple[float, ...]
    plays: tuple[int, ...]

    @classmethod
    def of(cls, hills: RecurringLandscapes, plays: list[pn.Episode]) -> WatchedRewards:
        """Collect the rewards of watched plays, without a map."""
        field = hills.world.field
        numbers = [k for k, play in enumerate(plays) for _ in range(play.n_events)]
        return cls(
            field.covariance() / field.sd**2,
            np.full(field.n_options, float(field.mean)),
            field.sd**2,
            hills.new_sd**2,
            field.noise_variance,
            field.bonus,
            tuple(int(i) for play in plays for i in play.executed),
            tuple(float(reward) for play in plays for reward in play.rewards),
            tuple(numbers),
        )

    def with_map(self, belief: Vector) -> WatchedRewards:
        """Add a map to the prior mean, trusted as in `Trust.learnt` as far as rewards follow it."""
        at = np.array(self.options)
        prior, solved = (
            pn.Trust(),
            np.linalg.solve(self._observed_reward_covariance(at), belief[at]),
        )
        precision = prior.sd**-2 + float(belief[at] @ solved)
        residuals = np.array(self.rewards) - self.expected[at]
        trust = (prior.mean * prior.sd**-2 + float(residuals @ solved)) / precision
        trust = trust if trust >= ADVICE.min_trust else 0.0
        explained = trust**2 * float((belief**2).mean()) / self.persistent_variance
        open_share = max(1.0 - explained, TRACKING.min_residual_share)
        return replace(
            self,
            expected=self.expected + trust * belief,
            persistent_variance=open_share * self.persistent_variance,
        )

    def _observed_reward_covariance(self, options: IntVector) -> Matrix:
        play = np.array(self.plays)
        # Rewards of different plays share the persistent part only: the new part is drawn anew in
        # each.
        part = self.persistent_variance + self.new_variance * (play[:, None] == play)
        found = part * self.correlation[np.ix_(options, options)] + self.noise_variance * np.eye(
            len(options)
        )
        return np.asarray(found)

    def observe(self, option: int, reward: float) -> WatchedRewards:
        """Add a reward of the current play."""
        return replace(
            self,
            options=(*self.options, option),
            rewards=(*self.rewards, reward),
            plays=(*self.plays, CURRENT_PLAY),
        )

    def posterior(self) -> tuple[Vector, Vector]:
        """Mean and standard deviation of every option of the current landscape."""
        total = np.full(len(self.expected), self.persistent_variance + self.new_variance)
        if not self.options:
            return self.expected, np.sqrt(total)
        at = np.array(self.options)
        is_current = np.array(self.plays) == CURRENT_PLAY
        part = self.persistent_variance + self.new_variance * is_current
        cross = part[:, None] * self.correlation[at]
        gains = np.linalg.solve(self._observed_reward_covariance(at), cross)
        mean = self.expected + (np.array(self.rewards) - self.expected[at]) @ gains
        return mean, np.sqrt(np.maximum(total - (cross * gains).sum(axis=0), 0.0))


CURRENT_PLAY = -1  # no watched play has this number, as they are counted from 0


def _play_unassisted(
    place: pn.Landscape, agents: Agents, n_decisions: int, rng: np.random.Generator
) -> pn.Episode:
    chosen, rewards = [], []
    for _ in range(n_decisions):
        option = int(draw_options(agents.probabilities(), rng)[0])
        reward = place.draw(option, rng=rng)
        agents.observe(np.array([option]), np.array([reward]))
        chosen.append(option)
        rewards.append(reward)
    return pn.Episode(chosen, rewards)


def _infer_expert_belief_map(model: pn.UCL, plays: list[pn.Episode]) -> Vector:
    """The expert's map estimated from choices; a flat one without a finite, positive slope."""
    estimate = pn.fit(plays, model, parameter_prior=pn.MapPrior())
    if not np.isfinite(estimate.theta).all() or estimate.weights[0] <= 0:
        return np.zeros(model.n_options)
    return np.asarray(estimate.belief_map().mean)


def _machine_regret_per_choice(
    place: pn.Landscape,
    model: pn.UCL,
    watched: WatchedRewards,
    n_decisions: int,
    rng: np.random.Generator,
) -> float:
    """Regret per choice of a machine that plays its upper credible limit index alone."""
    z = model.credible_z(np.arange(1.0, n_decisions + 1.0))
    best, regret = float(place.mean_rewards.max()), 0.0
    for t in range(n_decisions):
        mean, sd = watched.posterior()
        option = int(np.argmax(mean + watched.bonus * z[t] * sd))
        watched = watched.observe(option, place.draw(option, rng=rng))
        regret += best - float(place.mean_rewards[option])
    return regret / n_decisions


PLAY_LENGTH = 90  # choices, as in the paper's experiment
N_BOOTSTRAP = 1000  # resamples of players: 2.5 % points then rest on 25 of them
# Ranges of simulated players in rewards, squared rewards and tiles: wide, so that there are poor
# players as well as good ones.
PLAYER_NOISE_RANGE, PLAYER_LEVEL_RANGE = (2.0, 30.0), (0.0, 100.0)
PLAYER_VARIANCE_RANGE, PLAYER_LENGTH_RANGE = (10.0, 2000.0), (1.0, 8.0)


@dataclass(frozen=True, eq=False)
class WarningScores:
    """Accuracy of warnings on players that they were not trained on, by the features used.

    Attributes
    ----------
    at
        Choices after which it is given.
    poor
        Whether each player's regret grew as that of low performers does.
    by
        The check on players left out, by what the warning looks at.
    """

    at: int
    poor: BoolVector
    by: Mapping[FeatureSet, Calibration]

    def more(
        self, what: FeatureSet, other: FeatureSet, rng: np.random.Generator
    ) -> tuple[float, float, float]:
        """Difference of the AUC of two sets of features, and its 95 % bootstrap interval."""
        one, two = self.by[what].predicted, self.by[other].predicted
        found = []
        for _ in range(N_BOOTSTRAP):
            drawn = rng.integers(0, len(self.poor), len(self.poor))
            if 0 < self.poor[drawn].sum() < len(drawn):  # the AUC needs both classes
                labels = self.poor[drawn]
                found.append(
                    area_under_roc(one[drawn], labels) - area_under_roc(two[drawn], labels)
                )
        low, high = np.quantile(found, [0.025, 0.975])
        return self.by[what].auc - self.by[other].auc, float(low), float(high)


def simulate_labelled_players(
    n_players: int, rng: np.random.Generator
) -> tuple[list[pn.Episode], BoolVector]:
    """Simulate varied players on landscape A; returns the plays and which went poorly."""
    place, places = landscape_a(), pn.grid(10, 10)
    plays = []
    for k in range(n_players):
        noise, variance, length = (
            float(np.exp(rng.uniform(*np.log(limits))))
            for limits in (PLAYER_NOISE_RANGE, PLAYER_VARIANCE_RANGE, PLAYER_LENGTH_RANGE)
        )
        model = pn.UCL(locations=places, noise_variance=10.0, length_scale=length)
        rule = {"decision_noise": noise, "prior_mean": float(rng.uniform(*PLAYER_LEVEL_RANGE))}
        rule["prior_variance"] = variance
        plays.append(pn.simulate(place, model, rule, n_decisions=PLAY_LENGTH, rng=rng, subject=k))
    orders = pn.results.growth_orders([pn.results.cumulative_regret(play, place) for play in plays])
    return plays, np.array([order.category == "low" for order in orders])


def warning_scores(
    n_players: int, *, rng: np.random.Generator, at: tuple[int, ...] = (20, 30)
) -> list[WarningScores]:
    """Simulate players, train warnings of every kind after some choices, and check them.

    Parameters
    ----------
    n_players
        How many play.
    rng
        Source of randomness.
    at
        After how many choices players are warned.
    """
    plays, poor = simulate_labelled_players(n_players, rng)
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    # One seed gives the same folds to all feature sets, so that their AUCs can be compared.
    seed = int(rng.integers(2**62))
    found = []
    for after in at:
        by = {
            kind: pn.train_warning(
                plays, poor, model, task="landscape A", at=after, by=kind, rng=seed
            ).calibration
            for kind in FEATURES
        }
        found.append(WarningScores(after, poor, by))
    return found
