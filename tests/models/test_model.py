"""What a model declares: ranges of shape parameters, natural parameters."""

import dataclasses
import pickle

import numpy as np
import pytest

import penchant as pn
import played
from penchant.models.model import Model, model_words, natural_parameters, positive_weights
from penchant.models.parameters import Parameter, Shape, bound_table
from penchant.models.transforms import Transform


def test_a_grid_goes_from_low_to_high_in_equal_steps_of_the_scale():
    linear = Shape("rate", -0.3, 0.9, n_grid=7)
    np.testing.assert_allclose(linear.grid(), np.linspace(-0.3, 0.9, 7), rtol=1e-15)
    log = Shape("precision", 3e-4, 70.0, scale="log", n_grid=9)
    np.testing.assert_allclose(np.diff(np.log(log.grid())), np.log(70.0 / 3e-4) / 8, rtol=1e-12)
    assert (linear.grid()[[0, -1]] == [-0.3, 0.9]).all()
    np.testing.assert_allclose(log.grid()[[0, -1]], [3e-4, 70.0], rtol=1e-14)
    assert 3e-4 <= log.grid()[0] < log.grid()[-1] <= 70.0


def test_search_units_and_back():
    for shape in (Shape("a", 0.2, 5.0, scale="log"), Shape("a", -2.0, 5.0)):
        for value in (0.2, 0.77, 5.0):
            assert shape.from_unconstrained(shape.to_unconstrained(value)) == pytest.approx(
                value, rel=1e-15
            )
        assert shape.from_unconstrained(shape.search_range[0] - 1) == shape.low
        assert shape.from_unconstrained(shape.search_range[1] + 1) == shape.high


@pytest.mark.parametrize(
    ("low", "high", "scale", "message"),
    [
        (1.0, 0.5, "linear", "low and high of a must be increasing; got 1.0 and 0.5"),
        (0.7, 0.7, "linear", "low and high of a must be increasing"),
        (0.0, 1.0, "log", "low and high of a must be increasing and positive; got 0.0 and 1.0"),
        (-1.0, 1.0, "log", "increasing and positive"),
        (np.nan, 1.0, "linear", "must be increasing"),
        (0.1, np.inf, "log", "increasing and positive"),
        (-np.inf, 1.0, "linear", "must be increasing"),
    ],
)
def test_ranges_that_are_none_are_refused(low, high, scale, message):
    with pytest.raises(pn.errors.DataError, match=message):
        Shape("a", low, high, scale=scale)


def test_an_infinite_linear_range_is_refused():
    with pytest.raises(pn.errors.DataError, match="low and high of a"):
        Shape("a", 0.0, np.inf)


def test_an_unknown_scale_is_refused():
    with pytest.raises(pn.errors.DataError, match="scale"):
        Shape("a", 0.1, 1.0, scale="lgo")


def test_a_grid_of_two_points_is_refused():
    with pytest.raises(pn.errors.DataError, match="n_grid must be at least 3; got 2"):
        Shape("a", 0.0, 1.0, n_grid=2)


NATURALS = bound_table(
    [
        Parameter("own", ("b",)),
        Parameter.reciprocal("noise", "a"),
        Parameter.ratio("mean", "b", "a"),
        Parameter.ratio("other", "a", "c"),
        Parameter("variance", shape="precision", transform=Transform("power", 6.3, -1.0)),
        Parameter("length", shape="size"),
        Parameter.share("lapse", "c", 0.8),
        Parameter("root", shape="size", transform=Transform("power", 2.2, 0.5)),
    ],
    ("a", "b", "c"),
    (Shape("precision", 1e-3, 1.0, scale="log"), Shape("size", 0.1, 10.0, scale="log")),
)


@pytest.mark.parametrize("natural", NATURALS, ids=lambda n: n.name)
def test_gradients_of_natural_parameters_equal_central_differences(natural):
    theta, psi = np.array([0.31, -2.4, 1.7]), np.array([0.044, 3.6])
    point = np.concatenate([theta, psi])
    expected = np.empty(5)
    for a in range(5):
        h = 1e-6 * abs(point[a])
        above, below = point.copy(), point.copy()
        above[a] += h
        below[a] -= h
        rise = natural.value(above[:3], above[3:]) - natural.value(below[:3], below[3:])
        expected[a] = rise / (2 * h)
    np.testing.assert_allclose(natural.gradient(theta, psi), expected, rtol=1e-8, atol=1e-9)


def test_natural_parameters_have_the_values_they_say():
    theta, psi = np.array([0.25, 5.0, 1.5]), np.array([0.05, 4.0])
    values = {n.name: n.value(theta, psi) for n in NATURALS}
    expected = {
        "own": 5.0,
        "noise": 4.0,
        "mean": 20.0,
        "other": 1 / 6,
        "variance": 126.0,
        "length": 4.0,
        "lapse": 0.8 / (1 + np.exp(1.5)),
        "root": 4.4,
    }
    assert values == pytest.approx(expected, rel=1e-14)


def test_a_model_that_declares_none_has_its_weights_and_shape_as_natural_parameters():
    learner = played.Learner()
    assert isinstance(learner, Model)
    names = [(n.name, n.is_shape, n.index) for n in natural_parameters(learner)]
    assert names == [("inverse_temperature", False, 0), ("learning_rate", True, 0)]
    assert positive_weights(learner) == ()


def test_built_in_models_are_models_with_a_positive_weight():
    for model in (played.ucl(), pn.QLearning(4)):
        assert isinstance(model, Model)
        assert positive_weights(model) == (0,)
        assert natural_parameters(model)[0].is_reciprocal


def test_a_model_without_words_is_called_by_its_class():
    assert model_words(played.Learner()) == "Learner"
    assert model_words(pn.models.ExponentialDiscounting()) == "exponential discounting, A exp(-k D)"
    estimate = pn.fit(played.q_episode(), played.Learner())
    assert "Model: Learner." in estimate.summary()
    assert estimate.to_dict()["model"] == "Learner"


@pytest.mark.parametrize("natural", NATURALS, ids=lambda n: n.name)
def test_a_natural_parameter_is_written_back_where_it_was_read(natural):
    theta, psi = np.array([0.7, -1.3, 2.2]), np.array([0.4, 1.9])
    again = theta.copy(), psi.copy()
    again[0][list(natural.weights)[:1]] = np.nan
    again[1][[natural.index] if natural.is_shape else []] = np.nan
    natural.set_value(natural.value(theta, psi), *again)
    np.testing.assert_allclose(again[0], theta, rtol=1e-12)
    np.testing.assert_allclose(again[1], psi, rtol=1e-12)


@pytest.mark.parametrize("natural", NATURALS, ids=lambda n: n.name)
def test_a_natural_parameter_survives_pickling_and_replacing(natural):
    assert pickle.loads(pickle.dumps(natural)) == natural
    renamed = dataclasses.replace(natural, name="renamed")
    assert type(renamed) is type(natural) and renamed.name == "renamed" and renamed != natural


@pytest.mark.parametrize("natural", [n for n in NATURALS if not n.is_shape], ids=lambda n: n.name)
def test_on_its_plane_a_natural_parameter_has_its_value(natural):
    origin, basis, row, right = natural.plane(np.array([0.3, 0.6]), 3)
    theta = origin + basis @ np.array([0.9, 1.7])
    np.testing.assert_allclose(natural.of_weights(theta), [0.3, 0.6], rtol=1e-12)
    np.testing.assert_allclose((row * theta).sum(axis=1), right, rtol=1e-12, atol=1e-12)


def test_a_transform_is_of_a_known_kind():
    with pytest.raises(pn.errors.DataError, match=r"transform must be one of identity, .*'odds'"):
        Transform("odds")


@pytest.mark.parametrize(
    "transform",
    [
        Transform(),
        Transform("log"),
        Transform("negative log"),
        Transform("logit", -0.5, 2.0),
        Transform("logit", 0.8, 0.0),
        Transform("power", 2.2, -0.5),
        Transform("log3(1 + u)"),
        Transform("1 - u"),
        Transform("-log3 u"),
    ],
    ids=str,
)
def test_a_transform_is_inverted_and_differentiated(transform):
    u = np.array([0.2, 0.7, 1.3, 3.1])
    value = transform.value(u)
    np.testing.assert_allclose(transform.inverse(value), u, rtol=1e-12)
    step = 1e-5
    rise = transform.value(u + step) - transform.value(u - step)
    first, second = transform.derivatives(u)
    np.testing.assert_allclose(first, rise / (2 * step), rtol=1e-7, atol=1e-9)
    bend = transform.first(u + step) - transform.first(u - step)
    np.testing.assert_allclose(second, bend / (2 * step), rtol=1e-6, atol=1e-9)
    slope, bow = transform.inverse_derivatives(value)
    np.testing.assert_allclose(slope, 1 / first, rtol=1e-10)
    np.testing.assert_allclose(bow, -second / first**3, rtol=1e-8, atol=1e-12)


def test_a_ratio_is_one_however_its_weights_are_named():
    for model in (
        pn.models.MeanVariance(),
        pn.models.PVL(4),
        pn.models.Attributes(("a", "b"), "a"),
    ):
        kinds = [(n.is_ratio, n.is_weight, n.is_reciprocal) for n in natural_parameters(model)]
        assert sum(ratio for ratio, _, _ in kinds) == 1
        assert all(sum(kind) <= 1 for kind in kinds)
