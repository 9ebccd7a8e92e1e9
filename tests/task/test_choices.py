"""Choices: one row each, the same reply again, deadlines of the server; on both stores."""

import threading

import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from sqlalchemy import func, select

from penchant.task.session_service import Choice
from penchant.task.session_states import RefusedError
from penchant.task.session_store import decisions, people, sessions
from task.conftest import PLAIN, TIMED, WHOLE, come, take


def count(service, table=decisions):
    with service.store.read_connection() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def refusal(call):
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value.status, caught.value.code


def test_twenty_equal_requests_at_once_are_one_row(serving, place):  # S10
    service = serving(place)
    token = come(service)
    futures = [service.record_choice(token, Choice(0, 0, 7), window_number=None) for _ in range(20)]
    replies = [future.result() for future in futures]
    assert count(service) == 1
    assert {str(reply["decision"]) for reply in replies} == {str(replies[0]["decision"])}


def test_the_same_decision_with_another_option_is_refused_with_what_is_stored(serving, place):
    service = serving(place)
    token = come(service)
    first = take(service, token, 0, 7)
    with pytest.raises(RefusedError) as caught:
        take(service, token, 0, 8)
    assert (caught.value.status, caught.value.reply["decision"]) == (409, first["decision"])
    assert count(service) == 1


def test_a_wrong_decision_or_stage_is_refused(serving, place):  # S11, S12, S13
    service = serving(place, WHOLE)
    token = service.start_session("bea").result()["token"]
    assert refusal(lambda: take(service, token, 0, 1)) == (409, "stage")
    assert refusal(
        lambda: service.record_instructions_read(token, window_number=None).result()
    ) == (
        409,
        "stage",
    )
    plain = serving(place)
    other = come(plain, "carl")
    assert refusal(lambda: take(plain, other, 2, 1)) == (409, "decision")
    for t in range(4):
        take(plain, other, t, t)
    assert refusal(lambda: take(plain, other, 4, 1)) == (410, "ended")
    assert take(plain, other, 3, 3)["state"]["end"]["outcome"] == "completed"


def test_the_last_reply_carries_the_return_address(serving, file):
    service = serving(file, WHOLE)
    token = through(service, "dora")
    replies = [take(service, token, t, t, block=1) for t in range(3)]
    assert "state" not in replies[1]
    end = replies[2]["state"]["end"]
    assert end["address"] == "https://recruiter.example/complete?cc=DONE-1"
    assert service.session_state(token).result()["end"] == end


def through(service, who):
    """From the arrival to the second block."""
    token = service.start_session(who).result()["token"]
    version = service.plan.consent_version
    service.record_consent(token, agrees=True, version=version, window_number=None).result()
    service.record_instructions_read(token, window_number=None).result()
    service.grade_comprehension_check(token, [1], window_number=None).result()
    service.begin_block(token, block=0, decision=0, window_number=None).result()
    take(service, token, 0, 1)
    take(service, token, 1, 2)
    service.begin_block(token, block=1, decision=0, window_number=None).result()
    return token


def test_practice_pays_nothing_into_the_total(serving, file):
    service = serving(file, WHOLE)
    token = through(service, "ed")
    assert service.session_state(token).result()["total"] == 0
    reply = take(service, token, 0, 3, block=1)
    assert reply["total"] == reply["decision"]["reward"]


def test_too_many_wrong_answers_screen_out(serving, file):
    service = serving(file, WHOLE)
    token = service.start_session("fay").result()["token"]
    service.record_consent(
        token, agrees=True, version=service.plan.consent_version, window_number=None
    ).result()
    service.record_instructions_read(token, window_number=None).result()
    first = service.grade_comprehension_check(token, [0], window_number=None).result()
    assert (first["stage"], first["wrong"], first["check"]["attempts_left"]) == ("check", [0], 1)
    assert (
        service.grade_comprehension_check(token, [2], window_number=None).result()["end"]["outcome"]
        == "screened out"
    )


def test_without_consent_nothing_but_the_session_is_kept(serving, place):
    service = serving(place, WHOLE)
    token = service.start_session("gus").result()["token"]
    with service.store.read_connection() as connection:
        assert connection.scalar(select(sessions.c.consent)) is None
    assert (
        refusal(lambda: service.log_events(token, [("blur", {})], window_number=None).result())[0]
        == 409
    )
    ended = service.record_consent(
        token, agrees=False, version=service.plan.consent_version, window_number=None
    ).result()
    assert ended["end"]["outcome"] == "no consent" and count(service, people) == 0


def test_consent_to_other_words_does_not_count(serving, file):
    service = serving(file, WHOLE)
    token = service.start_session("hal").result()["token"]
    asked = service.record_consent(token, agrees=True, version="0" * 16, window_number=None)
    assert refusal(asked.result) == (409, "consent changed")


def test_a_newer_window_takes_over_and_the_older_is_told(serving, place):  # S14
    service = serving(place)
    token = come(service)
    first, second = (service.claim_session(token).result()["tab"] for _ in range(2))
    asked = service.record_choice(token, Choice(0, 0, 3), window_number=first)
    assert refusal(asked.result) == (409, "superseded")
    assert (
        service.record_choice(token, Choice(0, 0, 3), window_number=second).result()["decision"][
            "option"
        ]
        == 3
    )
    assert service.claim_session(token).result()["history"][0]["option"] == 3


def test_a_restart_changes_no_reward(serving, place):  # S16, S18
    def rewards(service, who, restarts):
        token, found = come(service, who), []
        for t in range(4):
            if restarts:
                service = serving(place)
            found.append(take(service, token, t, 2 * t)["decision"]["reward"])
            again = service.session_state(token).result()
            assert again["stage"] == "end" or len(again["history"]) == t + 1
        return found

    service = serving(place)
    token = come(service, "ida")
    kept = take(service, token, 0, 9)["decision"]
    other = serving(place)
    assert take(other, token, 0, 9)["decision"] == kept  # S02: the retry gets the same
    assert len(rewards(other, "jo", True)) == 4


def test_rewards_depend_on_seed_session_block_and_decision_alone(serving, tmp_path):
    found = []
    for name in ("a", "b"):
        service = serving(str(tmp_path / f"{name}.sqlite"))
        token = come(service, name)
        found.append([take(service, token, t, 4)["decision"]["reward"] for t in range(4)])
    assert found[0] == found[1] and len(set(found[0])) > 1
    other = serving(str(tmp_path / "c.sqlite"), PLAIN.replace("seed = 11", "seed = 12"))
    token = come(other)
    assert [take(other, token, t, 4)["decision"]["reward"] for t in range(4)] != found[0]


def test_conditions_are_balanced_whoever_comes_when(serving, place):
    service = serving(
        place, PLAIN.replace("[[block]]", "[conditions]\nvariance = [1, 9, 16]\n[[block]]")
    )
    threads = [threading.Thread(target=lambda i=i: come(service, f"p{i}")) for i in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with service.store.read_connection() as connection:
        cells = connection.scalars(select(sessions.c.cell).order_by(sessions.c.session)).all()
    assert sorted(cells) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert cells != [0, 1, 2] * 3  # by chance among the least filled, not in turn


def test_a_place_that_somebody_leaves_is_given_again(serving, file):
    service = serving(
        file, PLAIN.replace("[[block]]", "[conditions]\nvariance = [1, 9]\n[[block]]")
    )
    token = come(service, "one")
    with service.store.read_connection() as connection:
        cell = connection.scalar(select(sessions.c.cell))
    service.withdraw(token).result()
    come(service, "two")
    come(service, "three")
    with service.store.read_connection() as connection:
        cells = connection.scalars(select(sessions.c.cell).order_by(sessions.c.session)).all()
    assert cells[0] == cell and sorted(cells[1:]) == [0, 1]


def test_a_deadline_of_the_server_takes_the_last_choice_again(serving, file, clock):  # S21
    service = serving(file, TIMED)
    token = come(service)
    clock.pass_(1.4)
    first = take(service, token, 0, 6)
    clock.pass_(0.5 + 1.5 + 1.9)  # feedback, time, and less than the grace
    assert take(service, token, 1, 8)["decision"]["option"] == 8
    clock.pass_(0.5 + 1.5 + 2.1)
    with pytest.raises(RefusedError) as caught:
        take(service, token, 2, 9)
    assert caught.value.code == "too late"
    taken = caught.value.reply["decision"]
    assert (taken["option"], taken["auto"]) == (8, True)
    state = service.session_state(token).result()
    assert (state["stage"], state["decision"], len(state["history"])) == ("ready", 3, 3)
    assert first["decision"]["auto"] is False and count(service) == 3


def test_an_absence_of_an_hour_costs_one_decision_and_pauses(serving, file, clock):
    service = serving(file, TIMED)
    token = come(service)
    take(service, token, 0, 6)
    clock.pass_(3600)
    state = service.claim_session(token).result()
    assert (state["stage"], state["decision"]) == ("ready", 2)
    assert state["history"][1]["auto"] is True
    clock.pass_(3600)
    assert service.claim_session(token).result()["decision"] == 2


def test_a_reload_does_not_give_more_time(serving, file, clock):
    service = serving(file, TIMED)
    token = come(service)
    clock.pass_(1.0)
    assert service.claim_session(token).result()["remaining_ms"] == 500
    clock.pass_(0.3)
    assert service.claim_session(token).result()["remaining_ms"] == 200


def test_no_mark_repeats_the_last_choice_and_a_hidden_tab_pauses(serving, file, clock):
    service = serving(file, TIMED)
    token = come(service)
    first = take(service, token, 0, None)["decision"]
    assert first["auto"] and 0 <= first["option"] < 15
    take(service, token, 1, 4)
    paused = take(service, token, 2, None, ready=False)
    assert (paused["decision"]["option"], paused["decision"]["auto"]) == (4, True)
    assert paused["state"]["stage"] == "ready"
    clock.pass_(900)
    begun = service.begin_block(token, block=0, decision=3, window_number=None).result()
    assert (begun["stage"], begun["remaining_ms"]) == ("play", 1500)


def test_without_a_pace_an_option_must_be_given(serving, file):
    service = serving(file)
    token = come(service)
    assert refusal(lambda: take(service, token, 0, None)) == (422, "option")


def test_clocks_that_step_leave_order_and_durations(serving, file, clock):  # S20
    service = serving(file, TIMED)
    token = come(service)
    clock.pass_(1.0)
    clock.wall -= 5000
    take(service, token, 0, 1)
    clock.boot, clock.steady, clock.wall = "second", 0.0, clock.wall - 5000
    take(service, token, 1, 2)
    with service.store.read_connection() as connection:
        rows = connection.execute(select(decisions).order_by(decisions.c.decision)).all()
    assert [row.option for row in rows] == [1, 2]
    assert rows[0].elapsed == pytest.approx(1.0) and rows[1].elapsed == 0.0


def test_who_comes_with_a_known_id_is_refused_or_goes_on(serving, tmp_path):
    service = serving(str(tmp_path / "a.sqlite"))
    come(service, "kim")
    assert refusal(service.start_session("kim").result) == (409, "already begun")
    by_id = serving(
        str(tmp_path / "b.sqlite"), PLAIN.replace("seed = 11", 'seed = 11\nresume = "id"')
    )
    old = come(by_id, "kim")
    take(by_id, old, 0, 3)
    reply = by_id.start_session("kim").result()
    assert len(reply["state"]["history"]) == 1
    assert refusal(by_id.session_state(old).result) == (401, "token")


def test_a_lost_reply_to_an_arrival_can_be_asked_for_again(serving, place):
    service = serving(place)
    first = service.start_session("lea", "v" * 32).result()
    assert service.start_session("lea", "v" * 32).result()["token"] == first["token"]
    assert refusal(service.start_session("lea", "w" * 32).result) == (409, "already begun")
    assert count(service, sessions) == 1


def test_sessions_go_on_with_the_study_they_began_with(serving, file):
    token = come(serving(file))
    changed = serving(file, PLAIN.replace("decisions = 4", "decisions = 2"))
    for t in range(3):
        assert "state" not in take(changed, token, t, 1)
    assert take(changed, token, 3, 1)["state"]["stage"] == "end"


def test_withdrawal_deletes_what_was_given(serving, place):  # S47
    service = serving(place)
    token = come(service, "max")
    take(service, token, 0, 3)
    assert service.withdraw(token).result()["end"]["outcome"] == "withdrawn"
    assert count(service) == 0 and count(service, people) == 0
    assert refusal(lambda: take(service, token, 1, 3)) == (410, "ended")


def test_a_study_takes_no_more_people_than_it_says(serving, file):
    service = serving(file, PLAIN + "\n[limits]\nmost_sessions = 1")
    come(service, "one")
    assert refusal(service.start_session("two").result) == (403, "full")
