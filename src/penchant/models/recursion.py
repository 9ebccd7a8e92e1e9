"""Models of learning, defined by what is seen before a decision and what is learnt after it.

Such a model declares its weights, its shape parameters, its state before the first event, and two
functions of scalars:

    features(s, e, psi, c, x)   fill x[option, weight], the attributes before a decision
    update(s, e, psi, c)        learn from what was chosen and received

and, where the first state depends on the shape parameters, a third, `start(s, psi, c)`,

with the state `s`, the event `e`, the shape parameters `psi` and settings `c` of the model, all by
name; `c.at_stickiness` is the column of the weight of that name, before any `/` or `*` in it, or -1
where the model has none. Attributes of any number of (episode, psi) pairs, their derivatives in
psi, and agents that play follow from these: the source of the two functions is put into a loop over
pairs and events, with its tangents (`penchant.models.tangents`), and compiled once
(`penchant.models.generated`).

Pairs that share an episode, such as points of a grid of psi, run side by side: every update waits
for the one before it, and a processor fills the time with other pairs.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.controls import fill_agents_controls, fill_controls
from penchant.models.generated import generated_module
from penchant.models.model import (
    Declared,
    natural_parameters,
    positive,
    softmax,
    weights_and_shape,
)
from penchant.models.parameters import Shape
from penchant.models.record import CompiledModel, Record
from penchant.models.scalars import Fields, Numbers
from penchant.models.tangents import Constants, Names, Tangents, tangent_name

Field = Vector | IntVector  # of all events, or of all agents
# Pairs side by side: enough to hide the latency of an update, few enough to share many episodes.
N_LANES = 8
# Rates are searched from here: nearer to 0 values are in proportion to the rate, as to a weight.
MIN_RATE = 1e-8
# Lower ends of ranges below this stand for 0 where agents are given a parameter.
MAX_RATE_LIKE_0 = 1e-6
# Points of the grid along a rate, by the number of shape parameters in all.
N_RATE_GRID = {1: 33, 2: 17, 3: 13}
AT = "at_"  # before the name of a weight: its column

_HEAD = '''"""Attributes of {name}, generated from its features and update."""

from math import exp, log, nan, sqrt

import numpy as np

from penchant._numba_cache import njit
from penchant.models._elementary import expit

'''

_PAIRS = """
@njit(cache=True, nogil=True, error_model="numpy")
def {function}({arguments}):
    k = first = 0
    {states}
    while k < len(which):
        lanes = 1
        while lanes < {n_lanes} and k + lanes < len(which) and which[k + lanes] == which[k]:
            lanes += 1
        begin, end = starts[which[k]], starts[which[k] + 1]
        for lane in range(lanes):
            {parameters}
            {resets}
        for t in range(begin, end):
            {events}
            is_known = {known}
            for lane in range(lanes):
                row = first + lane * (end - begin) + t - begin
                {parameters_inside}
                {features}
                if is_known:
                    {update}
        first += lanes * (end - begin)
        k += lanes
"""

_AGENTS = """
@njit(cache=True, nogil=True, error_model="numpy")
def {function}({arguments}):
    for lane in range(len(psi)):
        row = lane
        {events}
        {parameters}
        if {known}:
            {body}
"""


@dataclass(frozen=True)
class Program:
    """The compiled loops of a model, and the names of what they take, in order.

    Attributes
    ----------
    module
        Functions `attributes`, `attributes_and_slopes`, and for agents `begin`, `show`, `learn`.
    states, events, fixed, settings
        State arrays; fields of an event; shape parameters that are held fixed; settings.
    seen, learnt
        Fields of an event that features read, and those that update reads.
    """

    module: Any
    states: tuple[str, ...]
    events: tuple[str, ...]
    fixed: tuple[str, ...]
    settings: tuple[str, ...]
    seen: tuple[str, ...]
    learnt: tuple[str, ...]


class Recursion(CompiledModel):
    """Base of models that are defined by `state`, `features` and `update`.

    See the module's docstring for the form of the functions.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> class Learner(pn.models.Recursion):
    ...     n_options = 2
    ...     weights = ("inverse_temperature",)
    ...     shape = (pn.models.Shape("learning_rate", 0.001, 1.0),)
    ...     def state(self):
    ...         return {"value": np.zeros(2)}
    ...     @staticmethod
    ...     def features(s, e, psi, c, x):
    ...         for i in range(2):
    ...             x[i, 0] = s.value[i]
    ...     @staticmethod
    ...     def update(s, e, psi, c):
    ...         s.value[e.choice] += psi.learning_rate * (e.reward - s.value[e.choice])
    >>> play = pn.Episode([0, 1, 1], [1.0, 0.0, 1.0])
    >>> Learner().explanatory(play, 0.5)[:, :, 0].tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.5, 0.0]]
    """

    n_options: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    optional: ClassVar[tuple[str, ...]] = ()  # fields of an event without which update runs, too
    update: ClassVar[Callable[..., None] | None] = None
    start: ClassVar[Callable[..., None] | None] = None

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Fill the attributes of all options before a decision."""
        raise NotImplementedError

    def state(self) -> Mapping[str, ArrayLike]:
        """State before the first event: arrays or numbers, by name."""
        raise NotImplementedError

    def bindings(self) -> Mapping[str, float | str]:
        """Fields of psi that are no shape parameters: a number, or the name of one that is."""
        return {}

    def codes(self) -> Mapping[str, int]:
        """Fields of an event that are whole numbers from 0, with how many values each has."""
        return {}

    def controls(self) -> tuple[str, ...]:
        """Last of the weights, which the engine fills in: see `control_names`."""
        return ()

    def options(self, record: Record) -> int:
        """Number of options, beyond which no choice may be."""
        record.check_options(self.n_options)
        return self.n_options

    def events(self, record: Record) -> Mapping[str, Field]:
        """Fields of all events: NaN where a number is missing, -1 where a whole number is."""
        found: dict[str, Field] = {
            "choice": record.chosen,
            "reward": record.rewards,
            "is_choice": record.is_choice.astype(np.int64),  # 0 where an option was only shown
        }
        sizes = self.codes()
        for role, names in (("before", self.before), ("after", self.after)):
            for name in names:
                found[name] = values = record.event_values(role, name)
                if name in sizes:
                    found[name] = codes(values, name, 0, sizes[name] - 1, record)
        return found

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Attributes of every event of every pair, and their derivatives in psi if asked for."""
        n_options = self.options(record)
        program, inputs = self._inputs(record)
        rows = int(record.lengths(which).sum())
        x = np.zeros((rows, n_options, len(self.weights)))
        pairs = np.asarray(which), record.starts, np.ascontiguousarray(psi, dtype=np.float64)
        given = *pairs, *inputs
        slopes = np.zeros((psi.shape[1], *x.shape)) if with_slopes else None
        if slopes is None or not len(slopes):
            program.module.attributes(*given, x)
        else:
            program.module.attributes_and_slopes(*given, x, slopes)
        fill_controls(record, which, x, *self._stickiness_and_bias())
        return x, slopes

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> Any:
        """Agents with these natural parameters, before the first event."""
        for one in natural_parameters(self):
            if one.is_reciprocal:
                positive(parameters, one.name)
        theta, psi = weights_and_shape(self, parameters)
        check_range(self, theta, psi)
        return RecursionAgents(self, theta, psi, n_agents)

    def _inputs(self, record: Record) -> tuple[Program, tuple[Any, ...]]:
        """The loops, and what they take besides pairs; once for all psi, as a search asks often.

        A model that is no frozen dataclass may have changed since the last call.
        """
        parameters = getattr(type(self), "__dataclass_params__", None)
        if parameters is None or not parameters.frozen:
            return self._inputs_of(record)
        key = "recursion", id(self)  # no other object's, as long as this one is kept
        _, *found = record.cached(key, lambda: (self, *self._inputs_of(record)))
        return found[0], found[1]

    def _inputs_of(self, record: Record) -> tuple[Program, tuple[Any, ...]]:
        program, events = self._program(), self.events(record)
        fields = (events[name] for name in program.events)
        start = (np.asarray(value, dtype=np.float64) for value in self._start(program))
        return program, (*fields, *self._numbers(program), *start)

    def _stickiness_and_bias(self) -> tuple[bool, bool]:
        names = self.controls()
        return "stickiness" in names, "bias_0" in names

    def _program(self) -> Program:
        kind = type(self)
        shape = tuple(one.name for one in self.shape)
        bound = tuple((name, to) for name, to in self.bindings().items() if isinstance(to, str))
        whole = "choice", *self.codes()
        columns = {AT + re.split("[/*]", name)[0]: k for k, name in enumerate(self.weights)}
        settings = {name: v for name, v in self.settings().items() if isinstance(v, int)}
        constants = tuple({**columns, **settings}.items())
        names = Declarations(shape, bound, tuple(self.state()), whole, kind.optional, constants)
        functions = kind.features, kind.update, kind.start
        return compiled_program(kind.__name__, functions, names)

    def _numbers(self, program: Program) -> tuple[float, ...]:
        fixed, settings = self.bindings(), self.settings()
        return (
            *(float(fixed[name]) for name in program.fixed),
            *(settings[name] for name in program.settings),
        )

    def _start(self, program: Program) -> list[Any]:
        state = self.state()
        return [state[name] for name in program.states]


class ValueModel(Recursion):
    """Base of models whose one attribute is the value of every option."""

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values before each event."""
        return {"value": self.explanatory(episode, *psi)[:, :, 0]}


def rates(*names: str, of: int | None = None) -> tuple[Shape, ...]:
    """Shape parameters that are rates from 0 to 1, of so many shape parameters in all."""
    return tuple(Shape(name, MIN_RATE, 1.0, n_grid=N_RATE_GRID[of or len(names)]) for name in names)


def codes(values: Matrix, name: str, low: int, high: int, record: Record) -> IntVector:
    """A field of events as whole numbers from low to high; -1 where it is missing."""
    key = "codes", name, low, high
    return np.asarray(record.cached(key, lambda: _checked(values, name, low, high, record)))


def _checked(values: Matrix, name: str, low: int, high: int, record: Record) -> IntVector:
    there = np.isfinite(values)
    whole = there & (values == np.floor(values)) & (values >= low) & (values <= high)
    wrong = np.flatnonzero(there & ~whole)
    if wrong.size:
        k = int(wrong[0])
        e = int(np.searchsorted(record.starts, k, side="right") - 1)
        raise DataError(
            f"before[{name!r}]",
            f"must be a whole number in {low}..{high}",
            got=f"{values[k]:g}",
            where=f"at event {k - record.starts[e]} of episode {e}",
            fix="Number them so.",
        )
    return np.where(there, values, -1.0).astype(np.int64)


def check_range(model: Recursion, theta: Vector, psi: Vector) -> None:
    """Raise an error where a parameter is outside the model: a rate above 1, a negative weight.

    The search begins a little above 0 where 0 itself is a limit of the model; agents may be there.
    """
    for shape, value in zip(model.shape, psi, strict=True):
        low = min(shape.low, 0.0) if shape.low < MAX_RATE_LIKE_0 else shape.low
        if not low <= value <= shape.high:
            raise DataError(
                shape.name, f"must lie in {low:g}..{shape.high:g}", got=value, fix="Correct it."
            )
    for name, value in zip(model.weights, theta, strict=True):
        if not np.isfinite(value) or (value < 0 and name in Declared(model).positive):
            rule = "be finite" if not np.isfinite(value) else "not be negative"
            raise DataError(name, f"must {rule}", got=value, fix="Correct it.")


class RecursionAgents:
    """Agents in play, who see and learn as the model does.

    Parameters
    ----------
    model
        A model defined by features and update.
    theta, psi
        Weights and shape parameters that all agents have.
    n_agents
        How many agents play.
    """

    def __init__(self, model: Recursion, theta: Vector, psi: Vector, n_agents: int) -> None:
        self.model, self.theta, self.n_agents = model, theta, n_agents
        self.program = model._program()
        self.psi = np.tile(np.asarray(psi, dtype=np.float64), (n_agents, 1))
        self.numbers = model._numbers(self.program)
        start = (np.asarray(value, dtype=np.float64) for value in model._start(self.program))
        self.state = [np.tile(one, (n_agents, *[1] * one.ndim)) for one in start]
        self.program.module.begin(self.psi, *self.numbers, *self.state)
        self.before: Mapping[str, Vector] = {}
        self.last = np.full(n_agents, -1)  # option of the last choice, for stickiness

    def probabilities(self, before: Mapping[str, Vector] | None = None) -> Matrix:
        """Choice probabilities (n_agents, n_options) of agents who see this."""
        self.before = before or {}
        x = np.zeros((self.n_agents, self.model.n_options, len(self.model.weights)))
        now = {**self.before, "is_choice": np.ones(self.n_agents)}
        seen = self._fields(self.program.seen, now)
        self.program.module.show(self.psi, *seen, *self.numbers, *self.state, x)
        fill_agents_controls(x, self.last, *self.model._stickiness_and_bias())
        return softmax(x @ self.theta)

    def observe(
        self,
        chosen: IntVector,
        rewards: Vector,
        after: Mapping[str, Vector] | None = None,
        is_choice: bool = True,
    ) -> None:
        """Learn from what each agent chose, or was shown, received and was told."""
        known: dict[str, Field] = {**self.before, **(after or {})}
        known |= {"choice": chosen, "reward": rewards}
        known["is_choice"] = np.full(self.n_agents, is_choice, dtype=np.int64)
        learnt = self._fields(self.program.learnt, known)
        self.program.module.learn(self.psi, *learnt, *self.numbers, *self.state)
        if is_choice:
            self.last = np.where(np.asarray(chosen) >= 0, chosen, self.last)

    def _fields(self, names: Sequence[str], known: Mapping[str, Field]) -> list[Field]:
        whole = {"choice", "is_choice", *self.model.codes()}
        return [np.asarray(known[name], np.int64 if name in whole else float) for name in names]


@dataclass(frozen=True)
class Declarations:
    """Names that a model declares.

    Attributes
    ----------
    shape
        Shape parameters.
    bound
        Fields of psi that stand for a shape parameter of another name: (field, name).
    states, codes
        State arrays; fields of an event that are whole numbers.
    optional
        Fields of an event without which update runs, too.
    constants
        Settings that are whole numbers, and columns of weights, which become part of the source:
        (name, number).
    """

    shape: tuple[str, ...]
    bound: tuple[tuple[str, str], ...]
    states: tuple[str, ...]
    codes: tuple[str, ...]
    optional: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]


@cache
def compiled_program(
    name: str, functions: tuple[Callable[..., None] | None, ...], names: Declarations
) -> Program:
    """Generate and import the loops of a model from its features, update and start."""
    constants = dict(names.constants)
    (show, seen), (learn, learnt), (begin, first) = (
        plain_body(function, _RECORDS, {"s": ("lane",), "x": ("row",)}, constants)
        for function in functions
    )
    fields = {key: (*dict.fromkeys((*seen[key], *learnt[key], *first[key])),) for key in seen}
    unknown = [one for one in fields["s"] if one not in names.states]
    if unknown:
        raise DataError(
            f"features and update of {name}",
            "must use the state that is declared",
            got=f"s.{unknown[0]}, but state() has {', '.join(names.states)}",
            fix="Declare it.",
        )
    bound = [(one, to) for one, to in names.bound if one in fields["psi"]]
    estimated = {*names.shape, *(one for one, _ in bound)}
    program = {
        "states": names.states,
        "events": fields["e"],
        "fixed": tuple(one for one in fields["psi"] if one not in estimated),
        "settings": tuple(
            one for one in fields["c"] if one not in constants and not one.startswith(AT)
        ),
        "seen": tuple(seen["e"]),
        "learnt": tuple(learnt["e"]),
    }
    aliases = [ast.parse(f"p_{one} = p_{to}").body[0] for one, to in bound]
    bodies = [*aliases, *show], [*aliases, *learn], [*aliases, *begin]
    text = _HEAD.format(name=name) + _loops(*bodies, names, program)
    return Program(generated_module(name.lower(), text), **program)


FieldNames = Mapping[str, Mapping[str, None]]
_RECORDS = {"s": "s_", "e": "e_", "psi": "p_", "c": "c_"}


def plain_body(
    function: Callable[..., None] | None,
    prefixes: Mapping[str, str],
    indexed: Mapping[str, tuple[str, ...]],
    constants: Mapping[str, int],
) -> tuple[list[ast.stmt], FieldNames]:
    """Statements of a function with plain variables, and the fields of records that they use.

    Prefixes and indices are those of `Names`; constants are settings written into the source.
    """
    if function is None:
        return [], {key: {} for key in prefixes}
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        raise DataError(
            function.__qualname__,
            "must stand in a file or a notebook, whose text is compiled",
            got="one without",
            fix="Put the class into a file, and import it.",
        ) from error
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = [one for one in tree.body if not _is_docstring(one)]
    assigned = (one for one in ast.walk(tree) if isinstance(one, ast.Name))
    local = {one.id for one in assigned if isinstance(one.ctx, ast.Store)}
    names = Names(prefixes, indexed, local)
    plain = names.visit(ast.Module(body, []))
    columns = {name: -1 for name in names.found["c"] if name.startswith(AT)}
    numbers = {f"{prefixes['c']}{name}": value for name, value in {**columns, **constants}.items()}
    plain = Constants(numbers).visit(plain)
    return ast.fix_missing_locations(plain).body, names.found


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _loops(
    show: list[ast.stmt],
    learn: list[ast.stmt],
    begin: list[ast.stmt],
    names: Declarations,
    program: Mapping[str, tuple[str, ...]],
) -> str:
    """Source of the loops over pairs, without and with tangents, and over agents."""
    shape, codes = names.shape, names.codes
    states, events = program["states"], program["events"]
    numbers = [
        *(f"p_{one}" for one in program["fixed"]),
        *(f"c_{one}" for one in program["settings"]),
    ]
    needed = [one for one in program["learnt"] if one not in names.optional]
    known = _presence_test(needed, codes)
    read = [f"p_{name} = psi[k + lane, {j}]" for j, name in enumerate(shape)]
    arguments = ["which", "starts", "psi", *(f"all_{one}" for one in events), *numbers]
    arguments += [f"start_{one}" for one in states]
    arrays = [f"s_{one} = np.empty(({N_LANES},) + start_{one}.shape)" for one in states]
    resets = [f"s_{one}[lane] = start_{one}" for one in states]
    tangents = Tangents([f"p_{name}" for name in shape])
    tangents.find_active([show, learn, begin])
    duals = [
        tangent_name(f"s_{one}", m)
        for one in states
        if f"s_{one}" in tangents.active
        for m in range(len(shape))
    ]
    dual_arrays = [f"{one} = np.empty_like({one.partition('__')[0]})" for one in duals]
    dual_arrays += [f"{tangent_name('x', m)} = slopes[{m}]" for m in range(len(shape))]
    dual_resets = [f"{one}[lane] = 0.0" for one in duals]
    text = ""
    for function, outputs, more_arrays, more_resets, bodies in (
        ("attributes", ["x"], [], [], (begin, show, learn)),
        (
            "attributes_and_slopes",
            ["x", "slopes"],
            dual_arrays,
            dual_resets,
            tuple(map(tangents.differentiate, (begin, show, learn))),
        ),
    ):
        text += _PAIRS.format(
            function=function,
            arguments=", ".join([*arguments, *outputs]),
            n_lanes=N_LANES,
            states=lines([*arrays, *more_arrays], 4),
            parameters=lines(read, 12),
            resets=lines([*resets, *more_resets, source(bodies[0], 12)], 12),
            events=lines([f"e_{one} = all_{one}[t]" for one in events], 12),
            known=known,
            parameters_inside=lines(read, 16),
            features=source(bodies[1], 16),
            update=source(bodies[2], 20),
        )
    own = [f"p_{name} = psi[lane, {j}]" for j, name in enumerate(shape)]
    for function, body, fields, more, test in (
        ("begin", begin, (), [], "True"),
        ("show", show, program["seen"], ["x"], "True"),
        ("learn", learn, program["learnt"], [], known),
    ):
        given = [
            "psi",
            *(f"all_{one}" for one in fields),
            *numbers,
            *(f"s_{one}" for one in states),
        ]
        text += _AGENTS.format(
            function=function,
            arguments=", ".join([*given, *more]),
            events=lines([f"e_{one} = all_{one}[lane]" for one in fields], 8),
            parameters=lines(own, 8),
            known=test,
            body=source(body, 12),
        )
    return text


def _presence_test(fields: Sequence[str], codes: Sequence[str]) -> str:
    """Source of a test that no variable needed for learning is missing at an event."""
    tests = [f"e_{one} >= 0" if one in codes else f"e_{one} == e_{one}" for one in fields]
    return " and ".join(tests) or "True"


def lines(lines: Sequence[str], indent: int) -> str:
    """Lines of source under an indent; `pass` where there are none."""
    return ("\n" + " " * indent).join(lines or ["pass"])


def source(body: list[ast.stmt], indent: int) -> str:
    """Source of statements under an indent."""
    module = ast.fix_missing_locations(ast.Module(body, []))
    return lines(ast.unparse(module).splitlines(), indent)
