"""The command `ask`: replay the answers so far, and choose the most informative next offer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from penchant.choices.offers import Offers, offers_from_frame
from penchant.cli.live_options import AskOptions, AskOutputOptions, QuestionTables
from penchant.cli.model_settings import build_named_model
from penchant.cli.options import Agent
from penchant.cli.table_input import check_base, errors_in_lines, parse_offers
from penchant.cli.terminal import say
from penchant.errors import DataError
from penchant.files.output import json_text, write_table
from penchant.files.table import read_table
from penchant.files.text_source import source_from_path
from penchant.models.catalogue import entry_of
from penchant.models.priors import PopulationPrior
from penchant.result_tables import format_count
from penchant.tables.offer_columns import numbered_columns, part_column
from penchant.workflow.adaptive_questions import Asker, ask
from penchant.workflow.candidate_question_arrays import Offer, describe_offer

CHOICE_COLUMN = "choice"


def run_ask(
    questions: QuestionTables, ask_options: AskOptions, output_options: AskOutputOptions
) -> int:
    """Run `ask`: choose and print the next offer; return the exit code."""
    check_base(questions.base)
    if questions.offers is None:
        raise DataError(
            "--offers", "must be given", got="none", fix="Name a table with one row per offer."
        )
    if output_options.interactive and questions.answers is None:
        raise DataError(
            "--answers",
            "must be given with --interactive",
            got="none",
            fix="Name the file to keep them in.",
        )
    model = _ask_model(ask_options)
    columns = parse_offers(questions.columns)
    table, asker = _build_asker(questions.offers, model, columns, ask_options)
    answers = _replay_answers(questions, columns, asker)
    if output_options.interactive:
        return _ask_interactively(asker, table, answers, questions, ask_options)
    _say_posterior(asker)
    enough = ask_options.enough is not None and asker.enough(sd=ask_options.enough)
    if output_options.json:
        print(json_text(_offer_document(asker, enough)))
    elif enough:
        say(
            f"Enough: the standard deviation is {ask_options.enough:g} or less. No offer is needed."
        )
    else:
        _print_row(table, asker.next())
    return 0


def _ask_model(ask_options: AskOptions) -> Any:
    if ask_options.model is None:
        if ask_options.settings:
            raise DataError("--model", "must be given with --settings", got="none", fix="Name one.")
        return None
    entry = entry_of(ask_options.model)
    if entry.data != "offers":
        raise DataError(
            "--model",
            "must be of one-shot choices",
            got=f"{entry.name}, which learns from rewards",
            fix="See penchant models.",
        )
    return build_named_model(Agent(model=ask_options.model, settings=ask_options.settings), 2)


def _build_asker(
    file: str, model: Any, columns: Any, ask_options: AskOptions
) -> tuple[pa.Table, Asker]:
    prior = None if ask_options.prior is None else PopulationPrior.read(ask_options.prior)
    origin = source_from_path(file)
    table = read_table(origin)
    with errors_in_lines(origin, table):
        asker = ask(
            model,
            table,
            about=ask_options.about or None,
            prior=prior,
            columns=columns,
            repeats=not ask_options.no_repeats,
        )
    n = len(table)
    say(
        f"Offers: {format_count(n, 'offer')}, for example {describe_offer(asker.next().attributes)}"
    )
    return table, asker


def _replay_answers(questions: QuestionTables, columns: Any, asker: Asker) -> pa.Table | None:
    """Add the answers so far to `asker`; return their table, or None where there is none."""
    if questions.answers is None:
        return None
    if not Path(questions.answers).expanduser().exists():
        say(f"Answers: none yet, as {questions.answers} does not exist.")
        return None
    origin = source_from_path(questions.answers)
    table = read_table(origin)
    if not len(table):
        return table
    with errors_in_lines(origin, table):
        for decisions in _answered_offers(table, columns, questions, asker):
            for t in range(decisions.n_events):
                if decisions.chosen[t] >= 0:
                    row = {name: values[t] for name, values in decisions.offers.items()}
                    asker.answer(row, int(decisions.chosen[t]))
    return table


def _answered_offers(
    table: pa.Table, columns: Any, questions: QuestionTables, asker: Asker
) -> list[Offers]:
    attributes = tuple(asker.next())
    found = offers_from_frame(
        table,
        subject="none",
        block="none",
        chosen=questions.chosen,
        offers=columns or numbered_columns(table.column_names, attributes),
        scored="none",
        base=questions.base,
    )
    return found


def _say_posterior(asker: Asker) -> None:
    known = asker.posterior()
    for name in asker.about:
        row = known[name]
        of = " of its logarithm" if row["scale"] == "log" else ""
        say(
            f"After {format_count(asker.n_answers, 'answer')}: {name} {row['median']:.4g} "
            f"({row['low']:.4g} to {row['high']:.4g}), sd{of} {row['sd']:.3g}"
        )


def _offer_document(asker: Asker, enough: bool) -> dict[str, Any]:
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
    """Print the row of an offer, under the names of its columns."""
    row = _offer_row(table, offer)
    print(",".join(map(str, row)))
    print(",".join(_csv_cell(value) for value in row.values()))


def _offer_row(table: pa.Table, offer: Offer) -> dict[str, Any]:
    assert offer.number is not None  # the table holds all that is offered
    return table.slice(offer.number, 1).to_pylist()[0]


def _csv_cell(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _ask_interactively(
    asker: Asker,
    table: pa.Table,
    answers: pa.Table | None,
    questions: QuestionTables,
    ask_options: AskOptions,
) -> int:
    """Ask questions at the terminal until it is enough or a line is empty; save every answer."""
    assert questions.answers is not None
    rows = [] if answers is None else answers.to_pylist()
    names = list(table.column_names if answers is None else answers.column_names)
    chosen = questions.chosen or part_column("chosen", names) or CHOICE_COLUMN
    while ask_options.enough is None or not asker.enough(sd=ask_options.enough):
        offer = asker.next()
        n_options = len(next(iter(offer.attributes.values())))
        typed = _read_choice(offer, n_options)
        if typed is None:
            break
        asker.answer(offer, typed)
        rows.append(_offer_row(table, offer) | {chosen: typed + questions.base})
        path = Path(questions.answers).expanduser()
        write_table(path, pa.Table.from_pylist(rows), overwrite=True)
    _say_posterior(asker)
    return 0


def _read_choice(offer: Offer, n_options: int) -> int | None:
    """Print an offer and read the option chosen, counted from 0; None at an empty line."""
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
