"""The command `reproduce`: run the paper's experiments, and print their verdicts."""

from __future__ import annotations

import shlex
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path

from penchant.cli.options import Experiments
from penchant.cli.terminal import say
from penchant.files.atomic_files import check_new_folder, lock_file
from penchant.files.output import json_text
from penchant_paper.published import Claim
from penchant_paper.report import (
    MET,
    reproduction_document,
    verdict_counts,
    write_reproduction,
)
from penchant_paper.reproduction import (
    EXPERIMENTS,
    Reproduction,
    Run,
    chosen_experiments,
    reproduce,
)
from penchant_paper.statements import Conclusion

CLAIM_WIDTH = 88


def run_reproduce(experiments: Experiments, output: Path | None, json: bool) -> int:
    """Run `reproduce`: the paper's experiments, their files and verdicts; return the exit code."""
    run = Run(experiments.seed, experiments.replicates, experiments.quick, experiments.threads)
    names = chosen_experiments(experiments.only)
    with ExitStack() as kept:
        if output is not None:
            kept.enter_context(lock_file(check_new_folder(output)))
        clock = _ProgressReport(len(names))
        found = reproduce(names, run=run, begin=clock.begin)
        clock.end()
        for result in found.results:
            if isinstance(result, Conclusion):
                say(f"Processor time of one update: {result.times.summary}.")
        if output is not None:
            folder = write_reproduction(found, output, command=_command_line(names, run, output))
            say(f"Written: {folder}. Open {folder / 'index.html'} in a browser.")
    if json:
        print(json_text(reproduction_document(found)), end="")
    else:
        print(verdict_text(found))
    return 0


class _ProgressReport:
    """Prints which experiment runs, and how long it took."""

    def __init__(self, total: int) -> None:
        self.total, self.count = total, 0
        self.name, self.begun, self.first = "", 0.0, time.perf_counter()

    def begin(self, name: str) -> None:
        self._say_duration()
        self.count += 1
        self.name, self.begun = name, time.perf_counter()
        say(f"[{self.count}/{self.total}] {name} ...")

    def end(self) -> None:
        self._say_duration()
        say(f"All done in {time.perf_counter() - self.first:.0f} s.")

    def _say_duration(self) -> None:
        if self.name:
            say(f"      {self.name}: {time.perf_counter() - self.begun:.1f} s")


def verdict_text(found: Reproduction) -> str:
    """List the claims of each experiment with their verdicts and reasons."""
    lines = []
    for result in found.results:
        lines += [result.title, "=" * len(result.title)]
        for claim in result.claims:
            errata = f" [errata {', '.join(map(str, claim.errata))}]" if claim.errata else ""
            lines += textwrap.wrap(
                f"{claim.verdict.upper()}: {claim.statement} ({claim.where}){errata}", CLAIM_WIDTH
            )
            lines += textwrap.wrap(
                claim.why, CLAIM_WIDTH, initial_indent="    ", subsequent_indent="    "
            )
            for line in _failed_conditions(claim):
                lines += textwrap.wrap(
                    line, CLAIM_WIDTH, initial_indent="    - ", subsequent_indent="      "
                )
        lines.append("")
    few = " A quick run has few replicates: a full one decides." if found.run.quick else ""
    lines.append(f"Claims: {verdict_counts(found)}.{few}")
    if any(claim.measured for _, claim in found.claims):
        lines.append(
            "±: Monte Carlo standard error; three of them must agree before a condition is met or "
            "not."
        )
    return "\n".join(lines)


def _failed_conditions(claim: Claim) -> list[str]:
    """Measured numbers by which a claim does not hold, in words."""
    return [
        f"{name}: {measured}, asked {measured.range_text}: {MET[measured.met]}"
        for name, measured in claim.measured.items()
        if measured.met is not True
    ]


def _command_line(names: tuple[str, ...], run: Run, output: Path) -> str:
    words = ["penchant", "reproduce", "--seed", str(run.seed)]
    if names != tuple(EXPERIMENTS):
        words += [word for name in names for word in ("--only", name)]
    if run.n_replicates is not None:
        words += ["--replicates", str(run.n_replicates)]
    if run.quick:
        words.append("--quick")
    return shlex.join([*words, "--output", str(output)])
