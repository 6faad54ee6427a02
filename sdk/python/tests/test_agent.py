"""What an agent replies to a request, and how it polls and serves Lambda."""

import base64
import json
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from queues import NOON, Queues, body, message

from stepkeeper import Agent, Later, NotYet, Permanent, Unauthorized
from stepkeeper import agent as module
from stepkeeper.message import MAX_OUTPUT

READ = Path(__file__).parents[3] / "shared/message/testdata/read.txt"


@dataclass
class Coat:
    coat: str
    size: int = 0

    def __post_init__(self):
        if self.coat == "none":
            raise LookupError("no coat")


class Bench:
    def __init__(self, run=None, **options):
        self.time, self.queues, self.calls = NOON, Queues(), []
        self.agent = Agent("coats", sqs=self.queues, now=lambda: self.time, **options)

        @self.agent.operation("hang")
        def hang(coat: Coat, call):
            self.calls.append((coat, call))
            return run(call) if run else {"ticket": 1}

    def reply(self, **change):
        """Handles a request and returns its only reply."""
        assert self.agent.handle(body(**change))
        assert len(self.queues.sent["replies"]) == 1
        return self.queues.sent["replies"].pop()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("REQUESTS_URL", "REPLIES_URL", "QUARANTINE_URL", "QUEUES", "AGENT", "LEDGER",
                 "LEDGER_FOLDER", "QUEUE_PREFIX"):
        monkeypatch.delenv("STEPKEEPER_" + name, raising=False)
    monkeypatch.setattr(module, "PAUSE", 0)


def fail(error):
    def run(call):
        raise error
    return run


def test_a_reply_repeats_the_request():
    bench = Bench()
    assert bench.reply() == {
        "schema": 1, "agent": "coats", "task": "o-1", "run": 0, "step": "hang", "attempt": 2,
        "operation": "do",
        "waited": 1500, "outcome": "done", "output": {"ticket": 1}}
    coat, call = bench.calls[0]
    assert (coat, call.key, call.attempt, call.remaining()) == (Coat("red"), "o-1/0/hang", 2, 10)


def test_silence_from_stop_by_less_the_skew():
    bench = Bench()
    bench.time += 59_000
    late = bench.reply()  # it says only that the request came too late
    assert (late["outcome"], late["error"]["code"], "noEffect" in late) == ("retry-later", "queue", False)
    assert bench.calls == []
    assert bench.agent.handle(body(), "m", None, 2)  # an earlier handling may have called
    assert (bench.calls, bench.queues.sent["replies"]) == ([], [])

    def slow(call):
        bench.time += 59_000
    bench = Bench(slow)
    assert bench.agent.handle(body())
    assert len(bench.calls) == 1 and bench.queues.sent["replies"] == []


def test_the_call_ends_before_stop_by():
    bench = Bench()
    bench.time += 55_000
    bench.reply()
    assert bench.calls[0][1].remaining() == 4


class Bare(Permanent):
    def __init__(self, coat):
        self.coat = coat


@pytest.mark.parametrize("error, outcome, code, after", [
    (Permanent("no coat", code="no-coat"), "failed", "no-coat", None),
    (Later("closed", after=1.5), "retry-later", "failed", 1500),
    (Later("closed", after=float("nan")), "retry-later", "failed", 0),
    (Later("closed", after="30"), "retry-later", "failed", 30_000),  # as a header has it
    (Later("closed", after="Wed, 21 Oct 2026 07:28:00 GMT"), "retry-later", "failed", 0),
    (Later("closed", after=None), "retry-later", "failed", 0),
    (Permanent("no coat", code=422), "failed", "422", None),
    (Bare("red"), "failed", "failed", None),
    (NotYet(after=60), "retry-later", "not-yet", 60_000),
    (Unauthorized("who?"), "retry-later", "unauthorized", 0),
    (Later("it was called", code="unauthorized"), "retry-later", "failed", 0),
    (ValueError("boom"), "retry-later", "failed", 0),
    (TimeoutError("slow"), "retry-later", "timeout", 0),
    (Permanent("x", code="a\nb\u202e"), "failed", "a b ", None),
    (Permanent("x", code="überzogen"), "failed", "überzogen", None),
    (Permanent("x", code="é" * 40), "failed", "é" * 32, None)])
def test_failures(error, outcome, code, after):
    reply = Bench(fail(error)).reply()
    assert (reply["outcome"], reply["error"]["code"], reply.get("retryAfter")) == (outcome, code, after)
    assert "output" not in reply


class Textless(Exception):
    def __str__(self):
        raise AttributeError("coat")


def test_an_error_whose_text_cannot_be_read_is_a_failure():
    assert Bench(fail(Textless())).reply()["error"] == {"code": "failed", "message": "Textless"}


def test_the_text_of_a_missing_variable_names_the_error():
    assert Bench(fail(KeyError("COATS_URL"))).reply()["error"]["message"] == "KeyError('COATS_URL')"


def test_texts_of_errors_are_bounded():
    reply = Bench(fail(Later("x" * 10_000, code="c" * 1000))).reply()
    assert (len(reply["error"]["message"]), len(reply["error"]["code"])) == (500, 64)


@pytest.mark.parametrize("output, text", [
    (float("nan"), ""), ([10**200], "output.0: a number has more"), (object(), "object cannot be written"),
    (json.loads("[" * 65 + "]" * 65), "output has more than 64 levels"),
    ({"n": "😀".encode("utf-16-le")[:2].decode("utf-16-le", "surrogatepass")}, "output.n: half of a surrogate"),
    ({"a": [{"\ude00": 1}]}, "output.a.0: half of a surrogate pair"),
    ({"1": 1, 1: 2}, "the key 1 stands twice")])
def test_an_output_that_cannot_be_kept_is_a_permanent_failure(output, text):
    reply = Bench(lambda call: output).reply()
    assert (reply["outcome"], reply["error"]["code"]) == ("failed", "output")
    assert text in reply["error"]["message"]
    assert Bench(lambda call: output).reply(operation="undo")["outcome"] == "done"  # its output is not used


# Each content with the bytes that it takes in its shortest form.
CONTENTS = {"<": 1, "&": 1, "\u2028": 3, "😀": 4, "\x01": 6, "\n": 2, "я": 2, "\x7f": 1, "\uffff": 6, "€": 3}


@pytest.mark.parametrize("content, size", CONTENTS.items())
def test_the_limit_of_an_output_is_about_its_shortest_form(content, size):
    fits = content * ((MAX_OUTPUT - 2) // size)
    reply = Bench(lambda call: fits).reply()
    assert (reply["outcome"], reply.get("output") == fits) == ("done", True)
    reply = Bench(lambda call: fits + content).reply()
    assert (reply["outcome"], reply["error"]["code"]) == ("failed", "output-too-large")


def test_texts_of_errors_hold_whole_characters():
    assert Bench(fail(Later("caf\udce9"))).reply()["error"]["message"] == "caf\\udce9"


TOKEN = "0123abcd.MC9oYW5nL2FubkBleGFtcGxlLmNvbQ." + "A" * 22


def escaped(before):
    return "".join(f"{before}{ord(c):02x}" for c in TOKEN)


@pytest.mark.parametrize("text, want", [
    (TOKEN, "(token)"), (f"see {TOKEN}.", "see (token)."), (TOKEN[:-9], "(token)"), (escaped("%"), "(token)"),
    (escaped("%25"), "(token)"), (escaped("\\u00"), "(token)"), (escaped("\\\\u00"), "(token)"),
    ("deadbeef.Mxdeadbeef." + TOKEN[9:], "deadbeef.Mx(token)"), ("\\u0001bcdefa." + TOKEN[9:], ""),
    ("deadbeef.MC9x.y", ""), ("version 12345678.1.2", "")])
def test_tokens_for_answers_are_neither_sent_nor_logged(text, want, caplog):
    bench = Bench(lambda call: call.progress(1, text) or fail(ValueError(text))(call))
    assert bench.agent.handle(body(maxDuration=30_000))
    note, reply = bench.queues.sent["replies"]
    assert (note["note"], reply["error"]["message"]) == (want or text, want or text)
    assert not want or text not in caplog.text


def test_tokens_for_answers_are_not_kept():
    assert Bench(fail(Later("x", code=TOKEN))).reply()["error"]["code"] == "(token)"
    bench = Bench()
    bench.agent.handle(f'{{"schema":1,"x":"{TOKEN}"}}')
    (kept,) = bench.queues.sent["quarantine"]
    assert base64.b64decode(kept["body"]) == b'{"schema":1,"x":"(token)"}'


def test_a_clock_that_is_set_gives_a_call_no_more_time(monkeypatch):
    times, left = [NOON], []
    monkeypatch.setattr(module.time, "time_ns", lambda: times[-1] * 1_000_000)
    agent = Agent("coats", sqs=Queues())

    @agent.operation("hang")
    def hang(coat, call):
        times.append(NOON - 3_600_000)
        left.append(call.remaining())
        times.append(NOON + 3_600_000)  # as after a sleep of the machine
        left.append(call.remaining())
    assert agent.handle(body())
    assert 0 < left[0] <= 10 and left[1] == 0


def test_inputs_are_read_strictly():
    for value in ({}, {"coat": "red", "hat": 1}, ["red"], None, {"coat": "none"}):
        reply = Bench().reply(input=value)
        assert (reply["outcome"], reply["error"]["code"]) == ("failed", "input")


def test_a_step_without_an_input_gives_the_defaults():
    @dataclass
    class Hook:
        height: int = 2
    bench = Bench()

    def press(hook, call):
        bench.calls.append(hook)
    press.__annotations__["hook"] = Hook
    bench.agent.operation("press")(press)
    assert bench.reply(name="press", input=None)["outcome"] == "done" and bench.calls == [Hook(2)]


def test_an_async_operation_is_refused():
    async def press(coat, call):
        return None
    with pytest.raises(TypeError, match="operation press is async"):
        Bench().agent.operation("press")(press)


def test_an_operation_that_cannot_be_called_is_refused():
    def yields(coat, call):
        yield 1
    with pytest.raises(TypeError, match="operation press has a yield"):
        Bench().agent.operation("press")(yields)
    with pytest.raises(TypeError, match="operation press must take an input and a call: too many"):
        Bench().agent.operation("press")(lambda coat: 1)
    Bench().agent.operation("press")(lambda *both: 1)


def test_an_unknown_operation_is_tried_later():
    assert Bench().reply(name="press")["error"]["code"] == "unknown-operation"
    assert Bench().reply(grade="plain")["error"]["code"] == "no-ledger"


@pytest.mark.parametrize("text", ["", "[" * 100_000, "\ufeff" + body(), body() + " " * 2**20, body(timeout=10**400)])
def test_what_cannot_be_read_goes_to_quarantine(text):
    bench = Bench()
    assert bench.agent.handle(text, "m-1")
    (kept,) = bench.queues.sent["quarantine"]
    assert (kept["queue"], kept["id"], kept["at"]) == ("requests-coats", "m-1", "2026-11-21T12:00:00.000Z")
    assert len(kept["reason"]) <= 500 and bench.calls == []


def test_it_reads_what_the_agents_in_go_read():
    lines = READ.read_text(encoding="utf-8").splitlines()
    cases = [(line, read) for line, read in zip(lines, lines[1:]) if line.startswith("request ")]
    assert len(cases) > 80
    for line, read in cases:
        text = line.removeprefix("request ")
        bench = Bench()
        assert bench.agent.handle(text)
        refused, answered = bench.queues.sent["quarantine"], bench.queues.sent["replies"]
        assert (len(refused), len(answered)) == ((1, 0) if read.startswith("    error: ") else (0, 1)), text


def test_a_newer_schema_and_an_unsent_reply_come_again():
    bench = Bench()
    assert not bench.agent.handle(body(schema=2, task=None))
    assert bench.queues.sent == {"replies": [], "quarantine": [], "intake": []}
    bench.queues.fails = 1
    assert not bench.agent.handle(body())
    assert not Bench(fail(SystemExit())).agent.handle(body())


def test_progress_restarts_the_timeout():
    seen = []

    def slow(call):
        for seconds, note in ((1, "one"), (3, "too early"), (9, "two"), (8, "")):
            call.progress(150, "é" * 150 if note == "one" else note)
            bench.time += seconds * 1000
            seen.append(call.remaining())
    bench = Bench(slow)
    assert bench.agent.handle(body(maxDuration=30_000))
    reports = bench.queues.sent["replies"]
    assert [r["outcome"] for r in reports] == ["progress", "progress", "progress", "done"]
    assert seen == [9, 6, 1, 2]
    assert reports[0] | {"note": ""} == {
        "schema": 1, "agent": "coats", "task": "o-1", "run": 0, "step": "hang", "attempt": 2,
        "operation": "do",
        "waited": 1500, "outcome": "progress", "percent": 100, "note": ""}
    assert reports[0]["note"] == "é" * 100  # 200 bytes
    bench = Bench(lambda call: setattr(bench.queues, "fails", 1) or call.progress(1))
    assert bench.reply(maxDuration=30_000)["outcome"] == "done"  # a report that cannot be sent ends nothing
    bench = Bench(lambda call: call.progress(float("nan")))
    assert bench.reply(maxDuration=30_000)["outcome"] == "done"
    bench = Bench(lambda call: call.progress(1))
    assert bench.reply()["outcome"] == "done"  # not a step with a maxDuration


class Context:
    def __init__(self, left):
        self.left = left

    def get_remaining_time_in_millis(self):
        return self.left


ARN = "arn:aws:sqs:eu-central-1:1:"


def record(receipt, received=1, queue="shop-coats", **change):
    return {"messageId": "m-" + receipt, "receiptHandle": receipt, "body": body(**change),
            "attributes": {"ApproximateReceiveCount": str(received)}, "eventSourceARN": ARN + queue}


def test_a_batch_on_lambda_fails_in_part(monkeypatch, capsys):
    monkeypatch.setenv("STEPKEEPER_STACK", "Shop/Engine")
    monkeypatch.setenv("STEPKEEPER_AGENT", "coats")
    monkeypatch.setenv("STEPKEEPER_QUEUES", json.dumps(
        {"requests-coats": "requests", "replies": "replies", "quarantine": "quarantine"}))
    bench = Bench()
    event = {"Records": [record("a"), record("b", 3, schema=2), record("c", key="")]}
    assert bench.agent.handler(event, Context(10_000)) == {"batchItemFailures": [{"itemIdentifier": "m-b"}]}
    assert bench.queues.hidden == [("b", 8)]
    metric = json.loads(capsys.readouterr().out)
    assert (metric["Returned"], metric["Function"], metric["Deployment"]) == (1, "coats", "Shop/Engine")
    assert metric["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Name"] == "Returned"
    assert len(bench.queues.sent["replies"]) == len(bench.queues.sent["quarantine"]) == 1
    assert bench.calls[0][1].remaining() == 8  # two seconds stay for the return of messages
    assert bench.agent.handler({}, Context(10_000)) == {"batchItemFailures": []}
    assert capsys.readouterr().out == ""
    event = {"Records": [record("a")]}
    assert bench.agent.handler(event, Context(1000))["batchItemFailures"]  # no time is left for a call
    bench.time += 60_000
    bench.agent.handler({"Records": [record("again", 2)]}, Context(10_000))
    assert len(bench.queues.sent["replies"]) == 1  # an earlier handling may have called
    bench.agent.handler({"Records": [record("late")]}, Context(10_000))
    assert len(bench.queues.sent["replies"]) == 2


def test_a_request_is_returned_to_its_queue(monkeypatch):
    at = "https://sqs/1/shop-"
    monkeypatch.setenv("STEPKEEPER_QUEUES", json.dumps(
        {"requests-coats": at + "coats", "replies": "replies", "quarantine": "quarantine",
         "requests-coats-high": at + "coats-high"}))
    bench = Bench()
    no_queue = record("c", schema=2)
    del no_queue["eventSourceARN"]
    event = {"Records": [record("a", schema=2), record("b", queue="shop-coats-high", schema=2), no_queue]}
    assert len(bench.agent.handler(event, Context(10_000))["batchItemFailures"]) == 3
    assert [receipt for receipt, _ in bench.queues.hidden] == ["a", "b", "c"]
    assert bench.queues.hidden_on == [at + "coats", at + "coats-high", at + "coats"]


def test_the_handler_returns_when_no_operation_runs_any_more(monkeypatch):
    release, answer = threading.Event(), []

    def slow(call):
        if call.order_id == "o-2":
            release.wait(20)
    bench = Bench(slow)
    event = {"Records": [record("a"), record("b", task="o-2"), record("c", key=""), record("d", schema=2)]}
    batch = threading.Thread(target=lambda: answer.append(bench.agent.handler(event, Context(2200))))
    batch.start()
    # What is handled is deleted, and what is not comes again soon, also if Lambda ends the process now.
    bench.queues.until(lambda: len(bench.queues.deleted) == 2 and len(bench.queues.hidden) == 2)
    assert (sorted(bench.queues.deleted), sorted(bench.queues.hidden)) == (["a", "c"], [("b", 2), ("d", 2)])
    assert batch.is_alive() and answer == []
    release.set()
    batch.join(20)
    assert answer == [{"batchItemFailures": [{"itemIdentifier": "m-d"}]}]


def test_an_agent_deployed_under_another_name_is_refused(monkeypatch):
    monkeypatch.setenv("STEPKEEPER_AGENT", "hats")
    monkeypatch.setenv("STEPKEEPER_QUEUES", "{}")
    with pytest.raises(RuntimeError, match="deployed as agent 'hats'"):
        Bench().agent.handler({})


def test_a_process_finds_its_queues(monkeypatch):
    bench = Bench()
    monkeypatch.setenv("STEPKEEPER_QUEUE_PREFIX", "x-")
    bench.agent._connect()
    assert bench.agent.queues == ("x-requests-coats", "x-replies", "x-quarantine")
    urls = [f"https://sqs/1/{n}" for n in range(3)]
    for name, url in zip(module.ADDRESSES[:2], urls):
        monkeypatch.setenv(name, url)
    with pytest.raises(RuntimeError, match="STEPKEEPER_QUARANTINE_URL not set"):
        Bench().agent._connect()
    monkeypatch.setenv(module.ADDRESSES[2], urls[2])
    bench = Bench()
    bench.agent._connect()
    assert bench.agent.queues == tuple(urls)


@pytest.fixture
def running():
    """Runs an agent as a poller until the end of the test."""
    started = []

    def start(bench, waiting):
        bench.queues.waiting = waiting
        thread = threading.Thread(target=bench.agent.run)
        thread.start()
        started.append((bench, thread))
        return thread
    yield start
    for bench, thread in started:
        bench.agent.stop()
        thread.join(20)
        assert not thread.is_alive()


def test_the_poller_handles_several_at_once_and_no_more(running):
    together, most = threading.Barrier(3), []

    def meet(call):
        most.append(len(bench.agent.in_hand))
        together.wait(20)  # passes only when three are here
    bench = Bench(meet, concurrency=3)
    running(bench, [message(str(n)) for n in range(9)])
    bench.queues.until(lambda: len(bench.queues.deleted) == 9)
    assert max(most) == max(bench.queues.wanted) == 3


def test_the_poller_keeps_requests_invisible_and_finishes_them(running):
    begun, go_on = threading.Event(), threading.Event()

    def slow(call):
        begun.set()
        assert go_on.wait(20)
    bench = Bench(slow, visibility=0.03)
    thread = running(bench, [message("a")])
    assert begun.wait(20)
    bench.agent.stop()
    bench.queues.until(lambda: len(bench.queues.hidden) > 1)
    assert thread.is_alive()
    go_on.set()
    thread.join(20)
    assert bench.queues.deleted == ["a"] and bench.queues.sent["replies"][0]["outcome"] == "done"


def test_the_poller_goes_on_after_errors(running):
    bench = Bench(concurrency=1)
    bench.queues.fails = 2
    newer = message("a", schema=2) | {"Attributes": {"ApproximateReceiveCount": "2"}}
    running(bench, [newer, message("b")])
    bench.queues.until(lambda: bench.queues.deleted == ["b"])
    assert bench.queues.hidden == [("a", 4)]
