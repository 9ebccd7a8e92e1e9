"""Make the tables of `penchant.datasets` anew: `python tests/datasets/make.py`.

`travel_mode.csv` is taken from statsmodels, with words for numbers. `menu.csv` is a simulation:
twenty subjects choose forty times among three options, by a softmax over price and quality. Only
uniform numbers of PCG64 are used, whose stream does not change between versions of NumPy.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from penchant.io.output import write_table

SEED = 20210
N_SUBJECTS, N_DECISIONS, N_OPTIONS = 20, 40, 3
CONSISTENT = (5, 11, 17)  # always take the best: separated
EQUAL_PRICES = 14  # sees one price per menu: not identified
QUALITY_FOLLOWS_PRICE = 8  # quality is twice the price but for a trifle: weakly identified

MODES = {1: "air", 2: "train", 3: "bus", 4: "car"}
TRAVEL_NAMES = {
    "individual": "traveller",
    "mode": "mode",
    "choice": "chosen",
    "ttme": "wait",
    "invc": "vehicle_cost",
    "invt": "travel_time",
    "gc": "generalised_cost",
    "hinc": "income",
    "psize": "party_size",
}


def travel_mode():
    from statsmodels.datasets import modechoice

    data = modechoice.load_pandas().data
    columns = {name: data[old].astype(int).tolist() for old, name in TRAVEL_NAMES.items()}
    columns["mode"] = [MODES[mode] for mode in columns["mode"]]
    return pa.table(columns)


def menu():
    rng = np.random.Generator(np.random.PCG64(SEED))
    subjects = [_subject(number, rng) for number in range(1, N_SUBJECTS + 1)]
    n_menus = N_SUBJECTS * N_DECISIONS
    return pa.table(
        {
            "subject": np.repeat(
                [f"s{number:02d}" for number in range(1, N_SUBJECTS + 1)], N_DECISIONS * N_OPTIONS
            ).tolist(),
            "decision": np.repeat(np.arange(1, n_menus + 1), N_OPTIONS),
            "option": ["left", "middle", "right"] * n_menus,
            "chosen": np.concatenate([chosen for _, _, chosen in subjects]),
            "price": np.concatenate([price for price, _, _ in subjects]),
            "quality": np.concatenate([quality for _, quality, _ in subjects]),
        }
    )


def _subject(number, rng):
    shape = (N_DECISIONS, N_OPTIONS)
    theta = np.array([-0.6 - 0.8 * rng.random(), 0.4 + 0.6 * rng.random()])
    price = np.round(2 + 6 * rng.random(shape), 1)
    quality = np.round(1 + 9 * rng.random(shape), 1)
    if number == EQUAL_PRICES:
        price = np.repeat(price[:, :1], N_OPTIONS, axis=1)
    if number == QUALITY_FOLLOWS_PRICE:
        quality = np.round(2 * price + 2e-5 * np.floor(quality), 5)
    noise = -np.log(-np.log(rng.random(shape)))
    if number in CONSISTENT:
        noise = np.zeros(shape)
    best = np.argmax(theta[0] * price + theta[1] * quality + noise, axis=1)
    chosen = (np.arange(N_OPTIONS) == best[:, None]).astype(np.int64)
    return price.ravel(), quality.ravel(), chosen.ravel()


TABLES = {"travel_mode": travel_mode, "menu": menu}

if __name__ == "__main__":
    folder = Path(__file__).parents[2] / "src" / "penchant" / "datasets"
    for name, table in TABLES.items():
        write_table(folder / f"{name}.csv", table(), overwrite=True)
