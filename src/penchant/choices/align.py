"""Arguments that carry an index of their own, put into one order or refused."""

from typing import Any

from penchant.errors import DataError, listing


def aligned(arguments: dict[str, Any]) -> dict[str, Any]:
    """Put pandas arguments into the order of the first that has an index.

    Their indexes must hold the same labels, each once; equal indexes are taken as they are.
    """
    indexed = [name for name, values in arguments.items() if _has_index(values)]
    if len(indexed) < 2:
        return arguments
    first = arguments[indexed[0]].index
    ordered = {name: _in_order(name, arguments[name], indexed[0], first) for name in indexed[1:]}
    return arguments | ordered


def _has_index(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "reindex")


def _in_order(name: str, values: Any, leader: str, index: Any) -> Any:
    if index.equals(values.index):
        return values
    for who, labels in ((leader, index), (name, values.index)):
        if not labels.is_unique:
            twice = listing(map(repr, labels[labels.duplicated()].unique()))
            raise DataError(
                f"{who} must have an index without repeats to be aligned; got {twice} more than "
                "once. Call .reset_index(drop=True), or pass .to_numpy()."
            )
    odd = index.symmetric_difference(values.index, sort=False)
    if len(odd):
        raise DataError(
            f"{name} must have the same index labels as {leader}; got {listing(map(repr, odd))} in "
            "only one of them. Select the same decisions in both, or pass .to_numpy()."
        )
    return values.reindex(index)
