"""Settings of a model as they are typed: --settings dual_rates,forgetting=free,choice_rate=0.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penchant.bandit.kernels import EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52
from penchant.errors import DataError, nearest
from penchant.models.catalogue import REQUIRED, Entry, Setting

KERNELS = {kernel.name: kernel for kernel in (EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52)}
WORDS = {"free": None, "true": True, "false": False}


def settings(words: list[str], entry: Entry) -> dict[str, Any]:
    """What --settings says, by name."""
    known = {setting.name: setting for setting in entry.settings}
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        name = name.replace("-", "_")
        if name not in known:
            named = f"name {', '.join(known)}" if known else "be left out"
            raise DataError(
                f"--settings must {named} with --model {entry.name}; got {word!r}."
                f"{nearest(name, known) or f' See penchant models {entry.name}.'}"
            )
        refuse_twice(name, found)
        found[name] = _value(known[name], value if equals else "true", word)
    return found


def made(entry: Entry, given: Mapping[str, Any], words: list[str]) -> Any:
    """The model with all its settings, of which the words were typed."""
    missing = [s.name for s in entry.settings if s.default is REQUIRED and s.name not in given]
    if missing:
        raise DataError(
            f"--settings must give {', '.join(missing)} with --model {entry.name}; got none. "
            f"Write --settings {missing[0]}=VALUE; see penchant models {entry.name}."
        )
    try:
        return entry.model(**given)
    except TypeError:  # a word where there should be a number
        raise DataError(
            f"--settings must be of the kind that --model {entry.name} takes; "
            f"got {','.join(words)}. See penchant models {entry.name}."
        ) from None


def _value(setting: Setting, words: str, word: str) -> Any:
    """A value as it is typed: a number, several as 1/2/3, free, true, false, or a word."""
    if setting.name == "kernel":
        if words not in KERNELS:
            raise DataError(
                f"kernel in --settings must be one of {', '.join(KERNELS)}; got {words!r}. "
                "Choose one."
            )
        return KERNELS[words]
    value = WORDS[words] if words in WORDS else _numbers_or_words(words)
    if isinstance(setting.default, bool) != isinstance(value, bool):
        rule = "be a flag" if isinstance(setting.default, bool) else "have a value"
        write = setting.name if isinstance(setting.default, bool) else f"{setting.name}=VALUE"
        raise DataError(f"{setting.name} in --settings must {rule}; got {word!r}. Write {write}.")
    if isinstance(setting.default, tuple) and not isinstance(value, tuple):
        return (value,)
    return value


def _numbers_or_words(words: str) -> Any:
    parts = tuple(_number_or_word(part) for part in words.split("/"))
    return parts if len(parts) > 1 else parts[0]


def _number_or_word(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def refuse_twice(name: str, given: Mapping[str, Any]) -> None:
    """Refuse a setting that is there already."""
    if name in given:
        raise DataError(f"{name} must be given once; got it twice. Drop one.")
