"""Example data that come with the library: what they are, and what each column is for."""

from dataclasses import dataclass
from importlib.resources import files

import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant.errors import DataError, closest_match_hint

__all__ = ["Dataset", "dataset", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """Example data and the roles of their columns, as `Choices.from_frame` takes them.

    Where `offers` is given, a row is a whole decision, as `offers_from_frame` takes it.

    Attributes
    ----------
    name
        What `load` calls it.
    description, source, licence
        What the data are, where they come from, and on what terms.
    decision, option, chosen, explanatory, subject
        The columns that play these parts; subject is None where every decision is another's.
    reference
        Option without a constant of its own, where the model has constants of options.
    interactions
        Attributes with the options that they act on: (attribute, options).
    offers
        For each attribute the columns of the options: (attribute, columns).
    """

    name: str
    description: str
    source: str
    licence: str
    decision: str
    option: str
    chosen: str
    explanatory: tuple[str, ...]
    subject: str | None = None
    reference: str | None = None
    interactions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    offers: tuple[tuple[str, tuple[str, ...]], ...] = ()


_DELAYS = Dataset(
    name="delays",
    description=(
        "A simulation: 20 subjects choose 60 times between less money sooner and more later; "
        "amounts are dollars, delays days; chosen is 1 for later, empty where time ran out. Four "
        "subjects (s04, s12, s17, and s09, who always waits) never contradict themselves, so that "
        "no temperature is most likely; s15 never waits, which no finite rate explains best; s18 "
        "runs out of time now and then; s20 hardly minds."
    ),
    source="Simulated for this library.",
    licence="BSD-3-Clause",
    decision="decision",
    option="",
    chosen="chosen",
    explanatory=(),
    subject="subject",
    offers=(
        ("amount", ("amount_sooner", "amount_later")),
        ("delay", ("delay_sooner", "delay_later")),
    ),
)

_TRAVEL_MODE = Dataset(
    name="travel-mode",
    description=(
        "How 210 travellers went from Sydney to Melbourne or Canberra: by air, train, bus or car. "
        "wait: minutes in the terminal (0 for a car); vehicle_cost: dollars; travel_time: minutes "
        "in the vehicle; generalised_cost: dollars, with a price put on the time; income: of the "
        "household, in thousand dollars; party_size: people who travel together."
    ),
    source=(
        "W. H. Greene and D. Hensher (1997), in LIMDEP version 7.0 User's Manual Revised; "
        "table F18-2 of Greene, Econometric Analysis, 7th edition; as in statsmodels."
    ),
    licence="public domain",
    decision="traveller",
    option="mode",
    chosen="chosen",
    explanatory=("generalised_cost", "wait"),
    reference="car",
    interactions=(("income", ("air",)),),
)

_MENU = Dataset(
    name="menu",
    description=(
        "A simulation: 20 subjects choose 40 times among three options that differ in price and "
        "quality. Three subjects (s05, s11, s17) always take the option that is best for them, so "
        "that no finite weights are most likely; s14 sees equal prices, which tell nothing of "
        "their weight; for s08 quality follows price so closely that their weights are hardly "
        "identifiable."
    ),
    source="Simulated for this library.",
    licence="BSD-3-Clause",
    decision="decision",
    option="option",
    chosen="chosen",
    explanatory=("price", "quality"),
    subject="subject",
)

_DATASETS = {known.name: known for known in (_DELAYS, _MENU, _TRAVEL_MODE)}


def names() -> tuple[str, ...]:
    """Return the names of the example data.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.datasets.names()
    ('delays', 'menu', 'travel-mode')
    """
    return tuple(_DATASETS)


def dataset(name: str) -> Dataset:
    """Return the description of example data and the roles of their columns.

    Parameters
    ----------
    name
        One of `names()`.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.datasets.dataset("menu").explanatory
    ('price', 'quality')
    """
    found = _DATASETS.get(str(name).replace("_", "-"))  # names of files have underscores
    if found is None:
        known = ", ".join(names())
        raise DataError(
            "name",
            f"must be one of {known}",
            got=repr(name),
            fix=closest_match_hint(str(name), names()) or "Choose one of them.",
        )
    return found


def load(name: str) -> pa.Table:
    """Return example data as an Arrow table: one row per option of a decision, or per decision.

    `.to_pandas()` makes it a pandas data frame.

    Parameters
    ----------
    name
        One of `names()`.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.datasets.load("travel-mode").num_rows
    840
    """
    file = files("penchant.datasets") / f"{dataset(name).name.replace('-', '_')}.csv"
    with file.open("rb") as stream:
        return pa_csv.read_csv(stream)
