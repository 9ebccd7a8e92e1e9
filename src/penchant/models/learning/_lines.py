"""Eight pairs of an episode and a psi side by side, for loops that learn from event to event.

A line is eight numbers, one of every pair. All lines of a loop are in one array, and operations
take the numbers of lines: `move(lines, (value, target, rate))`. Every pair has its numbers whatever
the others are: nothing is summed across a line, and no product is fused with a sum.
"""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from penchant._compiled import njit
from penchant.softmax._lanes import LANES, Emit, at

SHOWN = 16  # events whose variables are collected before they are written
BEGIN, SIZE, PLACE = 0, 1, 2  # rows of seats: first event, number of events, where variables go
CHOSEN, REWARD, HABIT, N_TOLD = 0, 1, 2, 3  # what `Record.told` tells of an event


def _on_lines(operation):
    """An intrinsic that replaces the first line by what an operation makes of all of them."""

    def replace(typingctx, lines, numbers):
        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            emit = Emit(builder)
            each = [builder.extract_value(arguments[1], k) for k in range(len(numbers))]
            places = [builder.mul(number, at(LANES)) for number in each]
            given = [emit.load(data, place) for place in places]
            emit.store(operation(emit, *given), data, places[0])
            return context.get_dummy_value()

        return types.void(lines, types.UniTuple(types.int64, len(numbers))), build

    return intrinsic(replace)


def _moved(emit, value, *how):
    """v + rate (target - v)."""
    builder = emit.builder
    rate, target = _speed(emit, *how[:4], *how[6:]), _chosen_or(emit, *how[:2], *how[4:6])
    return builder.fadd(value, builder.fmul(rate, builder.fsub(target, value)))


def _tilted(emit, slope, value, *how):
    """(1 - rate) dv + drate (target - v)."""
    builder = emit.builder
    rate, own = (_speed(emit, *how[:4], *rates) for rates in (how[6:9], how[9:]))
    target = _chosen_or(emit, *how[:2], *how[4:6])
    kept = builder.fmul(builder.fsub(emit.all(1.0), rate), slope)
    return builder.fadd(kept, builder.fmul(own, builder.fsub(target, value)))


def _speed(emit, chosen, option, reward, level, up, down, rest):
    """The rate up or down by what an option taken gave, and the rest of others."""
    gains = emit.builder.fcmp_ordered(">=", reward, level)
    return _chosen_or(emit, chosen, option, emit.builder.select(gains, up, down), rest)


def _chosen_or(emit, chosen, option, yes, no):
    taken = emit.builder.fcmp_ordered("==", chosen, option)
    return emit.builder.select(taken, yes, no)


copy = _on_lines(lambda emit, _, value: value)
negate = _on_lines(lambda emit, _, value: emit.builder.fsub(emit.all(0.0), value))
pick = _on_lines(lambda emit, _, *how: _chosen_or(emit, *how))  # (to, chosen, option, yes, no)
# (to, chosen, option, reward, level, up, down, rest)
speed = _on_lines(lambda emit, _, *how: _speed(emit, *how))
# (value, chosen, option, reward, level, its target, that of others, up, down, rest)
move = _on_lines(_moved)
# (slope, value, the same, derivatives of the three rates): before the value moves
tilt = _on_lines(_tilted)


@intrinsic
def _write_eight(typingctx, lines, first, seats, offset, out):
    """Write eight lines from `first` on as eight numbers of every pair, from place + offset on."""

    def build(context, builder, signature, arguments):
        data, seats, out = _pointers(context, builder, signature, arguments)
        emit, start = Emit(builder), builder.mul(arguments[1], at(LANES))
        rows = [emit.load(data, builder.add(start, at(k * LANES))) for k in range(LANES)]
        for lane, row in enumerate(_transposed(emit, rows)):
            place = builder.load(builder.gep(seats, [at(PLACE * LANES + lane)]))
            emit.store(row, out, builder.add(place, arguments[3]))
        return context.get_dummy_value()

    return types.void(lines, types.int64, seats, types.int64, out), build


@intrinsic
def _read_eight(typingctx, lines, first, seats, offset, told):
    """Read eight numbers that every pair is told, from `offset` of its own on, as eight lines."""

    def build(context, builder, signature, arguments):
        data, seats, told = _pointers(context, builder, signature, arguments)
        emit, start = Emit(builder), builder.mul(arguments[1], at(LANES))
        rows = []
        for lane in range(LANES):
            begin = builder.load(builder.gep(seats, [at(BEGIN * LANES + lane)]))
            place = builder.add(builder.mul(begin, at(N_TOLD)), arguments[3])
            rows.append(emit.load(told, place))
        for k, row in enumerate(_transposed(emit, rows)):
            emit.store(row, data, builder.add(start, at(k * LANES)))
        return context.get_dummy_value()

    return types.void(lines, types.int64, seats, types.int64, told), build


def _pointers(context, builder, signature, arguments):
    """Where the numbers of the three arrays are."""
    return (
        context.make_array(signature.args[k])(context, builder, arguments[k]).data
        for k in (0, 2, 4)
    )


def _transposed(emit, rows):
    """Eight lines with their numbers changed places: halves, quarters, neighbours."""
    index = ir.VectorType(ir.IntType(32), LANES)
    for step in (4, 2, 1):
        low = [j if not j & step else LANES + j - step for j in range(LANES)]
        high = [j + step if not j & step else LANES + j for j in range(LANES)]
        masks = [ir.Constant(index, numbers) for numbers in (low, high)]
        for k in range(LANES):
            if not k & step:
                both = rows[k], rows[k + step]
                rows[k], rows[k + step] = (emit.builder.shuffle_vector(*both, m) for m in masks)
    return rows


@njit(nogil=True, error_model="numpy")
def take_seats(starts, which, first, width, row, seats):
    """Seat the eight pairs from `first` on; where there are fewer, the first takes their seats.

    Returns
    -------
    The row after them, most and fewest events of any, whether all have the same episode, and
    whether episodes are others than before.
    """
    most, fewest, same, new = 0, -1, True, False
    for lane in range(LANES):
        k = first + lane
        if k >= len(which):
            for a in range(3):
                seats[a, lane] = seats[a, 0]
            new = True
            continue
        begin = starts[which[k]]
        size = starts[which[k] + 1] - begin
        new = new or seats[BEGIN, lane] != begin or seats[SIZE, lane] != size
        seats[BEGIN, lane], seats[SIZE, lane], seats[PLACE, lane] = begin, size, row * width
        row += size
        most = max(most, size)
        fewest = size if fewest < 0 else min(fewest, size)
        same = same and which[k] == which[first]
    return row, most, fewest, same, new


@njit(nogil=True, error_model="numpy")
def read_events(told, seats, n, fewest, lines, line):
    """What is told of the first n events of every seat; nothing happens after the last."""
    whole = N_TOLD * fewest // LANES * LANES
    for k in range(0, whole, LANES):
        _read_eight(lines, line + k, seats, k, told)
    for lane in range(LANES):
        begin, size = N_TOLD * seats[BEGIN, lane], N_TOLD * seats[SIZE, lane]
        for k in range(whole, N_TOLD * n):
            nothing = 0.0 if k % N_TOLD == REWARD else -1.0
            lines[(line + k) * LANES + lane] = told[begin + k] if k < size else nothing


@njit(nogil=True, error_model="numpy")
def write_planes(lines, line, begin, end, fewest, seats, shape, out):
    """Write what lines show of the events from `begin` to `end`, as far as pairs have them.

    shape : (n_planes, rows, n_options, n_weights), of which out has all numbers
    """
    n_planes, rows, n_options, n_weights = shape
    width = n_options * n_weights
    n, before = (end - begin) * width, begin * width
    whole = n // LANES * LANES if end <= fewest else 0
    for q in range(n_planes):
        first, offset = line + q * SHOWN * width, q * rows * width + before
        for k in range(0, whole, LANES):
            _write_eight(lines, first + k, seats, offset + k, out)
        for lane in range(LANES):
            for k in range(whole, min(n, seats[SIZE, lane] * width - before)):
                out[seats[PLACE, lane] + offset + k] = lines[(first + k) * LANES + lane]
