"""Whether the map in mind predicts real people: rounds left out, beside locality with a constant.

    PENCHANT_EVIDENCE=FOLDER python benchmarks/assist_people.py [--subjects 1-40] [--keep FILE]

The people and folds are those of `people.py`. Each model is stochastic UCL with all terms of
locality and the length scale estimated, under the same weak prior on all weights but the map's;
they differ in the map alone: none (a constant level), or 16 smooth functions, whose width is that
at which every play of the person is predicted best from the others.
"""

import argparse
import os
from collections import Counter
from pathlib import Path

import numpy as np
from kept import Kept
from people import GRID, Fold, at_the_best, folds

import penchant as pn

BASIS = pn.MapBasis.smooth(GRID, n=16)
MODELS = {
    "locality and a constant": (0, pn.MapPrior(others=1.0)),
    "locality and a map, width by prediction": (16, pn.MapPrior(sd="prediction", others=1.0)),
}
CONSTANT = next(iter(MODELS))


def loss(name: str, fold: Fold) -> float:
    """Negative log-likelihood of the round left out."""
    n, prior = MODELS[name]
    model = pn.UCL(
        locations=GRID,
        noise_variance=1.0,
        clock="events",  # a tile is shown before play
        locality=True,
        prior_map=BASIS.leading(n),
    )
    return at_the_best(pn.fit(fold.train, model, parameter_prior=prior), fold.test)


def run(kept: Kept, every: list[Fold]) -> None:
    """All losses that are not known yet."""
    for name in MODELS:
        for fold in every:
            of = f"P1/{name}/" + "-".join(map(str, fold.label))
            if of not in kept:
                kept.add(of, {"subject": fold.subject, "nll": loss(name, fold)})


def rows(kept: Kept) -> list[str]:
    """Total loss of each model, and by how much it is below that with a constant, by person."""
    losses = {name: kept.under(f"P1/{name}") for name in MODELS}
    counts = [Counter(line["subject"] for line in found) for found in losses.values()]
    people = sorted(s for s in counts[0] if all(count[s] == counts[0][s] for count in counts))
    by_person = {
        name: np.array([sum(x["nll"] for x in found if x["subject"] == s) for s in people])
        for name, found in losses.items()
    }
    said = [
        "| model | total loss | less than with a constant, by person | people better |",
        "|---|---|---|---|",
    ]
    base = by_person[CONSTANT]
    for name, own in by_person.items():
        less = base - own
        half = 1.96 * less.std(ddof=1) / np.sqrt(len(less))
        beside = "" if name == CONSTANT else f"{less.mean():+.2f} ± {half:.2f} nats"
        share = f" ({100 * less.sum() / base.sum():+.2f} %)" if beside else ""
        better = f"{int((less > 0).sum())} of {len(people)}" if beside else ""
        said.append(f"| {name} | {own.sum():,.1f} | {beside}{share} | {better} |")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", default="1-40")
    parser.add_argument("--keep", type=Path, default=Path("build/assist-people.jsonl"))
    asked = parser.parse_args()
    first, last = map(int, asked.subjects.split("-"))
    folder = Path(os.environ["PENCHANT_EVIDENCE"]) / "data" / "gridsearch2d"
    kept = Kept(asked.keep)
    run(kept, folds(folder, range(first, last + 1)))
    print("\n".join(rows(kept)))


if __name__ == "__main__":
    main()
