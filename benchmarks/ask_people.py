"""How fast adaptive questions find a discount rate, with simulated people: python ask_people.py.

Every person discounts hyperbolically: the logarithm of the rate is normal with sd 2, that of the
temperature with sd 0.8. Of 1,134 offers, one is made after the other: the most informative about
the rate, or any. Intervals are 95 %, by the bootstrap over people, and Wilson's for shares.
"""

import argparse

import numpy as np
from scipy import special, stats

import penchant as pn

WEEKS = [0.43, 0.714, 1, 2, 3, 4.3, 6.44, 8.6, 10.8, 12.9, 17.2, 21.5, 26, 52, 104, 156, 260, 520]
CHECKED = (5, 10, 20, 42)
PRECISE, LEVEL = 0.2, 0.90  # sd of the logarithm at which to stop; of the interval there


def offers():
    """An amount now, from 12.5 to 787.5, or 800 after a delay in weeks."""
    now, weeks = (a.ravel() for a in np.meshgrid(np.arange(12.5, 800.0, 12.5), WEEKS))
    return {
        "amount": np.column_stack([now, np.full(len(now), 800.0)]),
        "delay": np.column_stack([np.zeros(len(now)), weeks]),
    }


def chosen(offer, rate, temperature, rng):
    """What a simulated person takes."""
    value = offer["amount"] / (1.0 + rate * offer["delay"])
    return int(rng.random() < special.expit((value[1] - value[0]) / temperature))


def person(asker, rate, temperature, rng, adaptive):
    """Errors of the rate's logarithm after some answers; when it was enough, and if covered."""
    errors, stopped = {}, None
    n = len(asker.information())
    for t in range(1, max(CHECKED) + 1):
        offer = asker.next() if adaptive else pn.results.Offer(row(int(rng.integers(n))))
        asker.answer(offer, chosen(offer, rate, temperature, rng))
        if t in CHECKED:
            errors[t] = asker.posterior()["discount_rate"]["mean"] - np.log(rate)
        if adaptive and stopped is None and asker.enough(sd=PRECISE):
            known = asker.posterior(LEVEL)["discount_rate"]
            stopped = t, known["low"] <= rate <= known["high"]
    return errors, stopped


OFFERS = offers()


def row(number):
    """One of the offers."""
    return {name: values[number] for name, values in OFFERS.items()}


def rmse(errors, rng):
    """Root mean squared error with its interval."""
    squares = np.asarray(errors) ** 2
    drawn = squares[rng.integers(len(squares), size=(2000, len(squares)))].mean(axis=1)
    return np.sqrt([squares.mean(), *np.quantile(drawn, [0.025, 0.975])])


def main():
    """Simulate, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=30.0, help="in the median")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    prior = pn.NaturalPrior(
        discount_rate=stats.lognorm(2.5, scale=np.exp(-3.5)),
        temperature=stats.lognorm(1.0, scale=given.temperature),
    )
    rng = np.random.default_rng(given.seed)
    found = {"adaptive": [], "random": []}
    stops = []
    for _ in range(given.people):
        rate = np.exp(rng.normal(-3.5, 2.0))
        temperature = given.temperature * np.exp(rng.normal(0.0, 0.8))
        for rule, every in found.items():
            asker = pn.ask(pn.HyperbolicDiscounting(), OFFERS, about="discount_rate", prior=prior)
            errors, stopped = person(asker, rate, temperature, rng, rule == "adaptive")
            every.append(errors)
            stops += [stopped] if stopped else []
    print(f"{given.people} simulated people, temperature {given.temperature:g} in the median")
    print("RMSE of the logarithm of the rate, with its 95 % interval, after so many answers:")
    print("answers   " + "".join(f"{t:>24}" for t in CHECKED))
    for rule, every in found.items():
        cells = (rmse([errors[t] for errors in every], rng) for t in CHECKED)
        shown = "".join(f"{v:>10.3f} ({lo:.3f}, {hi:.3f})" for v, lo, hi in cells)
        print(f"{rule:<10}{shown}")
    adaptive = np.array([errors[10] for errors in found["adaptive"]])
    usual = np.array([errors[42] for errors in found["random"]])
    which = rng.integers(len(usual), size=(2000, len(usual)))
    drawn = np.sqrt((adaptive[which] ** 2).mean(axis=1) / (usual[which] ** 2).mean(axis=1))
    ratio = np.sqrt((adaptive**2).mean() / (usual**2).mean())
    low, high = np.quantile(drawn, [0.025, 0.975])
    print(f"10 adaptive over 42 random: RMSE ratio {ratio:.2f} ({low:.2f}, {high:.2f})")
    held = int(sum(inside for _, inside in stops))
    ends = stats.binomtest(held, len(stops)).proportion_ci(method="wilson")
    answers = np.median([t for t, _ in stops])
    print(
        f"Stopped at sd < {PRECISE}: {len(stops)} people, after {answers:g} answers in the median; "
        f"{LEVEL:.0%} intervals hold the truth in {held / len(stops):.3f} "
        f"({ends.low:.3f}, {ends.high:.3f})"
    )


if __name__ == "__main__":
    main()
