"""Exponential, logarithm and logistic function of numbers in compiled loops, without a call.

A call of the system's library for every number keeps a loop from being vectorised. These consist of
arithmetic and selections only, so that eight numbers are computed at once. Errors are about 1 unit
in the last place. The logarithm follows FDLIBM (Sun Microsystems 1993), the exponential reduces its
argument as Cody and Waite (1980) do.
"""

import numpy as np

from penchant._numba_cache import njit

LOG_2_E = 1.4426950408889634
# log 2 in two parts, of which the first has zeros behind: k times it is exact for every exponent k
LOG_2_HIGH = 6.93147180369123816490e-01
LOG_2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 2^52: added to a number, it leaves a whole one
MAX_EXPONENT = 700.0  # exp(710) is infinite; so is a power for most purposes
SMALLEST_NORMAL = 2.2250738585072014e-308
SQRT_HALF_HIGH = 0x3FE6A09E00000000  # sqrt(1/2) as an integer, without its last digits
ONE_HIGH = 0x3FF0000000000000
MANTISSA = 0x000FFFFFFFFFFFFF
INTEGERS_FROM_2_52 = 0x4330000000000000  # 2^52 as an integer: or-ed with k it is 2^52 + k

# Put into the loop that calls them, whatever their size: a call would keep it from vectorising.
inlined = njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)


@inlined
def exp(number):
    """Exponential; of less than -700 it is 1e-304, of more than 710 it is infinite.

    Numbers below 2e-308 would be subnormal, which processors compute a hundred times more slowly.

    exp(number) = 2^k exp(r): k is read from the last digits of a large number, and r, at most
    log(2)/2 in size, is put into a Taylor polynomial.
    """
    v = -700.0 if number < -700.0 else (710.0 if number > 710.0 else number)
    large = v * LOG_2_E + ROUND_TO_INTEGER
    k = large - ROUND_TO_INTEGER
    r = (v - k * LOG_2_HIGH) - k * LOG_2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0))
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    high += r4 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
    half = np.int64((np.float64(large).view(np.int64) + 1022) << 52).view(np.float64)
    return 2.0 * ((low + r4 * (middle + r4 * high)) * half)


@inlined
def log(number):
    """Natural logarithm; -inf of 0, NaN of what is less.

    number = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and log(1 + f) = 2 atanh(s) with
    s = f / (2 + f), by FDLIBM's polynomial in s^2.
    """
    is_small = number < SMALLEST_NORMAL
    scaled = number * 18014398509481984.0 if is_small else number  # 2^54
    shifted = np.float64(scaled).view(np.int64) + (ONE_HIGH - SQRT_HALF_HIGH)
    exponent = np.int64((shifted >> 52) | INTEGERS_FROM_2_52).view(np.float64)
    k = exponent - 4503599627370496.0 - (1077.0 if is_small else 1023.0)
    f = np.int64((shifted & MANTISSA) + SQRT_HALF_HIGH).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (
        3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01)
    )
    odd = z * (
        6.666666666666735130e-01
        + w
        * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    half = 0.5 * f * f
    found = k * LOG_2_HIGH - ((half - (s * (half + (odd + even)) + k * LOG_2_LOW)) - f)
    found = number if number == np.inf else found
    return found if number > 0.0 else (-np.inf if number == 0.0 else np.nan)


@inlined
def expit(number):
    """1 / (1 + exp(-number))."""
    e = exp(-abs(number))
    return (1.0 if number >= 0.0 else e) / (1.0 + e)
