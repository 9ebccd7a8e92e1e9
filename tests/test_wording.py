"""Advice in the words of who asked: arguments in Python, options in a shell."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.cli.option_wording import error_text, word_as_options
from penchant.errors import MarkedText, format_for_python, mark_argument, mark_quoted_argument
from penchant.tables.numbers import text_advice
from penchant.tables.play_columns import play_columns

ROOT = Path(pn.__file__).parent
# `task` serves what its commands ask for: nobody calls it from Python.
COMMAND = "study_comparison.py"  # prints the command that it was made by, with an option more


def _separated():
    return pn.fit(pn.Choices.from_arrays([[[1.0], [0.0]], [[2.0], [0.0]]], [0, 0])).message


def _refused(call):
    with pytest.raises(pn.errors.DataError) as refusal:
        call()
    return refusal.value


SAID = {
    "an mark_argument": (lambda: mark_argument("length_scale"), "length_scale", "--length-scale"),
    "with a value": (lambda: mark_argument("delimiter", ";"), "delimiter=';'", "--delimiter ';'"),
    "a column": (lambda: mark_quoted_argument("is_choice"), "`is_choice`", "--is-choice"),
    "a number": (
        lambda: text_advice("1,5"),
        "pass decimal=',' when reading.",
        "pass --decimal , when reading.",
    ),
    "a prior": (
        _separated,
        "Use method='firth' or parameter_prior=ScaledPrior(), or read the profile intervals.",
        "Use --method firth or --prior weak, or read --intervals profile.",
    ),
    "a level": (
        lambda: _refused(lambda: pn.fit(_two()).interval(95)),
        "level must lie between 0 and 1; got 95.",
        "--level must lie between 0 and 1; got 95.",
    ),
    "a model": (
        lambda: _refused(lambda: pn.UCL(pn.grid(2, 1), noise_variance=-1.0)),
        "noise_variance must be > 0; got -1.0.",
        "--noise-variance must be > 0; got -1.0.",
    ),
    "a table": (
        lambda: _refused(lambda: pn.read_study(pa.table({"choice": [], "reward": []}))),
        "frame must hold at least one row",
        "The table must hold at least one row",
    ),
    "no column": (
        lambda: _refused(lambda: play_columns(["choice", "price"])),
        "Name the column with `reward`.",
        "Name the column with --reward.",
    ),
}


def _two():
    return pn.Choices.from_arrays(
        np.array([[[1.0], [0.0]]] * 4), [0, 1, 0, 1], subject=["a", "a", "b", "b"]
    )


@pytest.mark.parametrize("of", SAID)
def test_a_message_names_what_its_reader_can_change(of):
    made, python, typed = SAID[of]
    said = made()
    if isinstance(said, pn.errors.DataError):
        assert python in str(said)
        assert typed in error_text(said)
    else:
        assert python in format_for_python(said)
        assert typed in word_as_options(said)


def test_an_error_words_its_fields_with_the_remedy_on_a_line_of_its_own():
    fix = f"Pass {mark_argument('level', 0.95)}."
    error = pn.errors.DataError("level", "must be < 1", got=2, where="at decision 3", fix=fix)
    assert str(error) == "level must be < 1; got 2 at decision 3.\nPass level=0.95."
    assert error_text(error) == "--level must be < 1; got 2 at decision 3.\nPass --level 0.95."


def test_a_sentence_of_a_result_is_python_s_until_it_is_worded_for_another_reader():
    text = MarkedText(f"Use {mark_argument('method', 'firth')}.")
    assert text == "Use method='firth'."
    assert word_as_options(pickle.loads(pickle.dumps(text))) == "Use --method firth."


def _in_strings(tree):
    """Options named in texts that are no docstring."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for node in texts:
        if id(node) not in skipped:
            yield from re.findall(r"--[a-z][a-z-]+", node.value)


def test_no_layer_below_the_command_line_speaks_of_options_to_python():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0]
        if part in ("cli", "task", "errors.py") or path.name == COMMAND:
            continue
        text = path.read_text(encoding="utf-8")
        named = set(_in_strings(ast.parse(text))) if re.search(r"--[a-z]", text) else set()
        if named:
            found[str(path.relative_to(ROOT))] = named
    assert found == {}
