"""What one would do instead where sets are pairs: dask-ml's logistic regression on differences.

python benchmarks/scale_instead.py FOLDER, with a Python that has dask-ml, pandas and pyarrow; that
need not be the one that has penchant. `scale.py --options 2 --instead PYTHON` calls it.

Prints JSON: the estimate, seconds, the largest memory, and the versions.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def differences(frame: Any, names: list[str]) -> Any:
    """The second option relative to the first, and whether it was chosen: a row per decision."""
    first, second = frame.iloc[0::2], frame.iloc[1::2]
    found = second[names].reset_index(drop=True) - first[names].reset_index(drop=True)
    return found.assign(chosen=second["chosen"].to_numpy().astype("int64"))


def main() -> None:
    import dask
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    files = sorted(folder.glob("*.parquet"))
    names = [name for name in pq.read_schema(files[0]).names if name.startswith("x")]
    begin, busy = time.perf_counter(), time.process_time()
    with dask.config.set(scheduler="synchronous"):
        rows = dd.read_parquet([str(file) for file in files], columns=["chosen", *names])
        pairs = rows.map_partitions(differences, names)
        x = pairs[names].to_dask_array(lengths=True)
        y = pairs["chosen"].to_dask_array(lengths=tuple(x.chunks[0]))
        model = LogisticRegression(solver="newton", fit_intercept=False, C=1e12, tol=1e-8)
        model.fit(x, y)
    lines = Path("/proc/self/status").read_text().splitlines()
    print(
        json.dumps(
            {
                "theta": dict(zip(names, model.coef_.tolist(), strict=True)),
                "elapsed": time.perf_counter() - begin,
                "processor": time.process_time() - busy,
                "peak": next(int(s.split()[1]) * 1024 for s in lines if s.startswith("VmHWM")),
                "versions": f"dask-ml {version('dask-ml')}, dask {version('dask')}",
            }
        )
    )


if __name__ == "__main__":
    main()
