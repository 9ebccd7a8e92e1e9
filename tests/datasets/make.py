"""Make the tables of `penchant.datasets` anew: `python tests/datasets/make.py`.

`travel_mode.csv` is taken from statsmodels, with words for numbers. `menu.csv` is a simulation:
twenty subjects choose forty times among three options, by a softmax over price and quality.
`delays.csv` is a simulation too: twenty subjects choose sixty times between less money sooner and
more later, by hyperbolic discounting. Only uniform numbers of PCG64 are used, whose stream does not
change between versions of NumPy.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from penchant.files.output import write_table

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


N_QUESTIONS = 60
WAITS = (2, 7, 14, 30, 60, 120, 240)  # days
NEVER_CONTRADICTS = (4, 12)  # takes what is worth more, always: separated
ALWAYS_LATER, ALWAYS_SOONER = 9, 15
SLOW = 18  # runs out of time now and then
FAINT = 20  # hardly minds: close to guessing


def delays():
    rng = np.random.Generator(np.random.PCG64(SEED + 1))
    people = [_patience(number, rng) for number in range(1, N_SUBJECTS + 1)]
    columns = {name: np.concatenate([p[name] for p in people]) for name in people[0]}
    names = [f"s{number:02d}" for number in range(1, N_SUBJECTS + 1)]
    chosen = pa.array(columns.pop("chosen"), mask=columns.pop("missed"))
    return pa.table(
        {
            "subject": np.repeat(names, N_QUESTIONS).tolist(),
            "decision": np.tile(np.arange(1, N_QUESTIONS + 1), N_SUBJECTS),
            **columns,
            "chosen": chosen,
        }
    )


def _patience(number, rng):
    rate = 0.002 * 60 ** rng.random()  # per day, 0.002 to 0.12
    temperature = 1.5 + 3.5 * rng.random()
    later = np.floor(30 + 60 * rng.random(N_QUESTIONS))
    sooner = np.floor(later * (0.15 + 0.8 * rng.random(N_QUESTIONS)))
    wait = np.array(WAITS)[(len(WAITS) * rng.random(N_QUESTIONS)).astype(int)]
    lead = np.where(rng.random(N_QUESTIONS) < 0.2, 7, 0)  # some of the sooner are not now
    uniform = rng.random(N_QUESTIONS)
    slow = rng.random(N_QUESTIONS) < 0.1
    if number == FAINT:
        temperature = 60.0
    if number in NEVER_CONTRADICTS:
        temperature = 0.0
    gain = later / (1 + rate * (lead + wait)) - sooner / (1 + rate * lead)
    chosen = (gain + temperature * np.log(uniform / (1 - uniform)) > 0).astype(np.int64)
    if number in (ALWAYS_LATER, ALWAYS_SOONER):
        chosen[:] = number == ALWAYS_LATER
    return {
        "amount_sooner": sooner.astype(np.int64),
        "delay_sooner": lead,
        "amount_later": later.astype(np.int64),
        "delay_later": lead + wait,
        "chosen": chosen,
        "missed": slow & (number == SLOW),
    }


TABLES = {"travel_mode": travel_mode, "menu": menu, "delays": delays}

if __name__ == "__main__":
    folder = Path(__file__).parents[2] / "src" / "penchant" / "datasets"
    for name, table in TABLES.items():
        write_table(folder / f"{name}.csv", table(), overwrite=True)
