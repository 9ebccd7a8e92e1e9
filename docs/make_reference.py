"""Remove `docs/reference`: the reference is made by Sphinx now, from the pages of `docs/api`.

    python docs/make_reference.py && git add -A docs
"""

import shutil
from pathlib import Path

shutil.rmtree(Path(__file__).parent / "reference", ignore_errors=True)
print("The reference is on the site: python docs/build_site.py. Name new public names in docs/api.")
