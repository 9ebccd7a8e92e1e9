"""The command `fit` for choices among options with attributes, in one file or many."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from penchant.argument_checks import check_level, check_threads
from penchant.choices import Choices
from penchant.cli.choice_input import complete_long_roles, load_choices, long_table_arguments
from penchant.cli.option_wording import word_as_options
from penchant.cli.options import Agent, Data, EstimationOptions, FitOutputOptions, History, Terms
from penchant.cli.result_output import (
    VALID_STATUSES,
    Result,
    fit_result,
    fits_result,
    reserve_outputs,
    write_and_print,
)
from penchant.cli.terminal import check_seed, refuse, say
from penchant.errors import DataError
from penchant.files.folder import DESCRIPTION
from penchant.models.priors import PopulationPrior
from penchant.scale.chunked_scan import Scan, scan
from penchant.scale.data_files import stored_files
from penchant.softmax.constraints import Constraints
from penchant.softmax.fit import fit_choices
from penchant.softmax.fit_chunked import fit_chunks
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.prior import GaussianPrior, ScaledPrior

_BOUND_PATTERN = re.compile(r"(.+?)\s*(<=|>=)\s*(\S+)")


def fit_options(estimation: EstimationOptions) -> dict[str, Any]:
    """Arguments of `fit` that do not depend on the data."""
    if estimation.max_steps < 1:
        raise DataError(
            "--max-steps", "must be at least 1", got=estimation.max_steps, fix="Leave it out."
        )
    check_threads(estimation.threads)
    return {
        "method": estimation.method,
        "parameter_prior": parse_prior(estimation.prior),
        "covariance": estimation.covariance,
        "max_steps": estimation.max_steps,
        "threads": estimation.threads,
    }


def parse_prior(words: str) -> Any:
    """Parse a prior: none, weak, weak:C, normal:MEAN,SD, or the file of a population's prior."""
    if words.lower().endswith(".json"):
        try:
            return PopulationPrior.read(words)
        except DataError as error:
            if error.argument == "path":
                error.argument = "--prior"
            raise
    kind, _, numbers = words.partition(":")
    if words == "none":
        return None
    try:
        if kind == "weak":
            return ScaledPrior(float(numbers) if ":" in words else 1.0)
        if kind == "normal":
            mean, sd = map(float, numbers.split(","))
            if sd > 0:
                return GaussianPrior(mean, sd**2)
    except DataError:
        raise
    except ValueError:
        pass
    raise DataError(
        "--prior",
        (
            "must be none, weak, weak:C, normal:MEAN,SD with an SD above 0, or a .json file of "
            "penchant population --save-prior"
        ),
        got=repr(words),
        fix="Try --prior weak.",
    )


def parse_constraints(bounds: Sequence[str], names: Sequence[str]) -> Constraints | None:
    """Parse bounds on single weights, such as price<=0."""
    return reduce(and_, (_parse_constraint(bound, names) for bound in bounds)) if bounds else None


def check_bounds(bounds: Sequence[str]) -> None:
    """Refuse bounds that cannot be parsed, before the data are read."""
    for bound in bounds:
        _parse_bound(bound)


def _parse_constraint(bound: str, names: Sequence[str]) -> Constraints:
    name, symbol, value = _parse_bound(bound)
    return Constraints.on_single_parameters(names, {name: value}, 1.0 if symbol == ">=" else -1.0)


class _Bound(NamedTuple):
    """A bound on a weight: its name, <= or >=, and the value."""

    name: str
    symbol: str
    value: float


def _parse_bound(bound: str) -> _Bound:
    match = _BOUND_PATTERN.fullmatch(bound.strip())
    try:
        if match is not None:
            return _Bound(match[1], match[2], float(match[3]))
    except ValueError:
        pass
    raise DataError(
        "--constraint",
        "must be NAME<=NUMBER or NAME>=NUMBER",
        got=repr(bound),
        fix="Put it in quotes: --constraint 'price<=0'.",
    )


COLUMNAR_SUFFIXES = (".parquet", ".arrow", ".feather")


def is_scanned(file: str, *, play: bool) -> bool:
    """Whether files are scanned in chunks; of task data only columnar files are."""
    if not names_several_files(file):
        return False
    if not play or "://" in file or os.path.isdir(file):
        return True
    return any(name.endswith(COLUMNAR_SUFFIXES) for name in glob.iglob(file, recursive=True))


def names_several_files(file: str | None) -> bool:
    """Whether this is a pattern, an address or a folder of columnar files, rather than one file.

    A folder that describes itself (Psych-DS), or one of text files only, is read as a whole.
    """
    if file is None or os.path.isfile(file):
        return False
    if os.path.isdir(file):
        described = os.path.exists(os.path.join(file, DESCRIPTION))
        return not described and any(
            name.endswith(COLUMNAR_SUFFIXES) for _, _, names in os.walk(file) for name in names
        )
    return "://" in file or glob.has_magic(file)


NOT_OF_CHOICE_SCANS = {"example", "wide", "options", "missing", "delimiter", "decimal", "encoding"}
NOT_OF_CHOICE_SCANS |= {"where", "attributes", "opt_out", "reference", "units"}


def load_scan(file: str, data: Data, terms: Terms) -> Scan:
    """Scan the files, all with the same columns."""
    refuse(data, "with several files", names=NOT_OF_CHOICE_SCANS)
    refuse(terms, "with several files")
    files = stored_files(file)
    roles = complete_long_roles(list(files[0].schema().names), data, terms)
    found: Scan = scan(file, **long_table_arguments(roles))
    say(repr(found))
    return found


def run_fit(
    file: str | None,
    data: Data,
    terms: Terms,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> int:
    """Run `fit` for choices with explanatory variables; return the exit code."""
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")

    def result() -> Result:
        return _choices_result(file, data, terms, estimation, output_options)

    return show_fit(result, file, output_options)


def show_fit(
    result_of: Callable[[], Result], file: str | None, output_options: FitOutputOptions
) -> int:
    """Compute a fit with its output file reserved, write and print it; return the exit code."""
    check_level(output_options.level)
    if output_options.intervals == "calibrated":
        check_seed(output_options.seed, " with --intervals calibrated")
    else:
        refuse(output_options, "without --intervals calibrated", names={"seed"})
    with reserve_outputs(output_options, read=file):
        result = result_of()
        _say_doubts(result, output_options)
        write_and_print(result, output_options)
    return exit_code(result.statuses, output_options.strict)


def _choices_result(
    file: str | None,
    data: Data,
    terms: Terms,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
) -> Result:
    """Fit the weights of explanatory variables, for all choices or for each subject."""
    options = fit_options(estimation)
    check_bounds(estimation.constraint)
    if file is not None and names_several_files(file):
        refuse(estimation, "with several files", names={"method", "constraint"})
        found = load_scan(file, data, terms)
        scanned = found.with_engine(None, options.pop("threads"))
        return fit_result(fit_chunks(scanned, **options), output_options)
    choices = load_choices(file, data, terms)
    say_notes(choices)
    options["constraints"] = parse_constraints(estimation.constraint, choices.names)
    if choices.subject is None or estimation.covariance == "clustered":
        return fit_result(fit_choices(choices, **options), output_options)
    return fits_result(fit_each_choices(choices, **options), output_options)


def exit_code(statuses: tuple[str, ...], strict: bool = False) -> int:
    """Exit code 0 where there is a valid estimate (with `strict`: all have converged), else 1."""
    if strict:
        return 0 if set(statuses) == {"converged"} else 1
    return 0 if set(statuses) & set(VALID_STATUSES) else 1


def say_notes(choices: Choices) -> None:
    """Print the size of the data and the notes on them to stderr."""
    say(repr(choices))
    for note in choices.notes:
        say(f"Note: {word_as_options(note)}")


def _say_doubts(result: Result, output_options: FitOutputOptions) -> None:
    """Print to stderr the doubts about a result that JSON has in a field of its own."""
    if output_options.json:
        for doubt in result.doubts:
            say(doubt)
