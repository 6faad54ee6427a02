"""Tests of the agent against queues in memory: python3 -m unittest"""

import json
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


def request(**change):
    body = {
        "schema": 1, "task": "o-1", "run": 0, "step": "hang", "attempt": 2, "operation": "do", "name": "hang", "key": "o-1/0/hang",
        "timeout": 10000, "claimedAt": "2026-11-21T11:59:58.500Z", "stopBy": "2026-11-21T12:01:00.000Z", "clockSkew": 1000,
        "input": {"coat": "red"},
    }
    body.update(change)
    return {"MessageId": "m", "ReceiptHandle": "r", "Body": json.dumps(body)}


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
