"""What functions return, by name, for annotations; and what is rarely called on results.

Nobody makes these objects by hand: `fit_each` returns `Estimates`, `recover` a `Recovery`.
"""

from typing import TYPE_CHECKING

from penchant._lazy import lazily

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazily(__name__)
