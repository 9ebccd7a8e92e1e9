"""What `ask` does: read offers and answers, choose the next offer, say it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from penchant.choices.offers import Offers, offers_from_frame
from penchant.cli.live_options import Questions, Said, Wanted
from penchant.cli.model_settings import model_named
from penchant.cli.options import Agent
from penchant.cli.table_input import check_base, in_lines, named_offers
from penchant.cli.terminal import say
from penchant.errors import DataError
from penchant.files.output import json_text, write_table
from penchant.files.table import read_table
from penchant.files.text_source import source
from penchant.models.catalogue import entry_of
from penchant.models.priors import PopulationPrior
from penchant.result_tables import format_count
from penchant.tables.offer_columns import numbered_columns, part_column
from penchant.workflow.adaptive_questions import Asker, ask
from penchant.workflow.candidate_question_arrays import Offer, describe_offer

CHOSEN = "choice"


def run_ask(questions: Questions, wanted: Wanted, said: Said) -> int:
    """Read, choose, print; the exit code."""
    check_base(questions.base)
    if questions.offers is None:
        raise DataError(
            "--offers", "must be given", got="none", fix="Name a table with one row per offer."
        )
    if said.interactive and questions.answers is None:
        raise DataError(
            "--answers",
            "must be given with --interactive",
            got="none",
            fix="Name the file to keep them in.",
        )
    model = _model(wanted)
    columns = named_offers(questions.columns)
    table, asker = _asker(questions.offers, model, columns, wanted)
    answers = _answered(questions, columns, asker)
    if said.interactive:
        return _converse(asker, table, answers, questions, wanted)
    _say_known(asker)
    enough = wanted.enough is not None and asker.enough(sd=wanted.enough)
    if said.json:
        print(json_text(_document(asker, enough)))
    elif enough:
        say(f"Enough: the standard deviation is {wanted.enough:g} or less. No offer is needed.")
    else:
        _print_row(table, asker.next())
    return 0


def _model(wanted: Wanted) -> Any:
    if wanted.model is None:
        if wanted.settings:
            raise DataError("--model", "must be given with --settings", got="none", fix="Name one.")
        return None
    entry = entry_of(wanted.model)
    if entry.data != "offers":
        raise DataError(
            "--model",
            "must be of one-shot choices",
            got=f"{entry.name}, which learns from rewards",
            fix="See penchant models.",
        )
    return model_named(Agent(model=wanted.model, settings=wanted.settings), 2)


def _asker(file: str, model: Any, columns: Any, wanted: Wanted) -> tuple[pa.Table, Asker]:
    prior = None if wanted.prior is None else PopulationPrior.read(wanted.prior)
    origin = source(file)
    table = read_table(origin)
    with in_lines(origin, table):
        asker = ask(
            model,
            table,
            about=wanted.about or None,
            prior=prior,
            columns=columns,
            repeats=not wanted.no_repeats,
        )
    n = len(table)
    say(
        f"Offers: {format_count(n, 'offer')}, for example {describe_offer(asker.next().attributes)}"
    )
    return table, asker


def _answered(questions: Questions, columns: Any, asker: Asker) -> pa.Table | None:
    """Learn the answers so far; the table of them, or None."""
    if questions.answers is None:
        return None
    if not Path(questions.answers).expanduser().exists():
        say(f"Answers: none yet, as {questions.answers} does not exist.")
        return None
    origin = source(questions.answers)
    table = read_table(origin)
    if not len(table):
        return table
    with in_lines(origin, table):
        for decisions in _offers_of(table, columns, questions, asker):
            for t in range(decisions.n_events):
                if decisions.chosen[t] >= 0:
                    row = {name: values[t] for name, values in decisions.offers.items()}
                    asker.answer(row, int(decisions.chosen[t]))
    return table


def _offers_of(table: pa.Table, columns: Any, questions: Questions, asker: Asker) -> list[Offers]:
    wanted = tuple(asker.next())
    found = offers_from_frame(
        table,
        subject="none",
        block="none",
        chosen=questions.chosen,
        offers=columns or numbered_columns(table.column_names, wanted),
        scored="none",
        base=questions.base,
    )
    return found


def _say_known(asker: Asker) -> None:
    known = asker.posterior()
    for name in asker.about:
        row = known[name]
        of = " of its logarithm" if row["scale"] == "log" else ""
        say(
            f"After {format_count(asker.n_answers, 'answer')}: {name} {row['median']:.4g} "
            f"({row['low']:.4g} to {row['high']:.4g}), sd{of} {row['sd']:.3g}"
        )


def _document(asker: Asker, enough: bool) -> dict[str, Any]:
    offer = asker.next()
    return {
        "offer": offer.to_dict(),
        "number": offer.number,
        "information": float(asker.information()[offer.number or 0]),
        "enough": enough,
        "posterior": asker.posterior().document(),
        "status": asker.estimate().status,
    }


def _print_row(table: pa.Table, offer: Offer) -> None:
    """The row of an offer, under the names of its columns."""
    row = _row(table, offer)
    print(",".join(map(str, row)))
    print(",".join(_cell(value) for value in row.values()))


def _row(table: pa.Table, offer: Offer) -> dict[str, Any]:
    assert offer.number is not None  # the table holds all that is offered
    return table.slice(offer.number, 1).to_pylist()[0]


def _cell(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _converse(
    asker: Asker, table: pa.Table, answers: pa.Table | None, questions: Questions, wanted: Wanted
) -> int:
    """Ask at the terminal until it is enough, or until an empty line, and keep every answer."""
    assert questions.answers is not None
    rows = [] if answers is None else answers.to_pylist()
    names = list(table.column_names if answers is None else answers.column_names)
    chosen = questions.chosen or part_column("chosen", names) or CHOSEN
    while wanted.enough is None or not asker.enough(sd=wanted.enough):
        offer = asker.next()
        n_options = len(next(iter(offer.attributes.values())))
        typed = _typed(offer, n_options)
        if typed is None:
            break
        asker.answer(offer, typed)
        rows.append(_row(table, offer) | {chosen: typed + questions.base})
        path = Path(questions.answers).expanduser()
        write_table(path, pa.Table.from_pylist(rows), overwrite=True)
    _say_known(asker)
    return 0


def _typed(offer: Offer, n_options: int) -> int | None:
    """The number of an option, from 1, as it is typed; None at the end."""
    attributes = offer.attributes.items()
    options = [
        f"  {i + 1}: {', '.join(f'{name} {values[i]}' for name, values in attributes)}"
        for i in range(n_options)
    ]
    print("\n".join(options))
    while True:
        print(f"1 to {n_options}, or nothing to stop: ", end="", flush=True)
        typed = sys.stdin.readline().strip()
        if not typed:
            return None
        if typed.isdecimal() and 1 <= int(typed) <= n_options:
            return int(typed) - 1
