"""What `fit` does with choices, in one file or many: prior and bounds as typed, load, fit, show."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from penchant.argument_checks import check_level, check_threads
from penchant.choices import Choices
from penchant.cli.choice_input import load_choices, long_arguments, long_roles
from penchant.cli.option_wording import in_options
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.result_output import VALID, Result, keep_and_print, kept, many, one
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

_BOUND = re.compile(r"(.+?)\s*(<=|>=)\s*(\S+)")


def fit_options(model: Model) -> dict[str, Any]:
    """Arguments of `fit` that do not depend on the data."""
    if model.max_steps < 1:
        raise DataError(
            "--max-steps", "must be at least 1", got=model.max_steps, fix="Leave it out."
        )
    check_threads(model.threads)
    return {
        "method": model.method,
        "parameter_prior": prior(model.prior),
        "covariance": model.covariance,
        "max_steps": model.max_steps,
        "threads": model.threads,
    }


def prior(words: str) -> Any:
    """none, weak, weak:C or normal:MEAN,SD; or the file of a population's prior."""
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


def constraints(bounds: Sequence[str], names: Sequence[str]) -> Constraints | None:
    """Bounds on single weights, such as price<=0."""
    return reduce(and_, (_constraint(bound, names) for bound in bounds)) if bounds else None


def check_bounds(bounds: Sequence[str]) -> None:
    """Refuse what is no bound before the data are read."""
    for bound in bounds:
        _parts(bound)


def _constraint(bound: str, names: Sequence[str]) -> Constraints:
    name, symbol, value = _parts(bound)
    return Constraints.on_single_parameters(names, {name: value}, 1.0 if symbol == ">=" else -1.0)


def _parts(bound: str) -> tuple[str, str, float]:
    match = _BOUND.fullmatch(bound.strip())
    try:
        if match is not None:
            return match[1], match[2], float(match[3])
    except ValueError:
        pass
    raise DataError(
        "--constraint",
        "must be NAME<=NUMBER or NAME>=NUMBER",
        got=repr(bound),
        fix="Put it in quotes: --constraint 'price<=0'.",
    )


COLUMNAR = (".parquet", ".arrow", ".feather")


def is_scanned(file: str, *, play: bool) -> bool:
    """Whether to scan: play only where files are columnar, as text files are made plain whole."""
    if not names_files(file):
        return False
    if not play or "://" in file or os.path.isdir(file):
        return True
    return any(name.endswith(COLUMNAR) for name in glob.iglob(file, recursive=True))


def names_files(file: str | None) -> bool:
    """Whether this is a pattern, an address or a folder of columnar files, rather than one file.

    A folder that describes itself (Psych-DS), or one of text files only, is read as a whole.
    """
    if file is None or os.path.isfile(file):
        return False
    if os.path.isdir(file):
        described = os.path.exists(os.path.join(file, DESCRIPTION))
        return not described and any(
            name.endswith(COLUMNAR) for _, _, names in os.walk(file) for name in names
        )
    return "://" in file or glob.has_magic(file)


NOT_SCANNED = {"example", "wide", "options", "missing", "delimiter", "decimal", "encoding"}
NOT_SCANNED |= {"where", "attributes", "opt_out", "reference", "units"}


def load_scan(file: str, data: Data, terms: Terms) -> Scan:
    """Scan the files, all with the same columns."""
    refuse(data, "with several files", names=NOT_SCANNED)
    refuse(terms, "with several files")
    files = stored_files(file)
    roles = long_roles(list(files[0].schema().names), data, terms)
    found: Scan = scan(file, **long_arguments(roles))
    say(repr(found))
    return found


def run_fit(
    file: str | None,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit choices given as explanatory variables, write, print; the exit code."""
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")

    def result() -> Result:
        return _choices_result(file, data, terms, model, show)

    return show_fit(result, file, show)


def show_fit(result_of: Callable[[], Result], file: str | None, show: Show) -> int:
    """Make a result, keep it, print it; the exit code."""
    check_level(show.level)
    if show.intervals == "calibrated":
        check_seed(show.seed, " with --intervals calibrated")
    else:
        refuse(show, "without --intervals calibrated", names={"seed"})
    with kept(show, read=file):
        result = result_of()
        _say_doubts(result, show)
        keep_and_print(result, show)
    return exit_code(result.statuses, show.strict)


def _choices_result(file: str | None, data: Data, terms: Terms, model: Model, show: Show) -> Result:
    """What choices given as explanatory variables tell."""
    options = fit_options(model)
    check_bounds(model.constraint)
    if file is not None and names_files(file):
        refuse(model, "with several files", names={"method", "constraint"})
        found = load_scan(file, data, terms)
        scanned = found.with_engine(None, options.pop("threads"))
        return one(fit_chunks(scanned, **options), show)
    choices = load_choices(file, data, terms)
    say_notes(choices)
    options["constraints"] = constraints(model.constraint, choices.names)
    if choices.subject is None or model.covariance == "clustered":
        return one(fit_choices(choices, **options), show)
    return many(fit_each_choices(choices, **options), show)


def exit_code(statuses: tuple[str, ...], strict: bool = False) -> int:
    """0 where there is a valid estimate, else 1; with `strict`, 0 where all have converged."""
    if strict:
        return 0 if set(statuses) == {"converged"} else 1
    return 0 if set(statuses) & set(VALID) else 1


def say_notes(choices: Choices) -> None:
    """What the data are, and what a reader should know of them."""
    say(repr(choices))
    for note in choices.notes:
        say(f"Note: {in_options(note)}")


def _say_doubts(result: Result, show: Show) -> None:
    """What JSON has in a field, and a table below it, in words."""
    if show.json:
        for doubt in result.doubts:
            say(doubt)
