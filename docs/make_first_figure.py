"""Draw the figure on the first page: python docs/make_first_figure.py [FILE.svg].

Left, the price weights of the 20 people of the data set `menu`, with profile intervals: where
choices are so consistent that no finite weight is most likely, the interval has one end only. Right,
learning rates of 60 simulated players, and what the choices of each tell of them.
"""

import sys
from pathlib import Path

import numpy as np

import penchant as pn

HERE = Path(__file__).parent / "figures" / "first.svg"


def price_weights(axes):
    people = pn.Choices.from_frame(
        pn.datasets.load("menu"),
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "quality"],
        subject="subject",
    )
    estimates = list(pn.fit_each(people))
    weights, ends = [], []
    for estimate in estimates:
        known = estimate.status in ("converged", "weakly identified")
        separated = estimate.status == "separated"
        weights.append(estimate.theta[0] if known else -np.inf if separated else np.nan)
        ends.append(estimate.interval(kind="profile")[0] if known or separated else [np.nan] * 2)
    pn.figures.forest(
        axes,
        weights,
        ends,
        labels=[estimate.subject for estimate in estimates],
        name="what 20 people want: weight of price",
        limits=(-9.0, 1.0),  # in sight of where the one-sided intervals end
    )


def learning_rates(axes):
    rng = np.random.default_rng(4)
    model = pn.QLearning(n_options=2, initial_value=0.5)
    rates = np.linspace(0.08, 0.9, 60)
    episodes = []
    for who, true in enumerate(rates):
        task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=60, n_blocks=3)
        truth = {"temperature": 0.15, "learning_rate": true}
        for episode in pn.simulate(task, model, truth, rng=rng):
            episodes.append(
                pn.Episode(episode.chosen, episode.rewards, subject=who, block=episode.block)
            )
    estimates = pn.fit_each(episodes, model)
    found = estimates.to_frame(backend="pyarrow", kind="profile")
    rate, low, high = (
        np.array(found[f"learning_rate{end}"].to_pylist(), dtype=float)
        for end in ("", "_low", "_high")
    )
    pn.figures.recovery(
        axes,
        rates,
        rate,
        np.column_stack([low, high]),
        name="learning rate",
    )
    # above the panel: within it, it would stand on the slowest learners
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=6)


def main(file):
    canvas = pn.figures.figure(columns=2, height=3.2)
    left, right = canvas.subplots(1, 2)
    price_weights(left)
    learning_rates(right)
    title = "What 20 people want, and how 60 players learn, with intervals"
    pn.figures.save(canvas, file, title=title, overwrite=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
