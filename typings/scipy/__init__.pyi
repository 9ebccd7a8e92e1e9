"""What this library uses of scipy, which has no annotations of its own."""

from scipy import integrate as integrate
from scipy import linalg as linalg
from scipy import optimize as optimize
from scipy import spatial as spatial
from scipy import special as special
from scipy import stats as stats
