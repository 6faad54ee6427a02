"""Tests of the service: python3 -m unittest"""

import unittest
from types import SimpleNamespace

import agent


class ServiceTest(unittest.TestCase):
    def test_one_ticket_for_a_key(self):
        call = SimpleNamespace(key="o-1/0/hang")
        first = agent.hang(agent.Coat("red"), call)
        self.assertEqual(agent.hang(agent.Coat("red"), call), first)
        agent.give_back(agent.Coat("red"), call)
        agent.give_back(agent.Coat("red"), call)
        self.assertNotIn(call.key, agent._coats)

    def test_no_coat(self):
        with self.assertRaises(agent.Permanent):
            agent.hang(agent.Coat(""), SimpleNamespace(key="o-2/0/hang"))


if __name__ == "__main__":
    unittest.main()
