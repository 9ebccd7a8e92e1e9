"""What a model may say is declared once, and everybody asks for it there."""

import ast
from pathlib import Path

from penchant.models.catalogue import CATALOGUE
from penchant.models.model import Declared, Member, Model
from source_files import ROOT, source, wrong

GUIDE = Path(__file__).parents[2] / "docs" / "own-model.md"
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.relative_to(ROOT) != Path("models/model.py"))
MEMBERS = frozenset(name for name, value in vars(Declared).items() if isinstance(value, Member))
ABOVE = [p for p in MODULES if p.relative_to(ROOT).parts[0] != "models"]
CLASSES = frozenset(entry.model.__name__ for entry in CATALOGUE.values())


def _calls(path, *names):
    """Calls of some built-in functions, with their arguments."""
    return [call for call in source(path).calls if call.func.id in names]


def _is_model(node):
    """Whether it is called a model: `model`, `plan.model`, `own_model` ..."""
    return ast.unparse(node).rpartition(".")[2].endswith("model")


def test_a_model_is_asked_for_what_it_declares_and_nothing_else():
    def asked(path):
        for call in _calls(path, "getattr", "hasattr"):
            of, name = call.args[:2]
            constant = name.value if isinstance(name, ast.Constant) else None
            if _is_model(of) or constant in MEMBERS:
                yield ast.unparse(call)

    assert wrong(MODULES, asked) == {}, "ask Declared(model) instead"


def test_no_class_of_models_is_a_special_case_above_them():
    models = {*CLASSES, "OfferModel", "CompiledModel"}

    def special(path):
        for call in _calls(path, "isinstance", "issubclass"):
            named = {ast.unparse(node) for node in ast.walk(call.args[1])}
            if {name.rpartition(".")[2] for name in named} & models:
                yield ast.unparse(call)

    assert wrong(ABOVE, special) == {}


def test_the_three_members_of_every_model_are_declared_too():
    own = {name for name in vars(Model) if not name.startswith("_")}
    assert own == {"weights", "shape", "explanatory"} <= MEMBERS


def test_every_member_is_told_in_the_guide():
    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in sorted(MEMBERS) if f"`{name}" not in text] == []


def test_every_member_is_described_where_it_is_declared():
    listed = (Declared.__doc__ or "").replace(",", " ").split()
    assert [
        name for name in sorted(MEMBERS) if name not in listed and f"`{name}`" not in listed
    ] == []


def test_every_member_is_of_some_model_or_for_models_of_ones_own():
    examples = [entry.example() for entry in CATALOGUE.values()]
    used = {name for model in examples for name in MEMBERS if hasattr(model, name)}
    assert MEMBERS - used == {"objective"}


def test_a_model_that_says_nothing_has_what_is_taken_otherwise():
    said = Declared(object())
    assert said.weights is said.parameters is said.agents is said.n_options is None
    assert (said.smooth, said.clock, tuple(said.positive)) == (True, "events", ())
