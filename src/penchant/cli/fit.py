"""`penchant fit`."""

from __future__ import annotations

from penchant.cli.options import Agent, Data, History, Model, Show, Terms


def fit(
    file: str | None = None,
    /,
    *,
    data: Data = Data(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    terms: Terms = Terms(),  # noqa: B008
    model: Model = Model(),  # noqa: B008
    show: Show = Show(),  # noqa: B008
    agent: Agent = Agent(),  # noqa: B008
    history: History = History(),  # noqa: B008
) -> int:
    """Estimate the weights of a softmax model from choices, or a model from a history of play.

    Exit code 0: done; 1: no valid estimate, or none could be written; 2: wrong usage or data.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per option of each decision (else --wide, or --model); - for
        stdin.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    if agent.model is not None:
        from penchant.cli.playing import run_fit_play

        return run_fit_play(file, data, terms, model, show, agent, history)
    from penchant.cli.running import run_fit

    return run_fit(file, data, terms, model, show, agent, history)
