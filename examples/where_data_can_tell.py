"""Where 90 choices tell what somebody believed before, and where they cannot.

Agents of stochastic UCL play the paper's task (10 x 10 tiles, 90 choices, noise variance 10, length
scale 4, landscape A) with known decision noise nu, prior mean mu0 and prior variance sigma0^2. Each
is fitted; the table says how often there is an estimate, how often 95 % intervals hold the truth,
and how wide they are. Run it with `python examples/where_data_can_tell.py --agents 60`.
"""

import argparse
from itertools import product

import numpy as np

import penchant as pn

NAMES = ("decision_noise", "prior_mean", "prior_variance")
TRUTHS = list(product((2.0, 8.0), (30.0, 100.0), (1.0, 30.0, 1000.0)))


def row(truth: tuple[float, ...], n_agents: int, seed: int) -> str:
    """Simulate agents of one kind, fit them, and count."""
    model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    played = pn.simulate(
        pn.paper.landscape_a(),
        model,
        dict(zip(NAMES, truth, strict=True)),
        n_decisions=90,
        n_subjects=n_agents,
        rng=np.random.default_rng(seed),
    )
    people = [pn.Episode(e.chosen, e.rewards, subject=s) for s, e in enumerate(played)]
    found = pn.fit_each(people, model)
    converged = np.array([status == "converged" for status in found.status])
    separated = np.array([status == "separated" for status in found.status])
    profile, wald = (ends(found, kind) for kind in ("profile", "wald"))
    shares = f"{share(converged)} {share(separated)} {share(~converged & ~separated)}"
    covered = " ".join(share(inside(profile[:, j], truth[j])) for j in range(3))
    by_wald = " ".join(share(inside(wald[converged, j], truth[j])) for j in range(3))
    widths = " ".join(width(profile[:, j], truth[j]) for j in range(3))
    return f"{truth[0]:4g} {truth[1]:4g} {truth[2]:6g} |{shares} |{covered} |{by_wald} |{widths}"


def ends(found: pn.results.Estimates, kind: str) -> np.ndarray:
    """Ends of the intervals: (n_agents, n_parameters, 2)."""
    return np.array([[(p.low, p.high) for p in mine] for mine in found.parameters_at(0.95, kind)])


def inside(interval: np.ndarray, truth: float) -> np.ndarray:
    """Whether intervals hold the truth, of those that there are."""
    known = interval[~np.isnan(interval).any(axis=1)]
    return (known[:, 0] <= truth) & (truth <= known[:, 1])


def share(which: np.ndarray) -> str:
    """How many, in percent."""
    return f"{100 * which.mean():4.0f}" if len(which) else "   -"


def width(interval: np.ndarray, truth: float) -> str:
    """Median width of the intervals over the true value."""
    known = interval[~np.isnan(interval).any(axis=1)]
    return f"{np.median(known[:, 1] - known[:, 0]) / truth:6.2g}" if len(known) else "     -"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--agents", type=int, default=2, help="agents of each kind")
    n_agents = parser.parse_known_args()[0].agents
    print(f"{n_agents} agents of each kind; shares in percent")
    print("            true | converged,     |  profile       |  Wald, where   | width / truth")
    print("                 | separated,     |  intervals     |  converged     | of profile")
    print("  nu  mu0 sigma02| other          |  hold it       |  holds it      | intervals")
    for seed, truth in enumerate(TRUTHS if n_agents > 2 else TRUTHS[:3]):
        print(row(truth, n_agents, seed), flush=True)
