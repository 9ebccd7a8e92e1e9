"""Values that stay in registers from event to event: eight pairs at a time, eight events each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penchant as pn
from penchant.models.record import Record

MODELS = {
    "two rates": pn.QLearning(2, dual_rates=True, initial_value=0.3),
    "one rate": pn.QLearning(2, initial_value=-0.2),
    "confirmation": pn.models.ConfirmationBias(),
    "confirmation, stickiness": pn.models.ConfirmationBias(stickiness=True),
    "punishments": pn.models.AversiveLearning(),
}


def _episode(rng, n):
    """Some choices missed, and with them what would have been learnt."""
    chosen = rng.integers(-1, 2, n)
    rewards, forgone = rng.normal(size=(2, n))
    outcome = rng.integers(0, 2, n).astype(float)
    outcome[chosen < 0] = forgone[chosen < 0] = rewards[chosen < 0] = np.nan
    sizes = {f"magnitude_{i}": rng.uniform(1, 9, n) for i in range(2)}
    return pn.Episode(chosen, rewards, before=sizes, after={"forgone": forgone, "outcome": outcome})


def _psi(model, rng, n):
    low, high = np.transpose([shape.search_range for shape in model.shape])
    u = rng.uniform(low, high, (n, len(low)))
    return np.column_stack([s.from_unconstrained(u[:, q]) for q, s in enumerate(model.shape)])


def _literal(model, episode, psi):
    """Variables of one episode, event by event, as the equations say it."""
    n, rows = len(episode.chosen), []
    if isinstance(model, pn.models.AversiveLearning):
        rate, gamma = psi
        e, outcome = 0.5, episode.after["outcome"]
        for t in range(n):
            f = np.clip(gamma * (np.array([e, 1 - e]) - 0.5) + 0.5, 0, 1)
            rows.append(-f * [episode.before[f"magnitude_{i}"][t] for i in range(2)])
            if episode.chosen[t] >= 0 and np.isfinite(outcome[t]):
                e += rate * (outcome[t] - e)
        return np.array(rows)
    full = isinstance(model, pn.models.ConfirmationBias)
    q = np.zeros(2) if full else np.full(2, float(model.initial_value))
    up, down = psi if len(psi) == 2 else (psi[0], psi[0])
    for t in range(n):
        rows.append(q.copy())
        c, r = episode.chosen[t], episode.rewards[t]
        if c < 0 or np.isnan(r):
            continue
        q[c] += (up if r >= q[c] else down) * (r - q[c])
        other = episode.after["forgone"][t]
        if full and np.isfinite(other):
            q[1 - c] += (up if other < q[1 - c] else down) * (other - q[1 - c])
    return np.array(rows)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_pair_is_unfolded_as_the_equations_say_whatever_its_company(name, seed):
    model, rng = MODELS[name], np.random.default_rng(seed)
    lengths = rng.choice([1, 3, 7, 8, 9, 16, 41], size=rng.integers(1, 6))
    episodes = [_episode(rng, n) for n in lengths]
    record = Record.of(episodes)
    which = rng.integers(0, len(episodes), rng.integers(1, 30))
    which = np.sort(which) if seed % 2 else which
    psi = _psi(model, rng, len(which))
    x, none = model.explanatory_many(record, which, psi, False)
    x = x.copy()
    both, slopes = model.explanatory_many(record, which, psi, True)
    assert none is None
    np.testing.assert_array_equal(x, both)
    ends = np.cumsum(lengths[which])
    for k, end in enumerate(ends):
        mine = slice(end - lengths[which[k]], end)
        literal = _literal(model, episodes[which[k]], psi[k])
        np.testing.assert_allclose(x[mine, :, 0], literal, rtol=1e-11, atol=1e-12)
        alone = Record.of([episodes[which[k]]])
        one = model.explanatory_many(alone, np.zeros(1, dtype=np.int64), psi[k : k + 1], True)
        np.testing.assert_array_equal(one[0], x[mine])
        np.testing.assert_array_equal(one[1], slopes[:, mine])


@pytest.mark.parametrize("name", MODELS)
def test_slopes_are_those_of_values_beside(name):
    model, rng, far = MODELS[name], np.random.default_rng(4), 1e-7
    record = Record.of([_episode(rng, 41) for _ in range(3)])
    which = np.array([0, 1, 2])
    psi = np.full((3, len(model.shape)), 0.31) + 0.1 * rng.random((3, len(model.shape)))
    _, slopes = model.explanatory_many(record, which, psi, True)
    slopes = slopes.copy()
    for q in range(len(model.shape)):
        beside = []
        for sign in (-1, 1):
            at = psi.copy()
            at[:, q] += sign * far
            beside.append(model.explanatory_many(record, which, at, False)[0].copy())
        np.testing.assert_allclose(slopes[q], (beside[1] - beside[0]) / (2 * far), atol=2e-7)
