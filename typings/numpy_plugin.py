"""Plugin of mypy: types of NumPy's results where NumPy's own annotations say Any.

`x.sum()` is a number of x's type and `x.sum(axis=0)` an array, `x == y` is an array of booleans,
`np.abs(x)` has the type of x, and `x[i]` is a number where x is known to have one dimension.
"""

from collections.abc import Callable, Iterable

from mypy.nodes import Expression, StrExpr, TypeAlias
from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeOfAny,
    get_proper_type,
)

Context = FunctionContext | MethodContext
Hook = Callable[[MethodContext], Type]

MEANS = {"mean", "std", "var"}
PLACES = {"argmax", "argmin"}
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
KEPT = ("absolute", "negative", "maximum", "minimum", "sign", "fmax", "fmin", "square")
FLOATS = ("exp", "log", "sqrt", "expm1", "log1p", "log2", "log10", "cos", "sin", "tanh", "hypot")


def is_array(given: Type) -> bool:
    given = get_proper_type(given)
    return isinstance(given, Instance) and given.type.fullname == "numpy.ndarray"


def is_vector(given: Type) -> bool:
    """Whether it is an array of one dimension."""
    given = get_proper_type(given)
    shape = get_proper_type(given.args[0]) if is_array(given) else None
    return isinstance(shape, TupleType) and len(shape.items) == 1


def element(given: Type) -> Type:
    """Type of a number, or of the elements of an array."""
    given = get_proper_type(given)
    if isinstance(given, LiteralType):
        given = given.fallback
    if isinstance(given, Instance) and given.type.fullname == "numpy.ndarray":
        dtype = get_proper_type(given.args[1])
        return get_proper_type(dtype.args[0]) if isinstance(dtype, Instance) else dtype
    return given


def is_(given: Type, *kinds: str) -> bool:
    return isinstance(given, Instance) and any(given.type.has_base(kind) for kind in kinds)


def float64(context: Context) -> Type:
    return context.api.named_generic_type("numpy.float64", [])


def int64(context: Context) -> Type:
    alias = context.api.modules["numpy"].names["int64"].node
    assert isinstance(alias, TypeAlias)
    return alias.target


def boolean(context: Context) -> Type:
    truth = context.api.named_generic_type("builtins.bool", [])
    return context.api.named_generic_type("numpy.bool", [truth])


def array(context: Context, of: Type) -> Type:
    anything = AnyType(TypeOfAny.explicit)
    shape = context.api.named_generic_type("builtins.tuple", [anything])
    dtype = context.api.named_generic_type("numpy.dtype", [of])
    return context.api.named_generic_type("numpy.ndarray", [shape, dtype])


def promoted(context: Context, given: Iterable[Type]) -> Type | None:
    """Type of the elements that arithmetic on these makes; None where it is not known."""
    elements = [element(one) for one in given]
    if not all(
        is_(one, "builtins.float", "builtins.int", "numpy.integer", "numpy.floating")
        for one in elements
    ):
        return None
    if any(is_(one, "builtins.float", "numpy.inexact") for one in elements):
        return float64(context)
    return int64(context)


def argument(context: Context, name: str) -> Expression | None:
    """What is given for a parameter that is neither absent nor None."""
    if name not in context.callee_arg_names:
        return None
    k = context.callee_arg_names.index(name)
    if not context.args[k] or isinstance(get_proper_type(context.arg_types[k][0]), NoneType):
        return None
    return context.args[k][0]


def reduction(kind: Callable[[MethodContext, Type], Type | None]) -> Hook:
    """A number, or an array where an axis is given."""

    def hook(context: MethodContext) -> Type:
        if not isinstance(get_proper_type(context.default_return_type), AnyType):
            return context.default_return_type
        found = kind(context, element(context.type))
        if found is None or any(argument(context, name) for name in ("out", "dtype")):
            return context.default_return_type
        many = any(argument(context, name) for name in ("axis", "keepdims"))
        return array(context, found) if many else found

    return hook


def total(context: MethodContext, of: Type) -> Type | None:
    return int64(context) if is_(of, "numpy.bool", "numpy.signedinteger") else of


def extreme(context: MethodContext, of: Type) -> Type | None:
    return of


def mean(context: MethodContext, of: Type) -> Type | None:
    return float64(context) if is_(of, "numpy.bool", "numpy.integer") else of


def place(context: MethodContext, of: Type) -> Type | None:
    return int64(context)


def compare(context: MethodContext) -> Type:
    """An array of booleans."""
    if isinstance(get_proper_type(context.default_return_type), AnyType):
        return array(context, boolean(context))
    return context.default_return_type


def item(context: MethodContext) -> Type:
    """An element or a part of an array whose number of dimensions is known."""
    of = get_proper_type(context.type)
    shape = get_proper_type(of.args[0]) if isinstance(of, Instance) else None
    if not isinstance(shape, TupleType):
        return context.default_return_type
    key = get_proper_type(context.arg_types[0][0])
    n = len(key.items) if isinstance(key, TupleType) else 1
    if isinstance(get_proper_type(context.default_return_type), AnyType):
        return element(of) if n == len(shape.items) else array(context, element(of))
    part = is_(key, "builtins.slice") or is_(element(key), "numpy.bool") or is_vector(key)
    return of if len(shape.items) == 1 and part else context.default_return_type


def ufunc(context: MethodContext) -> Type:
    """An array, or a number where no argument is an array, of the type of the arguments."""
    name = get_proper_type(context.type.args[0]) if isinstance(context.type, Instance) else None
    given = [one for some in context.arg_types[:2] for one in some]
    if not isinstance(name, LiteralType) or not given or argument(context, "out"):
        return context.default_return_type
    found = promoted(context, given) if name.value in KEPT else None
    if name.value in FLOATS:
        found = float64(context) if promoted(context, given) else None
    if found is None:
        return context.default_return_type
    return array(context, found) if any(map(is_array, given)) else found


def einsum(context: FunctionContext) -> Type:
    """A number where nothing stands after the arrow of the subscripts, else an array."""
    subscripts = context.args[0][0]
    operands = [one for some in context.arg_types[1:2] for one in some]
    found = promoted(context, operands) or AnyType(TypeOfAny.explicit)
    if not isinstance(subscripts, StrExpr) or "->" not in subscripts.value:
        return context.default_return_type
    return found if subscripts.value.endswith("->") else array(context, found)


class NumpyPlugin(Plugin):
    def get_method_hook(self, fullname: str) -> Hook | None:
        holder, _, name = fullname.rpartition(".")
        if holder.startswith("numpy._typing._ufunc._UFunc_Nin") and name == "__call__":
            return ufunc
        if holder not in ("numpy.ndarray", "numpy._ArrayOrScalarCommon"):
            return None
        return METHODS.get(name)

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return einsum if fullname == "numpy._core.einsumfunc.einsum" else None


METHODS: dict[str, Hook] = {
    "sum": reduction(total),
    "prod": reduction(total),
    "max": reduction(extreme),
    "min": reduction(extreme),
    **dict.fromkeys(MEANS, reduction(mean)),
    **dict.fromkeys(PLACES, reduction(place)),
    **dict.fromkeys(COMPARISONS, compare),
    "__getitem__": item,
}


def plugin(version: str) -> type[Plugin]:
    return NumpyPlugin
