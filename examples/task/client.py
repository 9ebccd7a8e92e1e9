"""Watch an operator from an interface of one's own: send choices and rewards, ask what is known."""

import json
import os
import urllib.request

SERVER, TOKEN = os.environ["PENCHANT_SERVER"], os.environ["PENCHANT_TOKEN"]


def ask(path, body=None):
    """Send a request to the server, and return its reply."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{SERVER}/api/v1/{path}", data)
    request.add_header("content-type", "application/json")
    request.add_header("authorization", f"Bearer {TOKEN}")
    with urllib.request.urlopen(request, timeout=90) as reply:
        return json.load(reply)


model = {"model": "ucl", "settings": {"grid": "10x10", "noise_variance": 10, "length_scale": 4}}
observer = ask("observers", model)["observer"]
for number, (chosen, reward) in enumerate([(12, 31.0), (47, 52.0), (48, 57.0), (58, 49.0)]):
    body = {"number": number, "chosen": chosen, "reward": reward}
    ask(f"observers/{observer}/observations", body)
print(ask(f"observers/{observer}/estimate")["status"])
print(ask(f"observers/{observer}/prediction")["probabilities"])  # null: nothing is known yet
