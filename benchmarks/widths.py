"""One evaluation against its limit where vectors are narrower than the processor's.

    python benchmarks/widths.py [--markdown benchmarks/WIDTHS.md]

Numba compiles for the processor that NUMBA_CPU_NAME names, with the features of that processor
where NUMBA_CPU_FEATURES is empty. A wider one than the machine's cannot be run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from llvmlite import binding
from machine import about, load

PROCESSORS = {2: "x86-64", 4: "haswell", 8: "icelake-server"}  # by numbers in a vector
NEEDED = {2: "sse2", 4: "avx2", 8: "avx512f"}
HERE = Path(__file__).parent


def rows(processor: str, repeats: int) -> list[dict]:
    """The section `limit` of the benchmarks, compiled for a processor."""
    with tempfile.TemporaryDirectory() as cache:
        file = Path(cache) / "rows.json"
        features = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
        command = ["run.py", "--only", "limit", "--repeats", str(repeats), "--json", str(file)]
        subprocess.run(
            [sys.executable, str(HERE / command[0]), *command[1:]],
            env={**os.environ, **features, "NUMBA_CACHE_DIR": cache},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return json.loads(file.read_text())["rows"]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    asked = parser.parse_args()
    facts = about("")
    facts["command"] = f"python benchmarks/widths.py --repeats {asked.repeats}"
    host = binding.get_host_cpu_features()
    lines = ["| numbers in a vector | compiled for | S | W | M | L |", "|---|---|---|---|---|---|"]
    for width, processor in PROCESSORS.items():
        if not host.get(NEEDED[width]):
            lines.append(
                f"| {width} | {processor} | not run: this machine has no {NEEDED[width]} |"
            )
            continue
        found = {r["section"][-1]: r["ratio"] for r in rows(processor, asked.repeats) if r["ratio"]}
        ratios = " | ".join(f"{found[name]:.2f}" for name in "SWML")
        lines.append(f"| {width} | {processor} | {ratios} |")
    facts["load after"] = load()
    text = f"""# Other processors

Made by `python benchmarks/widths.py --markdown benchmarks/WIDTHS.md`.

Processor time of one log-likelihood with gradient and Hessian over its limit (see `limit` in
[README.md](README.md)), both compiled for the processor named. Asked: at most 3 on M and L. Only
x86-64 was run; arm64 was not.

{chr(10).join(f"- {key}: {value}" for key, value in facts.items())}

{chr(10).join(lines)}
"""
    print(text)
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
