"""The machine that helps, measured: every bar with simulated operators, and intervals.

    python benchmarks/assist.py [--only maps,team,apprentice,warning,seconds] [--operators 200]
        [--keep build/assist.jsonl] [--people build/assist-people.jsonl] [--markdown FILE]

Results are kept line by line in --keep: an interrupted run goes on where it was. All operators are
simulated, with the landscapes' covariance known to the machine: favourable. `assist_people.py` has
the part on real people.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import assist_people
import numpy as np
from assisted_operators import (
    KINDS,
    TeamEnvironment,
    apprentice_gains,
    team_gains,
    warning_scores,
)
from kept import Kept
from machine import about, load

import penchant as pn
from penchant.bandit.beliefs import GAUSSIAN
from penchant.bandit.landscape import distances

SEED = 20271
PLAYED = ("human", "machine", "suggest", "sensor, trust")
TOGETHER = 10  # operators of one line that is kept
GRID = pn.grid(10, 10)
ROOT = np.linalg.cholesky(GAUSSIAN(distances(GRID), 2.5) + 1e-9 * np.eye(100))
MAPS = [(12.0, 1), (12.0, 2), (12.0, 4), (12.0, 8), (4.0, 1), (4.0, 4), (4.0, 8), (25.0, 1)]
MAPS += [(25.0, 4), (25.0, 8)]


# -- what is computed ------------------------------------------------------------------------------


def chunks(n: int) -> range:
    return range(-(-n // TOGETHER))


def team(kept: Kept, n: int) -> None:
    for chunk in chunks(n):
        for k, kind in enumerate(KINDS):
            if (of := f"team/{kind}/{chunk}") not in kept:
                rng = np.random.default_rng([SEED, 1, k, chunk])
                found = team_gains(kind, n_operators=TOGETHER, rng=rng, conditions=PLAYED)
                regret = {name: each.tolist() for name, each in found.regret.items()}
                kept.add(of, {"regret": regret, "trust": found.trust.tolist()})


def apprentice(kept: Kept, n: int) -> None:
    for chunk in chunks(n):
        for watched in (1, 4):
            if (of := f"apprentice/{watched}/{chunk}") not in kept:
                rng = np.random.default_rng([SEED, 2, watched, chunk])
                found = apprentice_gains(watched, n_experts=TOGETHER, rng=rng)
                regret = {name: each.tolist() for name, each in found.regret.items()}
                kept.add(of, {"regret": regret, "similarity": found.similarity.tolist()})


def warning(kept: Kept, n: int) -> None:
    del n  # as many players as the brief has
    if "warning/500" in kept:
        return
    rng = np.random.default_rng([SEED, 3])
    rows = []
    for scores in warning_scores(500, rng=rng):
        more = scores.more("both", "rewards", rng)
        rows += [
            {
                "at": scores.at,
                "by": by,
                "auc": told.auc,
                "brier": told.brier,
                "base": told.base_brier,
                "slope": told.slope,
                "more": more,
                "poor": float(scores.poor.mean()),
            }
            for by, told in scores.by.items()
        ]
    kept.add("warning/500", {"rows": rows})


def drawn(sd: float, rng: np.random.Generator) -> np.ndarray:
    return sd * ROOT @ rng.standard_normal(100)


def known_operator(noise: float, n_plays: int, rng: np.random.Generator):
    """Plays of 60 choices of somebody with a map, on landscapes that deviate from it."""
    truth = 30.0 + drawn(12.0, rng)
    model = pn.UCL(
        locations=GRID, noise_variance=10.0, length_scale=4.0, prior_map=pn.MapBasis.of([truth])
    )
    shape = truth - truth.mean()
    natural = {"decision_noise": noise, "prior_mean": float(truth.mean())}
    natural |= {"prior_variance": 150.0, "map_1": float(shape.std())}
    plays = []
    for _ in range(n_plays):
        place = pn.Landscape(truth + drawn(8.0, rng), pn.GaussianNoise(10.0))
        plays.append(pn.simulate(place, model, natural, n_decisions=60, rng=rng))
    return plays, shape, float(truth.mean())


def map_model(n: int = 16) -> pn.UCL:
    basis = pn.MapBasis.smooth(GRID, n=n)
    return pn.UCL(locations=GRID, noise_variance=10.0, length_scale=4.0, prior_map=basis)


def maps(kept: Kept, n: int) -> None:
    model = map_model()
    for chunk in chunks(n):
        for noise, n_plays in MAPS:
            if (of := f"maps/{noise:g}-{n_plays}/{chunk}") in kept:
                continue
            rng = np.random.default_rng([SEED, 6, int(noise), n_plays, chunk])
            lines = []
            for _ in range(TOGETHER):
                plays, truth, level = known_operator(noise, n_plays, rng)
                found = pn.fit(plays, model, parameter_prior=pn.MapPrior()).belief_map()
                low, high = found.interval(0.9).T
                lines.append(
                    {
                        "r": float(np.corrcoef(found.mean, truth)[0, 1]),
                        "covered": float(((low < truth) & (truth < high)).mean()),
                        "level": bool(abs(found.level - level) < 1.645 * found.level_sd),
                    }
                )
            kept.add(of, {"operators": lines})


def seconds(kept: Kept, n: int) -> None:
    """Processor time of a fit with a map beside one without, and of a decision as JSON."""
    del n
    if "seconds/fit" not in kept:
        ratios = []
        flat = pn.UCL(locations=GRID, noise_variance=10.0, length_scale=4.0)
        for seed in range(6):
            plays, _, _ = known_operator(12.0, 4, np.random.default_rng([SEED, 5, seed]))
            pn.fit(plays, map_model(), parameter_prior=pn.MapPrior())
            took = []
            for _ in range(5):  # one after the other: others may be at work on the machine
                for model, prior in ((flat, pn.ScaledPrior(0.01)), (map_model(), pn.MapPrior())):
                    begin = time.process_time()
                    pn.fit(plays, model, parameter_prior=prior)
                    took.append(time.process_time() - begin)
            without, with_map = np.median(np.reshape(took, (5, 2)), axis=0)
            ratios.append(float(with_map / without))
        kept.add("seconds/fit", {"ratios": ratios})
    if "seconds/decision" not in kept:
        kept.add("seconds/decision", {"ms": decision_ms(), "load": load()})


def decision_ms() -> list[float]:
    """Processor time from a proposal to its advice as JSON, and of what was done, in play."""
    field = TeamEnvironment.hard().field
    basis = pn.MapBasis.smooth(GRID, n=25, length_scale=field.length_scale, kernel=field.kernel)
    model = pn.UCL(locations=GRID, noise_variance=10.0, length_scale=4.0, prior_map=basis)
    helper = pn.assist(model, field, unassisted=None)
    rng, found = np.random.default_rng(SEED), []
    for episode in range(12):
        truth = TeamEnvironment.hard().landscape(TeamEnvironment.hard().root, rng)
        for _ in range(30):
            option = int(rng.choice(np.argsort(-truth)[:25]))
            begin = time.process_time()
            sent = json.dumps(asdict(helper.proposed(option)))
            helper.executed(option, float(truth[option] + rng.normal(0, 3)))
            if episode > 1 and sent:
                found.append(1000 * (time.process_time() - begin))
        helper.end_episode()
    return found


# -- what is said ----------------------------------------------------------------------------------


def half(values: np.ndarray) -> float:
    return float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


def with_half(values: np.ndarray, sign: str = "") -> str:
    return f"{values.mean():{sign}.2f} ± {half(values):.2f}"


def regrets(lines: list[dict]) -> dict[str, np.ndarray]:
    names = lines[0]["regret"]
    return {name: np.concatenate([line["regret"][name] for line in lines]) for name in names}


def team_rows(kept: Kept) -> list[str]:
    said = [
        "| operator (n) | human | machine | suggest | over the human | worse by 1 | "
        "in charge, trust learnt | over the human | over the machine | trust |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        lines = kept.under(f"team/{kind}")
        if not lines:
            continue
        of = regrets(lines)
        trust = np.concatenate([line["trust"] for line in lines])
        human, machine, suggest, learnt = (of[name] for name in PLAYED)
        cells = [
            f"{kind} ({len(human)})",
            f"{human.mean():.2f}",
            f"{machine.mean():.2f}",
            f"{suggest.mean():.2f}",
            with_half(human - suggest, "+"),
            f"{(suggest - human > 1).mean():.3f}",
            f"{learnt.mean():.2f}",
            with_half(human - learnt, "+"),
            with_half(machine - learnt, "+"),
            f"{trust.mean():.2f}",
        ]
        said.append(f"| {' | '.join(cells)} |")
    return said


def apprentice_rows(kept: Kept) -> list[str]:
    said = [
        "| plays watched (experts) | expert | own map | no prior | map | rewards "
        "| rewards and map | rewards and counts | map less no prior | rewards and map less rewards "
        "| r of the map |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for watched in (1, 4):
        lines = kept.under(f"apprentice/{watched}")
        if not lines:
            continue
        of = regrets(lines)
        r = np.concatenate([line["similarity"] for line in lines])
        cells = [f"{watched} ({len(r)})", *(f"{each.mean():.2f}" for each in of.values())]
        cells.append(with_half(of["map"] - of["no prior"], "+"))
        cells.append(with_half(of["rewards and map"] - of["rewards"], "+"))
        said.append(f"| {' | '.join([*cells, f'{r.mean():.2f}'])} |")
    return said


def warning_rows(kept: Kept) -> list[str]:
    said = [
        "| after | by | AUC | Brier (base rate) | slope | both over rewards |",
        "|---|---|---|---|---|---|",
    ]
    for line in kept.under("warning"):
        for row in line["rows"]:
            more, low, high = row["more"]
            added = f"{more:+.3f} ({low:+.3f} to {high:+.3f})" if row["by"] == "both" else ""
            said.append(
                f"| {row['at']} | {row['by']} | {row['auc']:.3f} | {row['brier']:.3f} "
                f"({row['base']:.3f}) | {row['slope']:.2f} | {added} |"
            )
    return said


def map_rows(kept: Kept) -> list[str]:
    said = [
        "| decision noise | plays of 60 (operators) | r with the true map "
        "| 90 % pointwise coverage | coverage of the level |",
        "|---|---|---|---|---|",
    ]
    for noise, n_plays in MAPS:
        lines = [
            one for line in kept.under(f"maps/{noise:g}-{n_plays}") for one in line["operators"]
        ]
        if lines:
            r, covered, level = (
                np.array([one[name] for one in lines], dtype=float)
                for name in ("r", "covered", "level")
            )
            said.append(
                f"| {noise:g} | {n_plays} ({len(lines)}) | {with_half(r)} | {with_half(covered)} | "
                f"{level.mean():.2f} |"
            )
    return said


def without_empty(parts: list[str]) -> list[str]:
    """The parts without those of a table that nothing was computed for yet."""
    empty = {k for k, part in enumerate(parts) if part.startswith("| ") and part.count("\n") < 2}
    return [part for k, part in enumerate(parts) if not {k, k + 1, k + 2} & empty]


def page(kept: Kept, people: Kept, arguments: str) -> str:
    told = about(arguments)
    told["command"] = f"python benchmarks/assist.py {arguments}".strip()
    world = TeamEnvironment.hard().field
    fit = [line["ratios"] for line in kept.under("seconds") if "ratios" in line]
    asked = [line for line in kept.under("seconds") if "ms" in line]
    parts = [
        "# A machine that learns from its operator, and helps",
        "Made by `python benchmarks/assist.py --markdown benchmarks/ASSIST.md`; real people by "
        "`python benchmarks/assist_people.py` before it. Everybody else is simulated, and the "
        "machine knows the covariance that made the landscapes: nothing follows for people. ± is "
        "half of a 95 % interval over operators.",
        "## Who gains by which help",
        f"Regret per choice; 30 choices on 10 x 10 tiles; landscapes with mean {world.mean:g}, sd "
        f"{world.sd:g} and a squared-exponential length scale of {world.length_scale:g} tiles; "
        "one episode without assistance first. Operators: decision noise 4 to 25, prior variance "
        "150; experts' maps have a correlation of 0.9 with the landscape.",
        "\n".join(team_rows(kept)),
        "## An apprentice",
        "Regret per choice of 60 on a new landscape after watching plays of 15 choices. What stays "
        "from play to play has an sd of 12, what is new one of 8, both with a length scale of 2; "
        "the expert's map has a correlation of 0.8 with what stays.",
        "\n".join(apprentice_rows(kept)),
        "## An early warning",
        "500 players of mixed noise (2 to 30), level (0 to 100), prior variance (10 to 2000) and "
        "length scale (1 to 8) on landscape A; low performers by how their regret grows over 90 "
        "choices; ten-fold.",
        "\n".join(warning_rows(kept)),
        "## Maps read from choices",
        "Squared-exponential maps with sd 12, which the basis of 16 functions is not made for.",
        "\n".join(map_rows(kept)),
    ]
    parts = without_empty(parts)
    if fit:
        parts.append(
            f"A fit of four plays takes {np.median(fit[0]):.1f} times the processor time of one "
            f"without a map ({min(fit[0]):.1f} to {max(fit[0]):.1f} over 6 operators)."
        )
    if asked:
        ms = np.array(asked[0]["ms"])
        parts.append(
            f"A decision of 100 options and 25 functions, proposed, advised as JSON and executed, "
            f"takes {np.median(ms):.1f} ms of processor time in the median, and "
            f"{np.quantile(ms, 0.99):.1f} ms in the 99th percentile of {len(ms)} (load "
            f"{asked[0]['load']})."
        )
    if people.under("P1"):
        parts += [
            "## Real people",
            "Rounds left out of 40 people of Wu et al. (2018), each predicted from the person's "
            "other rounds of its horizon; negative log-likelihood in nats. All models have the "
            "terms of locality, and differ in the map alone.",
            "\n".join(assist_people.rows(people)),
        ]
    parts += ["## Where", "\n".join(f"- {name}: {value}" for name, value in told.items())]
    return "\n\n".join(parts) + "\n"


PARTS = {
    "team": team,
    "apprentice": apprentice,
    "warning": warning,
    "maps": maps,
    "seconds": seconds,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--operators", type=int, default=200)
    parser.add_argument("--keep", type=Path, default=Path("build/assist.jsonl"))
    parser.add_argument("--people", type=Path, default=Path("build/assist-people.jsonl"))
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    kept = Kept(asked.keep)
    for name in asked.only.split(","):
        if name:
            PARTS[name](kept, asked.operators)
    text = page(kept, Kept(asked.people), f"--operators {asked.operators}")
    if asked.markdown is None:
        print(text)
    else:
        asked.markdown.write_text(text)


if __name__ == "__main__":
    main()
