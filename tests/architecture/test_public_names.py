"""What users may use."""

import inspect

import pytest

import penchant as pn

SOFTMAX = {
    "Choices",
    "Constraints",
    "DataError",
    "Estimate",
    "Estimates",
    "GaussianPrior",
    "NotConvergedError",
    "NotIdentifiedError",
    "ScaledPrior",
    "SeparationError",
    "fit",
    "fit_each",
    "simulate",
}
OF_AN_ESTIMATE = [
    "status",
    "message",
    "names",
    "theta",
    "covariance",
    "standard_errors",
    "log_likelihood",
    "interval",
    "parameters",
    "diagnostics",
    "summary",
    "to_frame",
    "to_dict",
    "to_latex",
    "predict",
]


def test_public_names_are_sorted_and_importable():
    assert list(pn.__all__) == sorted(set(pn.__all__))
    for name in pn.__all__:
        assert getattr(pn, name) is not None
    assert set(pn.__all__) <= set(dir(pn))


def test_the_names_that_others_build_on_exist():
    assert set(pn.__all__) >= SOFTMAX


@pytest.mark.parametrize("name", OF_AN_ESTIMATE)
def test_an_estimate_has_what_was_promised(name):
    assert name in pn.Estimate.__dataclass_fields__ or hasattr(pn.Estimate, name)


def test_arguments_have_their_names():
    arrays = inspect.signature(pn.Choices.from_arrays).parameters
    assert list(arrays)[:2] == ["explanatory", "chosen"]
    assert {"available", "weights", "offset", "subject", "names"} <= set(arrays)
    frame = inspect.signature(pn.Choices.from_frame).parameters
    assert {"decision", "option", "chosen", "explanatory", "weight", "subject"} <= set(frame)
    assert {"parameter_prior", "method"} <= set(inspect.signature(pn.fit).parameters)
    assert list(inspect.signature(pn.Estimate.interval).parameters)[1:3] == ["level", "kind"]


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'train'"):
        pn.train  # noqa: B018  # the attribute is asked for to see it refused
