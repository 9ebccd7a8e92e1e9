"""A machine that learns what its operator is after, one choice at a time.

An operator tries ten by ten places for what they pay. After every choice the machine estimates what
the operator expected beforehand and how noisy their choices are, and says where it would look for
them next. Run it with `python examples/learn_an_operator.py`.
"""

import numpy as np

import penchant as pn

model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
truth = {"decision_noise": 3.0, "prior_mean": 60.0, "prior_variance": 1000.0}
operator = pn.simulate(
    pn.paper.landscape_a(), model, truth, n_decisions=60, rng=np.random.default_rng(3)
)

# A very weak prior: finite estimates from the first choices on. c = 1, the default, would make
# somebody who chooses as surely as this one look twice as noisy.
machine = pn.live(model, parameter_prior=pn.ScaledPrior(c=0.01))
print("choices     status  noise  expected  prior variance  it was  thought likely")
for t, (chosen, reward) in enumerate(zip(operator.chosen, operator.rewards, strict=True)):
    if t > 0 and t % 10 == 0:
        estimate = machine.estimate()
        noise, mean, variance = (p.estimate for p in estimate.parameters)
        ahead = machine.episode.extended(chosen, None)  # row t uses what was before it only
        p = estimate.predict(ahead)[-1]
        likely = ", ".join(f"{place} ({p[place]:.0%})" for place in np.argsort(-p)[:3])
        known = f"{noise:6.2f} {mean:9.1f} {variance:15.0f}"
        print(f"{t:7d} {estimate.status:>10s} {known} {chosen:7d}  {likely}")
    machine.observe(chosen, reward)
print("   true            " + " ".join(f"{value:g}" for value in truth.values()))
