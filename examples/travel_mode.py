"""What travellers pay for an hour less in the terminal.

A conditional logit of 210 travellers' choices among air, train, bus and car: fit, read, test,
predict. Run it with `python examples/travel_mode.py`.
"""

import penchant as pn
from penchant import datasets

trips = datasets.load("travel-mode")
choices = (
    pn.Choices.from_frame(
        trips,
        decision="traveller",
        option="mode",
        chosen="chosen",
        explanatory=["generalised_cost", "wait", "income"],
    )
    .with_interaction("income", options=["air"])
    .with_constants("car")
)

estimate = pn.fit(choices)
print(estimate)
print()

# A minute of waiting costs as much as wait / generalised_cost dollars.
minute = estimate.ratio("wait", "generalised_cost")
print(
    f"An hour in the terminal costs {60 * minute.estimate:.0f} dollars "
    f"(95 % Fieller interval {60 * minute.low:.0f} to {60 * minute.high:.0f})."
)
print("Does income matter for flying?", estimate.likelihood_ratio_test(["income:air"]))

# How many would fly if waiting at the airport were halved?
names = choices.names
faster = choices.explanatory.copy().reshape(choices.n_decisions, 4, len(names))
air = choices.option_labels.index("air")
before = estimate.predict(faster)[:, air].mean()
faster[:, air, names.index("wait")] /= 2
after = estimate.predict(faster)[:, air].mean()
print(f"Share of air: {before:.1%} now, {after:.1%} with half the wait.")
