"""Exponentials and logarithms of whole arrays, eight at a time."""

from numba.core import types
from numba.extending import intrinsic

from penchant._compiled import njit
from penchant.softmax._emit import LANES, Emit


def _of_eight(function):
    """An intrinsic that replaces the eight numbers from `first` on by a function of them."""

    def replace(typingctx, values, first):
        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            emit = Emit(builder)
            numbers = emit.load(data, arguments[1])
            emit.store(getattr(emit, function)(numbers), data, arguments[1])
            return context.get_dummy_value()

        return types.void(values, types.int64), build

    return intrinsic(replace)


_exponentials_of_eight = _of_eight("exp")
_logarithms_of_eight = _of_eight("log")


@njit(cache=True, nogil=True, error_model="numpy")
def exponentials(values):
    """Replace numbers by their exponentials, to about 1 unit in the last place.

    values : (n,), n a multiple of 8, none above 700; below -708 it is 3e-308
    """
    for first in range(0, len(values), LANES):
        _exponentials_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def logarithms(values):
    """Replace positive numbers, none of them subnormal, by their logarithms.

    values : (n,), n a multiple of 8
    """
    for first in range(0, len(values), LANES):
        _logarithms_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def whole_blocks(n):
    """The next multiple of 8."""
    return (n + LANES - 1) // LANES * LANES
