"""The border: what is refused, who sees what, and what never leaves the server."""

import json
import logging
import re

import pytest

pytest.importorskip("starlette", reason="penchant[task] is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from sqlalchemy import select

from penchant.task.routes import PREFIX
from penchant.task.server import load_assets
from penchant.task.session_store import sessions
from task.conftest import PLAIN, TIMED, WHOLE, come

BODY = {"block": 0, "decision": 0, "option": 3}
JSON = {"content-type": "application/json"}


def begun(client, who="anna"):
    """A session at its first decision; gives headers with its token."""
    reply = client.post(f"{PREFIX}/sessions", json={"id": who})
    assert reply.status_code == 201, reply.text
    headers = {"authorization": f"Bearer {reply.json()['token']}"}
    if reply.json()["state"]["stage"] == "ready":
        client.post(f"{PREFIX}/session/begin", json={"block": 0, "decision": 0}, headers=headers)
    return headers


def send(client, headers, body, path="decisions"):
    content = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return client.post(f"{PREFIX}/session/{path}", content=content, headers={**headers, **JSON})


@pytest.mark.parametrize(
    "option",
    [
        *("-1", "15", "1.5", '"3"', "null", "true", "NaN", "1e400", "[1]", "9223372036854775808"),
        *("-0.5", "{}", '""', "Infinity", "1e2", "false", "9" * 400),
    ],
)
def test_an_option_that_is_none_is_refused_by_name(client, option):  # S30
    one = client()
    headers = begun(one)
    reply = send(one, headers, f'{{"block": 0, "decision": 0, "option": {option}}}')
    assert reply.status_code == 422
    assert reply.json()["error"]["field"] == "option"
    assert send(one, headers, BODY).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"block": 0, "decision": 0}', "option"),
        ('{"decision": 0, "option": 1}', "block"),
        ('{"block": 0, "decision": 0, "option": 1, "option": 1}', "option"),
        ('{"block": 0, "decision": 0, "option": 1} x', "body"),
        ('{"block": 0, "decision": 0, "option": 1}{}', "body"),
        ("[1]", "body"),
        ("3", "body"),
        ('{"block": 0, "decision": 0, "option": 1, "client": {"onset_ms": NaN}}', "onset_ms"),
        ('{"block": 0, "decision": 0, "option": 1, "client": {"marks": [[1]]}}', "marks"),
        ('{"block": 0, "decision": 0, "option": 1, "client": {"input": "<b>"}}', "input"),
        ('{"block": 0, "decision": 0, "option": 1, "unmarked": true}', "option"),
        ('{"block": 0, "decision": 0, "option": 1, "tab": "1"}', "tab"),
    ],
)
def test_a_body_that_is_not_exactly_right_is_refused_by_field(client, body, field):  # S30
    one = client()
    reply = send(one, begun(one), body)
    assert (reply.status_code, reply.json()["error"]["field"]) == (422, field)


@pytest.mark.parametrize("field", ["reward", "total", "condition", "cell", "received", "auto"])
def test_the_client_cannot_send_what_the_server_says(client, field):  # S40
    one = client()
    headers = begun(one)
    reply = send(one, headers, {**BODY, field: 99})
    assert (reply.status_code, reply.json()["error"]["field"]) == (422, field)
    assert one.get(f"{PREFIX}/session", headers=headers).json()["history"] == []


def test_other_kinds_of_content_are_refused(client):  # S31
    one = client()
    headers = begun(one)
    post = f"{PREFIX}/session/decisions"
    assert one.post(post, data=BODY, headers=headers).status_code == 415
    text = {**headers, "content-type": "text/plain"}
    assert one.post(post, content=json.dumps(BODY), headers=text).status_code == 415
    zipped = {**headers, **JSON, "content-encoding": "gzip"}
    assert one.post(post, content=json.dumps(BODY), headers=zipped).status_code == 415
    for broken in ("", "{", '{"a": }', b"\xff\xfe", "[" * 5000):
        assert send(one, headers, broken).status_code == 400


def test_what_is_too_long_is_refused(client):  # S32
    one = client()
    headers = begun(one)
    assert send(one, headers, {**BODY, "x": "y" * 17_000}).status_code == 413

    assert one.get("/?" + "a" * 5000).status_code == 414
    assert one.get("/", headers={"x-long": "a" * 20_000}).status_code == 431


def test_a_body_without_an_end_is_refused_before_it_ends(client):  # S32
    import asyncio

    one = client()
    raw = [(b"content-type", b"application/json"), (b"authorization", b"Bearer " + b"x" * 30)]
    path = f"{PREFIX}/session/decisions"
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "headers": raw, "http_version": "1.1", "scheme": "http"}
    scope |= {"server": ("testserver", 80), "client": ("test", 1), "root_path": ""}
    chunks, sent = [], []

    async def receive():
        chunks.append(1)
        assert len(chunks) < 100
        return {"type": "http.request", "body": b" " * 4096, "more_body": True}

    async def send_back(message):
        sent.append(message)

    asyncio.run(one.app(scope, receive, send_back))
    assert sent[0]["status"] == 413 and len(chunks) == 5


@pytest.mark.parametrize("who", ["", "a" * 65, "a b", "ä", "a.b", "../x", "<b>", 7, None, ["a"]])
def test_ids_are_letters_digits_and_two_signs(client, who):  # S33
    reply = client().post(f"{PREFIX}/sessions", json={"id": who})
    assert (reply.status_code, reply.json()["error"]["field"]) == (422, "id")


def test_tokens_are_long_and_only_their_hash_is_kept(client, serving, file):  # S41
    service = serving(file)
    one = client(service=service)
    token = one.post(f"{PREFIX}/sessions", json={}).json()["token"]
    assert len(token) >= 22  # 128 bits of six each
    with service.store.read_connection() as connection:
        kept = connection.scalar(select(sessions.c.token))
    assert re.fullmatch("[0-9a-f]{64}", kept) and token not in kept


def api_routes(client):
    """Every route but the pages, as (method, path)."""
    for route in client.app.app.routes:
        for method in sorted(route.methods - {"HEAD"}):
            yield method, route.path


def test_no_route_tells_anything_without_its_token(client):  # S42, S44
    one = client()
    begun(one, "somebody")
    open_to_all = {"/", "/health", f"{PREFIX}/study", f"{PREFIX}/sessions", "/assets/{path:path}"}
    tried = 0
    for method, path in api_routes(one):
        if path in open_to_all or path.startswith("/researcher/log"):
            continue
        tried += 1
        real = path.replace("{session:int}", "1").replace("{observer}", "o" * 24)
        for token in (None, "x" * 32):
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            reply = one.request(
                method, real, headers=headers, json={} if method == "POST" else None
            )
            allowed = (401, 403, 429) if token is None else (401, 403, 429, 422)
            assert reply.status_code in allowed, (method, path, reply.status_code)
            assert "somebody" not in reply.text and "history" not in reply.text
    assert tried >= 15


def test_a_token_opens_its_own_session_alone(client):  # S42
    one = client()
    anna, bob = begun(one, "anna"), begun(one, "bob")
    send(one, anna, BODY)
    assert one.get(f"{PREFIX}/session", headers=bob).json()["history"] == []
    for path in ("/researcher/overview", "/researcher/people/1", "/researcher/export/choices.csv"):
        assert one.get(path, headers=anna).status_code in (403, 429)


def test_no_mean_that_was_not_drawn_appears_in_any_traffic(client):  # S43
    means = [311.5 + 7 * i for i in range(15)]
    text = re.sub(r"means = .*", f"means = {means}\nnoise = 'none'\ndecimals = 1", PLAIN)
    text = text.replace("seed = 11", "seed = 987654321").replace('"slope"', '"secret-slope"')
    text = text.replace("[[block]]", "[conditions]\nfeedback = [0.25, 0.5]\n[[block]]")
    one = client(text)
    replies = [one.get("/").text, one.get(f"{PREFIX}/study").text]
    replies += [one.get(f"/assets/{name}").text for name in load_assets()]
    reply = one.post(f"{PREFIX}/sessions", json={"id": "anna"})
    replies.append(reply.text)
    headers = {"authorization": f"Bearer {reply.json()['token']}"}
    place = {"block": 0, "decision": 0}
    replies.append(one.post(f"{PREFIX}/session/begin", json=place, headers=headers).text)
    for t, option in enumerate([2, 9, 9, 4]):
        replies.append(send(one, headers, {"block": 0, "decision": t, "option": option}).text)
        replies.append(one.post(f"{PREFIX}/session/open", json={}, headers=headers).text)
    traffic = "\n".join(replies)
    seen = {means[option] for option in (2, 9, 4)}
    for mean in means:
        assert (str(mean) in traffic) == (mean in seen), mean
    for secret in ("987654321", "secret-slope", "landscape", '"cell"', '"condition', "block-1"):
        assert secret not in "\n".join(r for r in replies if r.startswith("{")), secret


def test_the_researchers_token_opens_and_others_are_counted(client, caplog):  # S44
    one = client()
    begun(one)
    with caplog.at_level(logging.WARNING, logger="penchant.task"):
        tries = [
            one.post("/researcher/login", json={"token": "wrong" * 6}).status_code
            for _ in range(12)
        ]
    assert tries[0] == 403 and tries[-1] == 429
    assert "wrong researcher's token" in caplog.text and "wrong" * 6 not in caplog.text
    assert one.get("/researcher").status_code == 401
    reply = one.post("/researcher/login", json={"token": "r" * 30})
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "r" * 30 not in cookie
    assert one.get("/researcher").status_code == 200
    found = one.get("/researcher/overview").json()
    assert found["funnel"]["arrived"] == 1 and found["people"][0]["done"] == 0
    one.cookies.set("penchant_researcher", "99999999999.abc", path="/researcher")
    assert one.get("/researcher/overview").status_code == 401


def test_the_researcher_sees_people_choices_and_the_table(client):
    one = client()
    headers = begun(one)
    for t in range(4):
        send(one, headers, {"block": 0, "decision": t, "option": t})
    key = {"authorization": "Bearer " + "r" * 30}
    person = one.get("/researcher/people/1", headers=key).json()
    assert [choice["option"] for choice in person["choices"]] == [0, 1, 2, 3]
    assert person["outcome"] == "completed" and person["task"]["width"] == 5
    assert one.get("/researcher/people/99", headers=key).status_code == 404
    lines = one.get("/researcher/export/choices.csv", headers=key).text.splitlines()
    assert len(lines) == 5 and "anna" not in "".join(lines)


def test_requests_of_other_sites_are_refused(client):  # S45
    one = client()
    headers = begun(one)
    for added in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert send(one, {**headers, **added}, BODY).status_code == 403
        assert one.post(f"{PREFIX}/sessions", json={}, headers=added).status_code == 403
    reply = one.options(f"{PREFIX}/sessions", headers={"origin": "https://evil.example"})
    assert not [name for name in reply.headers if name.startswith("access-control")]
    own = {"origin": "http://testserver", "sec-fetch-site": "same-origin"}
    assert send(one, {**headers, **own}, BODY).status_code == 200


def test_every_reply_has_the_strict_policy(client):
    one = client()
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    for path in ("/", "/assets/main.js", "/nowhere", f"{PREFIX}/session", "/researcher"):
        reply = one.get(path)
        assert reply.headers["content-security-policy"] == policy
        assert reply.headers["x-content-type-options"] == "nosniff"
    framed = client(frame_ancestors="https://app.prolific.com")
    policy = framed.get("/").headers["content-security-policy"]
    assert policy.endswith("frame-ancestors https://app.prolific.com")


def test_the_page_asks_no_other_host_and_has_no_inline_code():
    for name, asset in load_assets().items():
        text = asset.data.decode()
        hosts = set(re.findall(r"https?://([^/\"'\s]+)", text)) - {"www.w3.org"}
        allowed = {"your.host", "app.prolific.com"}
        assert hosts <= allowed, (name, hosts)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", text), name


@pytest.mark.parametrize(
    "path",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "template.toml", "index.html"],
)
def test_no_other_file_is_served(client, path):  # S52
    assert client().get(f"/assets/{path}").status_code == 404


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE sessions; --", "{{7*7}}", "${7*7}", "%s%n", "\x00"]
)
def test_words_of_databases_and_templates_are_words(client, text):  # S50, S53
    one = client(WHOLE.replace("You may stop at any time.", "{{7*7}} '; DROP TABLE sessions; --"))
    reply = one.post(f"{PREFIX}/sessions", json={"id": "anna"}).json()
    assert reply["state"]["consent"]["text"] == "{{7*7}} '; DROP TABLE sessions; --"
    headers = {"authorization": f"Bearer {reply['token']}"}
    body = {"agrees": True, "version": text}
    assert send(one, headers, body, "consent").status_code == 409
    assert (
        send(one, {"authorization": f"Bearer {'a' * 20}' OR '1'='1"}, {}, "open").status_code == 401
    )
    assert one.get(f"{PREFIX}/session", headers=headers).status_code == 200


def test_return_addresses_come_from_the_study_alone(client):  # S54
    one = client(WHOLE)
    reply = one.post(f"{PREFIX}/sessions", json={"id": "anna", "return": "https://evil.example"})
    assert reply.status_code == 422
    assert one.get("/?return=https://evil.example").text == one.get("/").text


def test_a_store_that_is_gone_is_told_as_not_saved(client, serving, tmp_path):  # S04
    service = serving(str(tmp_path / "gone.sqlite"))
    one = client(service=service)
    headers = begun(one)
    (tmp_path / "gone.sqlite").rename(tmp_path / "away.sqlite")
    reply = send(one, headers, BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "not saved")
    assert int(reply.headers["retry-after"]) >= 1
    (tmp_path / "away.sqlite").rename(tmp_path / "gone.sqlite")
    assert send(one, headers, BODY).status_code == 200


def test_too_many_requests_are_told_to_wait(client, monkeypatch):
    class Standing:
        monotonic = staticmethod(lambda: 0.0)

    monkeypatch.setattr("penchant.task.request_limits.time", Standing)
    one = client()
    headers = begun(one)
    replies = [one.get(f"{PREFIX}/session", headers=headers) for _ in range(120)]
    late = [reply for reply in replies if reply.status_code == 429]
    assert late and all(int(reply.headers["retry-after"]) >= 1 for reply in late)


def test_too_many_at_once_are_told_to_come_again(client):  # S61
    one = client(at_once=0)
    reply = one.get("/health")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")


def test_more_writes_than_may_wait_are_refused(serving, tmp_path, clock):  # S61
    import threading

    from penchant.task.session_store import Store, StoreBusyError

    store = Store(str(tmp_path / "full.sqlite"), waiting=3)
    gate = threading.Event()
    blocked = store.write(lambda connection: gate.wait(10))
    waiting = [store.write(lambda connection: 1) for _ in range(8)]
    refused = [one for one in waiting if one.done() and isinstance(one.exception(), StoreBusyError)]
    gate.set()
    assert blocked.result() and refused
    assert all(one.result() == 1 for one in waiting if one not in refused)
    store.close()


def test_events_of_the_page_are_logged_and_others_refused(client):
    one = client(TIMED)
    headers = begun(one)
    good = {"events": [{"kind": "blur", "ms": 5.5}, {"kind": "resize", "ms": 9, "width": 390}]}
    assert send(one, headers, good, "events").json() == {"logged": 2}
    bad = {"events": [{"kind": "<script>", "ms": 1}]}
    assert send(one, headers, bad, "events").status_code == 422


def test_nothing_is_shown_of_an_estimate_while_somebody_plays(client):
    one = client(PLAIN + "\n[estimate]\nshow_at_end = true")
    headers = begun(one)
    assert one.get(f"{PREFIX}/session/estimate", headers=headers).status_code == 403
    for t in range(4):
        send(one, headers, {"block": 0, "decision": t, "option": t})
    assert one.get(f"{PREFIX}/session/estimate", headers=headers).json() == {"estimate": None}


def test_arrivals_are_limited(client, serving, file):
    service = serving(file, PLAIN + "\n[limits]\nsessions_per_minute = 2")
    one = client(service=service)
    codes = [one.post(f"{PREFIX}/sessions", json={}).status_code for _ in range(15)]
    assert codes[0] == 201 and codes[-1] == 429
    assert come(service, "by-hand")


def test_the_openapi_file_names_every_route_of_the_interface(client):
    one = client()
    told = json.loads(load_assets()["openapi.json"].data)["paths"]
    described = {(method.upper(), path) for path, methods in told.items() for method in methods}
    routes = {(method, path) for method, path in api_routes(one) if path.startswith(PREFIX)}
    assert described == routes
