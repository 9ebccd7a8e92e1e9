"""Made-up people who learn from rewards, and what is true of them."""

import random
from dataclasses import dataclass
from math import exp


@dataclass(frozen=True)
class Trial:
    """One decision: what was taken and paid, and what stood on the screen."""

    option: int | None
    reward: float
    payoffs: tuple[float, ...]
    chances: tuple[float, ...]
    order: tuple[int, ...]
    seconds: float

    @property
    def best(self) -> int:
        """The option that pays best."""
        return max(range(len(self.chances)), key=lambda option: self.chances[option])


@dataclass(frozen=True)
class Person:
    """Somebody's plays: each starts anew."""

    name: str
    group: str
    plays: tuple[tuple[Trial, ...], ...]


@dataclass(frozen=True)
class Pay:
    """What an option pays: when it pays, and when it does not."""

    won: tuple[float, ...]
    lost: tuple[float, ...]


PAYS = {
    "binary": Pay((1,), (0,)),
    "signed": Pay((1,), (-1,)),
    "points": Pay((10,), (0,)),
    "many points": Pay(tuple(range(31, 97)), tuple(range(4, 31))),
    "cents": Pay((0.25,), (0,)),
    "mixed": Pay((50, 100), (-250, -50, 0, 25)),
    "decimals": Pay((1.35, 2.6, 3.45), (0.15, 0.4, 0.55)),
}


def people(
    rng: random.Random, names, groups, *, pay: Pay, n_options: int, n_plays: int, n_trials: int
) -> list[Person]:
    """People who take what paid, missing some trials; some leave early."""
    return [
        Person(
            name,
            groups[k % len(groups)],
            tuple(
                _play(
                    rng,
                    pay,
                    n_options,
                    n_trials if rng.random() < 0.85 else max(6, n_trials - rng.randrange(5)),
                )
                for _ in range(n_plays)
            ),
        )
        for k, name in enumerate(names)
    ]


def _play(rng: random.Random, pay: Pay, n_options: int, n_trials: int) -> tuple[Trial, ...]:
    values = [0.5 * (sum(pay.won) / len(pay.won))] * n_options
    scale = max(abs(x) for x in (*pay.won, *pay.lost))
    chances = [0.75] + [0.25 + 0.1 * (i % 2) for i in range(n_options - 1)]
    rng.shuffle(chances)
    trials = []
    for t in range(n_trials):
        if t == n_trials // 2:
            chances = chances[::-1]
        weights = [exp(2 * value / scale) for value in values]
        option = rng.choices(range(n_options), weights)[0]
        payoffs = tuple(rng.choice(pay.won if rng.random() < p else pay.lost) for p in chances)
        reward = payoffs[option]
        values[option] += 0.3 * (reward - values[option])
        order = list(range(n_options))
        rng.shuffle(order)
        seconds = round(0.3 + rng.random() * 1.2, 4)
        trials.append(Trial(option, reward, payoffs, tuple(chances), tuple(order), seconds))
    return tuple(trials)
