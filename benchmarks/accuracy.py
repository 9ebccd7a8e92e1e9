"""How many digits are right: estimates against certified ones, as a table for the docs.

PENCHANT_EVIDENCE=FOLDER python benchmarks/accuracy.py > docs/accuracy.md
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

import penchant as pn
from penchant.files.table import read_table

MOST_DIGITS = 15.0


def correct_digits(found, certified) -> float:
    """Log relative error of the worst entry: the number of correct significant digits."""
    found, certified = np.atleast_1d(found), np.array(np.atleast_1d(certified), dtype=float)
    error = np.max(np.abs(found - certified) / np.abs(certified))
    return MOST_DIGITS if error == 0 else min(MOST_DIGITS, float(-np.log10(error)))


def choices_of(folder: Path, name: str, about: dict) -> pn.Choices:
    """The choices of one certified set."""
    table = read_table(folder / f"{name}.csv")
    weight = "weight" if "weight" in table.column_names else None
    return pn.Choices.from_frame(
        table,
        decision="obs",
        option="alt",
        chosen="chosen",
        explanatory=about["covariates"],
        weight=weight,
    )


def row(folder: Path, name: str) -> str:
    """One line of the table."""
    about = json.loads((folder / f"{name}.json").read_text())
    estimate = pn.fit(choices_of(folder, name, about))
    size = f"{estimate.n_decisions} x {estimate.n_parameters}"
    if "certified" not in about:
        supremum = float(about["expected"]["sup_loglik"].split()[0])
        digits = correct_digits(estimate.log_likelihood, supremum)
        return f"| {name} | {size} | {estimate.status} | - | - | - | {digits:.1f} (supremum) |"
    certified = about["certified"]
    digits = [
        correct_digits(estimate.theta, certified["coef"]),
        correct_digits(estimate.standard_errors, certified["se"]),
        correct_digits(estimate.robust().standard_errors, certified["se_robust_hc0"]),
        correct_digits(estimate.log_likelihood, certified["loglik"]),
    ]
    cells = " | ".join(f"{d:.1f}" for d in digits)
    return f"| {name} | {size} | {estimate.status} | {cells} |"


def main() -> None:
    if "PENCHANT_EVIDENCE" not in os.environ:
        sys.exit("accuracy: PENCHANT_EVIDENCE must name the folder of certified results.")
    folder = Path(os.environ["PENCHANT_EVIDENCE"]) / "golden"
    names = sorted(path.stem for path in folder.glob("*.csv"))
    print("# How many digits are right\n")
    print(
        "Correct significant digits (log relative error of the worst entry, at most 15) of\n"
        "`penchant.fit` against results certified by Newton's method in 256-bit arithmetic. Made\n"
        "by "
        "`PENCHANT_EVIDENCE=FOLDER python benchmarks/accuracy.py > docs/accuracy.md`.\n"
    )
    print("| set | decisions x weights | status | theta | std. errors | HC0 | log-likelihood |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        print(row(folder, name))


if __name__ == "__main__":
    main()
