"""The ledger of plain services and points of no return, in each of its stores."""

import pytest
from queues import NOON, Queues, Table, body

from stepkeeper import Agent, Conflict, DynamoLedger, Entry, Later, Permanent, SQLiteLedger


@pytest.fixture(params=["dynamo", "sqlite"])
def ledger(request, tmp_path):
    return DynamoLedger("table", Table()) if request.param == "dynamo" else SQLiteLedger(tmp_path / "new")


class Bench:
    def __init__(self, ledger):
        self.time, self.queues, self.calls, self.error = NOON, Queues(), [], None
        self.agent = Agent("coats", sqs=self.queues, now=lambda: self.time, ledger=ledger)

        @self.agent.operation("hang")
        def hang(coat, call):
            self.calls.append(call.operation)
            if self.error:
                raise self.error
            return {"ticket": len(self.calls)}

    def ask(self, operation="do", attempt=1, **change):
        """Returns the reply to a request, or None if the agent is silent."""
        change = {"grade": "plain"} | change
        assert self.agent.handle(body(operation=operation, attempt=attempt, **change))
        return self.queues.sent["replies"].pop() if self.queues.sent["replies"] else None

    def state(self):
        return self.agent.ledger.entry("o-1/0/hang").state


def test_a_ledger_writes_on_condition(ledger):
    assert ledger.entry("k") == Entry("k")
    first = Entry("k", "started", 3, 4, '{"a":1}', "c", "m")
    ledger.move(first)
    kept = ledger.entry("k")
    assert kept == Entry("k", "started", 3, 4, '{"a":1}', "c", "m", 1)
    with pytest.raises(Conflict):
        ledger.move(first)
    ledger.move(kept)
    with pytest.raises(Conflict):
        ledger.move(kept)
    assert ledger.entry("k").version == 2


def test_a_repeated_write_of_its_own_is_no_conflict():
    table = Table()
    table.lost = 1
    DynamoLedger("table", table).move(Entry("k", "started"))
    assert DynamoLedger("table", table).entry("k").version == 1


def test_an_sqlite_ledger_lasts(tmp_path):
    SQLiteLedger(tmp_path).move(Entry("k", "done"))
    assert SQLiteLedger(tmp_path).entry("k").state == "done"


def test_a_ledger_keeps_no_token_for_an_answer(ledger):
    bench, token = Bench(ledger), "0123abcd.MC9oYW5nL2FubkBleGFtcGxlLmNvbQ." + "A" * 22
    bench.agent.operations["hang"] = lambda value, call: {token: ["\u00e9" + token]}
    bench.ask()
    assert bench.ask()["output"] == {"(token)": ["\u00e9(token)"]}


def test_one_call_for_a_key(ledger):
    bench = Bench(ledger)
    for attempt in (1, 1, 2):
        assert bench.ask(attempt=attempt)["output"] == {"ticket": 1}
    for attempt in (3, 3, 4):
        assert bench.ask("undo", attempt)["outcome"] == "done"
    late = bench.ask(attempt=1)
    assert (late["outcome"], late["error"]["code"]) == ("failed", "fenced")
    assert bench.calls == ["do", "undo"] and bench.state() == "fenced"


def test_a_call_in_doubt_is_not_repeated(ledger):
    bench = Bench(ledger)
    bench.error = ValueError("the connection broke")
    assert bench.ask()["outcome"] == "retry-later"
    assert bench.ask(attempt=2) is None and bench.state() == "started"
    reply = bench.ask("undo", 3)
    assert (reply["outcome"], reply["error"]["code"]) == ("failed", "in-doubt")
    assert bench.calls == ["do"]
    bench.error = None  # the operator states what happened, once
    assert bench.ask(attempt=4, resolved={"fact": "not-happened", "command": 1})["output"] == {"ticket": 2}
    assert bench.ask(attempt=5, resolved={"fact": "not-happened", "command": 1})["output"] == {"ticket": 2}


def test_a_fact_that_it_happened_allows_the_undo(ledger):
    bench = Bench(ledger)
    bench.error = TimeoutError("slow")
    bench.ask()
    bench.error = None
    assert bench.ask("undo", 2, resolved={"fact": "happened", "command": 1})["outcome"] == "done"
    assert bench.calls == ["do", "undo"]


def test_a_refusal_without_effect(ledger):
    bench = Bench(ledger)
    bench.error = Permanent("no room", code="full", no_effect=True)
    assert bench.ask()["error"] == {"code": "full", "message": "no room"}
    assert bench.ask()["error"] == {"code": "full", "message": "no room"} and bench.state() == "failed"
    bench.error = Later("closed", no_effect=True)
    assert bench.ask(attempt=2)["outcome"] == "retry-later" and bench.state() == "none"
    bench.error = None
    assert bench.ask(attempt=2)["outcome"] == "done"
    assert len(bench.calls) == 3


def test_an_undo_before_its_do_calls_nothing(ledger):
    bench = Bench(ledger)
    assert bench.ask("undo", 2)["outcome"] == "done"
    assert bench.ask()["outcome"] == "failed" and bench.calls == []


def test_a_done_call_whose_output_is_too_large_stays_done(ledger):
    bench = Bench(ledger)
    bench.agent.operations["hang"] = lambda value, call: "x" * 100_000
    assert bench.ask()["error"]["code"] == "output-too-large" and bench.state() == "done"


def test_too_little_time_for_a_plain_call(ledger):
    bench = Bench(ledger)
    bench.time += 55_000
    assert bench.ask() is None and bench.calls == [] and bench.state() == "none"


def test_a_ledger_that_fails_calls_nothing(ledger):
    bench = Bench(ledger)
    ledger.entry = lambda key: 1 / 0
    assert bench.ask()["error"]["code"] == "ledger" and bench.calls == []


def test_a_lost_race_is_decided_again(ledger):
    bench, move = Bench(ledger), ledger.move

    def slower(entry):
        ledger.move = move
        move(Entry("o-1/0/hang", "done", 1, output="7"))
        move(entry)
    ledger.move = slower
    assert bench.ask()["output"] == 7 and bench.calls == []


PIVOT = {"pointOfNoReturn": True, "grade": "idempotent"}


def test_a_refused_point_of_no_return_is_proven(ledger):
    bench = Bench(ledger)
    bench.error = Permanent("no", no_effect=True)
    for _ in range(2):
        reply = bench.ask(**PIVOT)
        assert (reply["outcome"], reply["noEffect"]) == ("failed", True)
    assert bench.calls == ["do"] and bench.state() == "failed"
    bench.error = Later("busy", no_effect=True)
    assert bench.ask(attempt=2, **PIVOT)["noEffect"] and bench.state() == "later"
    assert bench.ask(attempt=2, **PIVOT)["outcome"] == "retry-later" and len(bench.calls) == 2
    bench.error = None
    assert bench.ask(attempt=3, **PIVOT)["outcome"] == "done"


def test_a_repeated_point_of_no_return_proves_nothing(ledger):
    bench = Bench(ledger)
    bench.error = ValueError("the connection broke")
    assert "noEffect" not in bench.ask(**PIVOT)
    bench.error = Permanent("no", no_effect=True)
    assert "noEffect" not in bench.ask(attempt=2, **PIVOT) and bench.state() == "repeated"
    assert bench.calls == ["do", "do"]


def test_an_unknown_point_of_no_return_is_proven_without_a_call(ledger):
    bench = Bench(ledger)
    assert bench.ask(name="press", **PIVOT)["noEffect"] is True and bench.state() == "later"
