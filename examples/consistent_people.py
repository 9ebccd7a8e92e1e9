"""People who are too consistent for maximum likelihood, and what to do about it.

Twenty subjects chose 40 times among three options. Three of them always took the best option for
them: no finite weights are most likely. Run it with `python examples/consistent_people.py`.
"""

import penchant as pn
from penchant import datasets

people = pn.Choices.from_frame(
    datasets.load("menu"),
    decision="decision",
    option="option",
    chosen="chosen",
    explanatory=["price", "quality"],
    subject="subject",
)

estimates = pn.fit_each(people)
print(estimates)
consistent = estimates.of("s05")
print(consistent)
print("Profile intervals (price, quality):", consistent.interval(kind="profile").round(2).tolist())
print()

# A weak prior gives everybody finite weights, fit to predict with.
weak = pn.fit_each(people, parameter_prior=pn.ScaledPrior())
print(weak)
for name, mean in zip(weak.names, weak.theta.mean(axis=0), strict=True):
    print(f"mean weight of {name}: {mean:.2f}")
