"""A fit is understood from few files, and the page that walks through them leads to their lines."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _script():
    spec = importlib.util.spec_from_file_location("way", DOCS / "way.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WAY = _script()
FITS = WAY.fits()
CHOICES, MODEL = FITS
PAGE = WAY.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def needed():
    return {words: WAY.files(call) for words, call in FITS.items()}


@pytest.mark.parametrize(("words", "most"), [(CHOICES, 15), (MODEL, 25)])
def test_a_fit_is_understood_from_few_files(needed, words, most):
    assert len(needed[words]) <= most, needed[words]


def test_compiled_functions_are_counted(needed):
    assert {"inference/fit.py", "softmax/newton.py", "softmax/_kernels.py"} <= {*needed[CHOICES]}
    compiled = {"softmax/_kernels.py", "models/learning/_kernels.py"}
    assert compiled | {"models/learning/q_learning.py"} <= {*needed[MODEL]}


def test_the_page_says_how_many_files_there_are(needed):
    first, second = len(needed[CHOICES]), len(needed[MODEL])
    assert f"leads through {first} files, the second through {second};" in " ".join(PAGE.split())


def test_the_page_names_the_fits_that_are_counted():
    assert all(f"`{words}`" in PAGE for words in FITS)


@pytest.mark.parametrize("link", WAY.LINK.findall(PAGE), ids=lambda link: f"{link[1]}-{link[0]}")
def test_a_link_leads_to_the_line_where_its_function_is_defined(link):
    name, file, line = link
    assert WAY.line_of(name, file) == int(line)


def test_every_link_into_the_source_is_one_that_is_checked():
    assert PAGE.count("../src/") == len(WAY.LINK.findall(PAGE)) >= 20


def test_a_link_that_lies_is_written_anew():
    link = "[`maximise`](../src/penchant/softmax/newton.py#L{})"
    line = WAY.line_of("maximise", "softmax/newton.py")
    assert WAY.linked(link.format(1)) == link.format(line) != link.format(1)
