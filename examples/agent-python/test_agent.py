"""Tests of the agent against queues in memory: python3 -m unittest"""

import json
import threading
import unittest

import agent

NOON = 1795262400000  # 2026-11-21T12:00:00Z


class Queues:
    """What the agent uses of boto3's client."""

    def __init__(self):
        self.sent = {"replies": [], "quarantine": []}

    def get_queue_url(self, QueueName):
        return {"QueueUrl": QueueName}

    def send_message(self, QueueUrl, MessageBody):
        self.sent[QueueUrl].append(json.loads(MessageBody))

    # The queue of requests, for run().
    waiting, wanted, deleted, renewed, fails = (), (), (), (), 0
    changed = threading.Condition()

    def receive_message(self, QueueUrl, MaxNumberOfMessages, WaitTimeSeconds, VisibilityTimeout):
        with self.changed:
            self.wanted += (MaxNumberOfMessages,)
            if self.fails:
                self.fails -= 1
                raise OSError("the network is down")
            if not self.waiting:
                self.changed.wait(0.01)
            taken, self.waiting = self.waiting[:MaxNumberOfMessages], self.waiting[MaxNumberOfMessages:]
            return {"Messages": list(taken)} if taken else {}

    def delete_message(self, QueueUrl, ReceiptHandle):
        self._note("deleted", ReceiptHandle)

    def change_message_visibility(self, QueueUrl, ReceiptHandle, VisibilityTimeout):
        self._note("renewed", ReceiptHandle)

    def _note(self, what, receipt):
        with self.changed:
            setattr(self, what, getattr(self, what) + (receipt,))
            self.changed.notify_all()

    def until(self, come):
        with self.changed:
            return self.changed.wait_for(come, timeout=20)


def request(receipt="r", **change):
    body = {
        "schema": 1, "task": "o-1", "run": 0, "step": "hang", "attempt": 2, "operation": "do", "name": "hang", "key": "o-1/0/hang",
        "timeout": 10000, "claimedAt": "2026-11-21T11:59:58.500Z", "stopBy": "2026-11-21T12:01:00.000Z", "clockSkew": 1000,
        "input": {"coat": "red"},
    }
    body.update(change)
    return {"MessageId": "m", "ReceiptHandle": receipt, "Body": json.dumps(body)}


class AgentTest(unittest.TestCase):
    def setUp(self):
        agent._coats.clear()
        self.time, self.queues = NOON, Queues()
        self.agent = agent.Agent("coats", {"hang": agent.hang, "give-back": agent.give_back, "slow": self.slow, "large": self.large},
                                 sqs=self.queues, now=lambda: self.time)

    def slow(self, data, key, deadline):
        self.time += 120_000

    def large(self, data, key, deadline):
        return "x" * agent.MAX_OUTPUT

    def reply(self):
        self.assertEqual(len(self.queues.sent["replies"]), 1)
        return self.queues.sent["replies"].pop()

    def test_echoes_and_says_how_long_it_waited(self):
        self.assertTrue(self.agent.handle(request()))
        self.assertEqual(self.reply(), {
            "schema": 1, "agent": "coats", "task": "o-1", "run": 0, "step": "hang", "attempt": 2, "operation": "do",
            "waited": 1500, "outcome": "done", "output": {"ticket": 1}})

    def test_one_effect_for_a_key(self):
        for _ in range(3):
            self.agent.handle(request())
            self.assertEqual(self.reply()["output"], {"ticket": 1})

    def test_silence_after_stop_by(self):
        self.time += 59_000  # stopBy less the skew
        self.assertTrue(self.agent.handle(request()))
        self.time = NOON
        self.assertTrue(self.agent.handle(request(name="slow")))
        self.assertEqual((self.queues.sent["replies"], agent._coats), ([], {}))

    def test_failures(self):
        for change, outcome in (({"input": {}}, "failed"), ({"name": "large"}, "failed"), ({"name": "unknown"}, "retry-later")):
            self.agent.handle(request(**change))
            self.assertEqual(self.reply()["outcome"], outcome)

    def test_unreadable_and_newer(self):
        self.assertTrue(self.agent.handle({"MessageId": "m", "Body": "{"}))
        self.assertTrue(self.agent.handle(request(stopBy=None)))
        self.assertFalse(self.agent.handle(request(schema=2)))
        self.assertEqual(len(self.queues.sent["quarantine"]), 2)

    def running(self, operation, waiting, **options):
        """Runs an agent with that operation until the queue is empty; answers its thread too."""
        self.queues.waiting = tuple(waiting)
        running = agent.Agent("coats", {"hang": operation}, sqs=self.queues, now=lambda: self.time, **options)
        thread = threading.Thread(target=running.run)
        thread.start()
        self.addCleanup(lambda: (running.stop(), thread.join(20)))
        return running, thread

    def test_handles_several_requests_at_once_and_no_more(self):
        at_once, most, lock = threading.Barrier(3), [0, 0], threading.Lock()

        def meet(data, key, deadline):
            with lock:
                most[0] += 1
                most[1] = max(most)
            at_once.wait(20)  # passes only when three are here
            with lock:
                most[0] -= 1

        running, thread = self.running(meet, [request(receipt=str(n)) for n in range(9)], concurrency=3)
        self.assertTrue(self.queues.until(lambda: len(self.queues.deleted) == 9))
        self.assertEqual((most[1], max(self.queues.wanted), {r["outcome"] for r in self.queues.sent["replies"]}), (3, 3, {"done"}))

    def test_keeps_a_request_invisible_while_it_is_in_hand(self):
        def wait(data, key, deadline):
            if not self.queues.until(lambda: self.queues.renewed.count("a") > 1):
                raise Exception("it was not kept invisible")

        self.running(wait, [request(receipt="a")], visibility=0.03)
        self.assertTrue(self.queues.until(lambda: self.queues.deleted == ("a",)))
        self.assertEqual(self.queues.sent["replies"][0]["outcome"], "done")

    def test_ends_what_is_in_hand(self):
        begun, go_on = threading.Event(), threading.Event()

        def slow(data, key, deadline):
            begun.set()
            go_on.wait(20)

        running, thread = self.running(slow, [request(receipt="a")])
        self.assertTrue(begun.wait(20))
        running.stop()
        thread.join(0.1)
        self.assertTrue(thread.is_alive())
        go_on.set()
        thread.join(20)
        self.assertEqual((thread.is_alive(), self.queues.deleted, len(self.queues.sent["replies"])), (False, ("a",), 1))

    def test_goes_on_after_errors(self):
        agent.PAUSE, self.queues.fails = 0, 2
        with self.assertLogs("agent", "ERROR") as logged:
            unsent = request(receipt="a")
            del unsent["Body"]  # handling it raises
            self.running(agent.hang, [unsent, request(receipt="b")], concurrency=1)
            self.assertTrue(self.queues.until(lambda: self.queues.deleted == ("b",)))
        self.assertEqual(len(logged.records), 3)

    def test_finds_its_queues(self):
        stack = {"STEPKEEPER_REQUESTS_URL": "https://sqs/1/Shop-EngineRequests5D21",
                 "STEPKEEPER_REPLIES_URL": "https://sqs/1/Shop-EngineReplies77F0",
                 "STEPKEEPER_QUARANTINE_URL": "https://sqs/1/Shop-EngineQuarantine0C3B"}
        self.assertEqual(agent.queue_urls(None, "coats", stack), tuple(stack.values()))
        self.assertEqual(agent.queue_urls(self.queues, "coats", {"STEPKEEPER_QUEUE_PREFIX": "x-"}), ("x-requests-coats", "x-replies", "x-quarantine"))
        del stack["STEPKEEPER_REPLIES_URL"]
        with self.assertRaisesRegex(SystemExit, "STEPKEEPER_REPLIES_URL not set"):
            agent.queue_urls(self.queues, "coats", stack)


if __name__ == "__main__":
    unittest.main()
