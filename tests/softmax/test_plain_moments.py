"""The generated code and its plain twin, which takes its place where it cannot be made."""

import numpy as np
import pytest

from made import case
from penchant.softmax import _moment_codegen
from penchant.softmax.likelihood import likelihood_of

CASES = [
    {"sizes": (2, 2)},
    {"sizes": (2, 2), "weighted": True},
    {"sizes": (1, 7), "with_offset": True},
    {"sizes": (1, 11), "weighted": True, "with_offset": True},
]


def _broken(*arguments):
    raise AttributeError("no such instruction")


def _evaluated(choices, theta):
    likelihood = likelihood_of(choices, 1)
    return likelihood.moments(theta), likelihood.largest_values_and_differences


@pytest.mark.parametrize("size", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("d", [1, 3, 7])
@pytest.mark.parametrize("kind", CASES, ids=str)
def test_plain_loops_give_the_sums_of_the_generated_code(monkeypatch, kind, d, size):
    theta = np.linspace(-0.6, 0.9, d)
    choices = case(theta=theta, **kind).choices
    one, largest = _evaluated(choices, size * theta)
    monkeypatch.setattr(_moment_codegen, "GENERATES_CODE", False)
    monkeypatch.setattr(_moment_codegen, "_moment_kernels", {})
    other, same = _evaluated(choices, size * theta)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(other.information, one.information, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(same, largest)


def test_plain_loops_take_the_place_of_code_that_cannot_be_generated(monkeypatch, capsys):
    choices, theta = case().choices, np.array([0.7, -1.1, 0.4])
    expected, _ = _evaluated(choices, theta)
    monkeypatch.setattr(_moment_codegen, "GENERATES_CODE", True)
    monkeypatch.setattr(_moment_codegen, "_make_block_moments", _broken)
    monkeypatch.setattr(_moment_codegen, "_moment_kernels", {})
    found, _ = _evaluated(choices, theta)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-13)
    assert "could not be generated (AttributeError)" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["0.1.0", "99.0.1"])
def test_code_is_not_generated_for_versions_that_are_not_known(monkeypatch, version):
    monkeypatch.delenv("PENCHANT_KERNELS", raising=False)
    monkeypatch.setattr(_moment_codegen.numba, "__version__", version)
    assert not _moment_codegen.uses_generated_kernels()
    monkeypatch.setenv("PENCHANT_KERNELS", "generated")
    assert _moment_codegen.uses_generated_kernels()


def test_the_environment_forces_plain_loops(monkeypatch):
    monkeypatch.setenv("PENCHANT_KERNELS", "plain")
    assert not _moment_codegen.uses_generated_kernels()
