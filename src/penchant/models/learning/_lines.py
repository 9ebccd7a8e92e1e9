"""Eight pairs of an episode and a psi side by side, for loops that learn from event to event.

A line is eight numbers, one of every pair. All lines of a loop are in one array, and operations
take the numbers of lines: `move(lines, (value, target, rate))`. Every pair has its numbers whatever
the others are: nothing is summed across a line, and no product is fused with a sum.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from penchant._compiled import inner_njit, njit
from penchant.softmax._simd import (
    LANES,
    VectorBuilder,
    address_of,
    call_address,
    called_by_address,
    i64,
    transpose_lanes,
)

SHOWN = 16  # events whose variables are collected before they are written
BEGIN, SIZE, PLACE = 0, 1, 2  # rows of seats: first event, number of events, where variables go
CHOSEN, REWARD, HABIT, N_TOLD = 0, 1, 2, 3  # what `Record.told` tells of an event


# a part that every event takes
step = njit(
    nogil=True,
    error_model="numpy",
    _nrt=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    forceinline=True,
)


def _on_lines(operation):
    """An intrinsic that replaces the first lines by what an operation makes of all of them."""

    def replace(typingctx, lines, numbers):
        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            emit = VectorBuilder(builder)
            each = [builder.extract_value(arguments[1], k) for k in range(len(numbers))]
            places = [builder.mul(number, i64(LANES)) for number in each]
            given = [emit.load(data, place) for place in places]
            for result, place in zip(operation(emit, *given), places, strict=False):
                emit.store(result, data, place)
            return context.get_dummy_value()

        return types.void(lines, types.UniTuple(types.int64, len(numbers))), build

    return intrinsic(replace)


def _moved(emit, value, *how):
    """v + rate (target - v)."""
    builder = emit.builder
    rate, target = _speed(emit, *how[:4], *how[6:]), _chosen_or(emit, *how[:2], *how[4:6])
    return (builder.fadd(value, builder.fmul(rate, builder.fsub(target, value))),)


def _tilted(emit, slope, value, *how):
    """(1 - rate) dv + drate (target - v)."""
    builder = emit.builder
    rate, own = (_speed(emit, *how[:4], *rates) for rates in (how[6:9], how[9:]))
    target = _chosen_or(emit, *how[:2], *how[4:6])
    kept = builder.fmul(builder.fsub(emit.splat(1.0), rate), slope)
    return (builder.fadd(kept, builder.fmul(own, builder.fsub(target, value))),)


def _speed(emit, chosen, option, reward, level, up, down, rest):
    """The rate up or down by what an option taken gave, and the rest of others."""
    gains = emit.builder.fcmp_ordered(">=", reward, level)
    return _chosen_or(emit, chosen, option, emit.builder.select(gains, up, down), rest)


def _chosen_or(emit, chosen, option, yes, no):
    taken = emit.builder.fcmp_ordered("==", chosen, option)
    return emit.builder.select(taken, yes, no)


def _gained(emit, _, chosen, option, variance, noise):
    """Gain s / (v + s) of the option taken, 0 of others."""
    builder, none = emit.builder, emit.splat(0.0)
    unsure = builder.fcmp_ordered(">", variance, none)
    found = builder.fdiv(variance, builder.fadd(noise, variance))
    return (_chosen_or(emit, chosen, option, builder.select(unsure, found, none), none),)


def _trusted(emit, gain, kept, unit, chosen, option, variance, noise):
    """Gain s / (v + s), kept v / (v + s), 1 / (v + s); 0, 1 and 0 but of the option taken."""
    builder, none, one = emit.builder, emit.splat(0.0), emit.splat(1.0)
    both, unsure = builder.fadd(noise, variance), builder.fcmp_ordered(">", variance, none)
    share = builder.fdiv(one, both)
    gained = builder.select(unsure, builder.fdiv(variance, both), none)
    left = builder.select(unsure, builder.fmul(noise, share), one)
    found = (gained, none), (left, one), (builder.select(unsure, share, none), none)
    return [_chosen_or(emit, chosen, option, yes, no) for yes, no in found]


def _learnt_mean(emit, mean, reward, gain):
    builder = emit.builder
    return (builder.fadd(mean, builder.fmul(gain, builder.fsub(reward, mean))),)


def _tilted_mean(emit, slope, variance_slope, mean, reward, kept, unit):
    builder = emit.builder
    gained = builder.fmul(builder.fmul(variance_slope, kept), unit)
    change = builder.fmul(gained, builder.fsub(reward, mean))
    return (builder.fadd(builder.fmul(kept, slope), change),)


def _tilted_variance(emit, slope, kept, unit, noise, chosen, option):
    builder = emit.builder
    gained = builder.fmul(builder.fmul(slope, kept), unit)
    return (_chosen_or(emit, chosen, option, builder.fmul(gained, noise), slope),)


def _narrowed(emit, variance, gain, noise, chosen, option):
    narrow = emit.builder.fmul(gain, noise)
    return (_chosen_or(emit, chosen, option, narrow, variance),)


def _sqrt(emit, x):
    kind = ir.FunctionType(emit.vector, [emit.vector])
    name = f"llvm.sqrt.v{LANES}f64"
    return emit.builder.call(cgutils.get_or_insert_function(emit.builder.module, kind, name), [x])


def _rooted(emit, sd, half, variance, unit):
    """Unit sqrt(s), and its derivative in s."""
    builder, none, plain = emit.builder, emit.splat(0.0), _sqrt(emit, variance)
    steep = builder.fdiv(unit, builder.fmul(emit.splat(2.0), plain))
    unsure = builder.fcmp_ordered(">", plain, none)
    return builder.fmul(unit, plain), builder.select(unsure, steep, none)


def _scaled(emit, value, factor, more):
    return (emit.builder.fadd(emit.builder.fmul(factor, value), more),)


def _leaned(emit, slope, factor, value, by, centre):
    builder = emit.builder
    lean = builder.fmul(by, builder.fsub(value, centre))
    return (builder.fadd(builder.fmul(factor, slope), lean),)


copy = _on_lines(lambda emit, _, value: (value,))
negate = _on_lines(lambda emit, _, value: (emit.builder.fsub(emit.splat(0.0), value),))
times = _on_lines(lambda emit, _, one, other: (emit.builder.fmul(one, other),))
pick = _on_lines(lambda emit, _, *how: (_chosen_or(emit, *how),))  # (to, chosen, option, yes, no)
# (to, chosen, option, reward, level, up, down, rest)
speed = _on_lines(lambda emit, _, *how: (_speed(emit, *how),))
# (value, chosen, option, reward, level, its target, that of others, up, down, rest)
move = _on_lines(_moved)
# (slope, value, the same, derivatives of the three rates): before the value moves
tilt = _on_lines(_tilted)
gain = _on_lines(_gained)  # (gain, chosen, option, variance, noise)
trust = _on_lines(_trusted)  # (gain, kept, unit, chosen, option, variance, noise)
learn_mean = _on_lines(_learnt_mean)  # (mean, reward, gain)
tilt_mean = _on_lines(_tilted_mean)  # (slope, that of the variance, mean, reward, kept, unit)
tilt_variance = _on_lines(_tilted_variance)  # (slope, kept, unit, noise, chosen, option)
narrow = _on_lines(_narrowed)  # (variance, gain, noise, chosen, option)
root = _on_lines(_rooted)  # (sd, half, variance, unit)
# (sd, variance, unit)
deviate = _on_lines(lambda emit, _, s, unit: (emit.builder.fmul(unit, _sqrt(emit, s)),))
scale = _on_lines(_scaled)  # (value, factor, more)
lean = _on_lines(_leaned)  # (slope, factor, value, by, centre)


@intrinsic
def _write_eight(typingctx, lines, first, seats, offset, out):
    """Write eight lines from `first` on as eight numbers of every pair, from place + offset on."""

    def build(context, builder, signature, arguments):
        data, seats, out = _pointers(context, builder, signature, arguments)
        emit, start = VectorBuilder(builder), builder.mul(arguments[1], i64(LANES))
        rows = [emit.load(data, builder.add(start, i64(k * LANES))) for k in range(LANES)]
        for lane, row in enumerate(transpose_lanes(emit, rows)):
            place = builder.load(builder.gep(seats, [i64(PLACE * LANES + lane)]))
            emit.store(row, out, builder.add(place, arguments[3]))
        return context.get_dummy_value()

    return types.void(lines, types.int64, seats, types.int64, out), build


@intrinsic
def _read_eight(typingctx, lines, first, seats, offset, told):
    """Read eight numbers that every pair is told, from `offset` of its own on, as eight lines."""

    def build(context, builder, signature, arguments):
        data, seats, told = _pointers(context, builder, signature, arguments)
        emit, start = VectorBuilder(builder), builder.mul(arguments[1], i64(LANES))
        rows = []
        for lane in range(LANES):
            begin = builder.load(builder.gep(seats, [i64(BEGIN * LANES + lane)]))
            place = builder.add(builder.mul(begin, i64(N_TOLD)), arguments[3])
            rows.append(emit.load(told, place))
        for k, row in enumerate(transpose_lanes(emit, rows)):
            emit.store(row, data, builder.add(start, i64(k * LANES)))
        return context.get_dummy_value()

    return types.void(lines, types.int64, seats, types.int64, told), build


def _pointers(context, builder, signature, arguments):
    """Where the numbers of the three arrays are."""
    return (
        context.make_array(signature.args[k])(context, builder, arguments[k]).data
        for k in (0, 2, 4)
    )


@inner_njit
def lay_out(lines, own, given, group, line):
    """Lines before play: what all pairs have, and from `line` on what each of a group has."""
    for k in range(len(own)):
        lines[k] = own[k]
    for k in range(given.shape[1]):
        lines[line * LANES + k] = given[group, k]


@inner_njit
def take_seats(starts, which, first, rows, width, seats):
    """Seat the eight pairs from `first` on; where there are fewer, the first takes their seats.

    rows : (pairs,), where the variables of each begin

    Returns
    -------
    Most and fewest events of any, whether all have the same episode, and whether episodes are
    others than before.
    """
    most, fewest, same, new = 0, -1, True, False
    for lane in range(LANES):
        k = first + lane if first + lane < len(which) else first
        begin = starts[which[k]]
        size = starts[which[k] + 1] - begin
        new = new or seats[BEGIN, lane] != begin or seats[SIZE, lane] != size
        seats[BEGIN, lane], seats[SIZE, lane], seats[PLACE, lane] = begin, size, rows[k] * width
        most = max(most, size)
        fewest = size if lane == 0 else min(fewest, size)
        same = same and which[k] == which[first]
    return most, fewest, same, new


@inner_njit
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


@inner_njit
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


# -- two values in registers -----------------------------------------------------------------------
# Where all that is learnt is a number or two, lines need not be kept in memory from event to event:
# eight events of eight pairs are unfolded by one function, which a rule writes. A rule takes the
# lines of the state, parameters first, and those of what is told of an event; it returns what is
# shown of two options before the event, values and then slopes, and the state after it.


class Rule(NamedTuple):
    """Addresses of functions for pairs that share an episode and for others; lines of the state."""

    shared: int
    apart: int
    n_state: int
    functions: Any  # code goes when its function does


def _learnt_at_a_rate(emit, n, state, told):
    """Values of options taken move to rewards: rates up and down, then values, each with slopes.

    told : the option learnt from, or -1; the reward
    """
    builder, none, one = emit.builder, emit.splat(0.0), emit.splat(1.0)
    (chosen, reward), up, down = told, state[:n], state[n : 2 * n]
    after, shown = [], []
    for i in range(2):
        value, *slopes = state[(2 + i) * n : (3 + i) * n]
        taken = builder.fcmp_ordered("==", chosen, emit.splat(float(i)))
        gains = builder.fcmp_ordered(">=", reward, value)
        rate, *own = (
            builder.select(taken, builder.select(gains, *both), none)
            for both in zip(up, down, strict=True)
        )
        error, kept = builder.fsub(reward, value), builder.fsub(one, rate)
        after.append(builder.fadd(value, builder.fmul(rate, error)))
        for slope, change in zip(slopes, own, strict=True):
            after.append(builder.fadd(builder.fmul(kept, slope), builder.fmul(change, error)))
        shown.append((value, *slopes))
    return list(zip(*shown, strict=True)), [*up, *down, *after]


def _unfold_eight(builder, arguments, rule, n_planes, apart):
    """Instructions of a function for eight events of eight pairs."""
    state, told, n_events, begins, t, out, places, width = arguments
    learn, n_told, n_state = rule
    emit = VectorBuilder(builder)
    lines = [emit.load(state, i64(k * LANES)) for k in range(n_state(n_planes))]
    seats = [builder.load(builder.gep(begins, [i64(lane)])) for lane in range(LANES)]
    seen = []
    for k in range(n_told):
        first = builder.add(builder.mul(n_events, i64(k)), t)
        rows = [emit.load(told, builder.add(first, seats[lane])) for lane in range(LANES * apart)]
        if apart:
            seen.append(transpose_lanes(emit, rows))
        else:
            place = builder.gep(told, [builder.add(first, seats[0])])
            numbers = [builder.load(builder.gep(place, [i64(j)])) for j in range(LANES)]
            seen.append([emit.broadcast(number) for number in numbers])
    to = [builder.load(builder.gep(places, [i64(lane)])) for lane in range(LANES)]
    written = [[] for _ in range(n_planes)]
    for j in range(LANES):
        shown, lines = learn(emit, n_planes, lines, [line[j] for line in seen])
        for plane, both in zip(written, shown, strict=True):
            plane.extend(both)
        if len(written[0]) < LANES:
            continue
        before = builder.add(builder.mul(t, i64(2)), i64(2 * j + 2 - LANES))
        for q, plane in enumerate(written):
            first = builder.add(before, builder.mul(width, i64(q)))
            for lane, row in enumerate(transpose_lanes(emit, plane)):
                emit.store(row, out, builder.add(to[lane], first))
            plane.clear()
    for k, line in enumerate(lines):
        emit.store(line, state, i64(k * LANES))


# of each rule: its instructions, numbers told of an event, and lines of its state by planes
RULES = {
    "rates": (_learnt_at_a_rate, 2, lambda n: 4 * n),
}
_NUMBERS, _PLACES, _PLACE = types.CPointer(types.float64), types.CPointer(types.int64), types.int64
_EVENTS = types.void(_NUMBERS, _NUMBERS, _PLACE, _PLACES, _PLACE, _NUMBERS, _PLACES, _PLACE)


@intrinsic
def _write_events(
    typingctx, state, told, n_events, begins, t, out, places, width, which, planes, apart
):
    """Unfold eight events of eight pairs, see `unfold`.

    Lengths of the last three, which are kept with the code: which of the rules, how many planes,
    and whether pairs have episodes of their own.
    """

    def build(context, builder, signature, arguments):
        rule = list(RULES.values())[len(which)]
        _unfold_eight(builder, arguments[:8], rule, len(planes), len(apart) > 0)
        return context.get_dummy_value()

    given = state, told, n_events, begins, t, out, places, width, which, planes, apart
    return types.void(*given), build


def _events_of(which: tuple[int, ...], planes: tuple[int, ...], apart: tuple[int, ...]) -> Any:
    @called_by_address
    def events(state, told, n_events, begins, t, out, places, width):
        given = state, told, n_events, begins, t, out, places, width
        _write_events(*given, which, planes, apart)

    return events


@lru_cache(None)
def rule_of(name: str, n_planes: int) -> Rule:
    """How `unfold` learns by a rule, with so many planes of values and slopes."""
    kind = (0,) * list(RULES).index(name), (0,) * n_planes
    functions = [_events_of(*kind, (0,) * apart) for apart in range(2)]
    shared, apart = (address_of(function, _EVENTS) for function in functions)
    return Rule(shared, apart, RULES[name][2](n_planes), functions)


@intrinsic
def _unfold(typingctx, address, state, told, n_events, begins, t, out, places, width):
    def build(context, builder, signature, arguments):
        given = [
            arguments[k]
            if signature.args[k] == types.int64
            else context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in range(1, 9)
        ]
        call_address(builder, arguments[0], given)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, state, told, number, begins, number, out, places, number), build


@njit(cache=True, nogil=True, error_model="numpy")
def unfold(addresses, told, starts, which, given, own, n_planes, rooms, out):
    """Values of two options before every event, and their slopes, of pairs k.

    addresses : of a function for pairs that share an episode, and of one for others
    told : (n_told, n_events + 8) in a row, what is told of events; 8 more may be read
    given, own : (n, n_given), the first lines of the state of each pair; the others, before play
    rooms : lines, (n_planes, 8, 16) for eight events, and (4, 8) places
    out : (n_planes, rows, 2) in a row
    """
    lines, shown, first_event, size, place, seat = rooms
    n_events, width, row = starts[len(starts) - 1] + LANES, len(out) // n_planes, 0
    n_given, n = given.shape[1], len(which)
    for first in range(0, n, LANES):
        most, fewest, same = 0, -1, True
        for lane in range(LANES):
            k = first + lane if first + lane < n else first
            first_event[lane], size[lane] = (
                starts[which[k]],
                starts[which[k] + 1] - starts[which[k]],
            )
            place[lane] = 2 * row if first + lane < n else place[0]
            if first + lane < n:
                row += size[lane]
            most = max(most, size[lane])
            fewest = size[lane] if lane == 0 else min(fewest, size[lane])
            same = same and which[k] == which[first]
            for a in range(n_given):
                lines[a * LANES + lane] = given[k, a]
            for a in range(len(own)):
                lines[(n_given + a) * LANES + lane] = own[a]
        address, whole = addresses[0] if same else addresses[1], fewest // LANES * LANES
        for t in range(0, whole, LANES):
            _unfold(address, lines, told, n_events, first_event, t, out, place, width)
        for t in range(whole, most, LANES):
            # an episode of the lane may be over: nothing else of it is written
            for lane in range(LANES):
                seat[lane] = 2 * LANES * lane - 2 * t
                if t >= size[lane]:
                    first_event[lane] = -t
            room = 2 * LANES * LANES
            _unfold(address, lines, told, n_events, first_event, t, shown, seat, room)
            for q in range(n_planes):
                for lane in range(LANES):
                    for j in range(2 * min(LANES, size[lane] - t)):
                        at_ = q * width + place[lane] + 2 * t + j
                        out[at_] = shown[q * room + 2 * LANES * lane + j]
