"""Agents and clients of Stepkeeper in Python.

An agent wraps one remote service. It takes requests from its queue, calls the service, and replies:

    agent = Agent("coats")

    @agent.operation("hang")
    def hang(order: Coat, call: Call) -> Ticket:
        return service.hang(order.color, idempotency_key=call.key, timeout=call.remaining())

    handler = agent.handler  # on Lambda
    if __name__ == "__main__":
        agent.run()          # anywhere else
"""

from .agent import Agent
from .client import Client
from .ledger import Conflict, DynamoLedger, Entry, Ledger, SQLiteLedger
from .message import Call, Failure, Later, NotYet, Permanent, Unauthorized

__all__ = ["Agent", "Call", "Client", "Conflict", "DynamoLedger", "Entry", "Failure", "Later", "Ledger",
           "NotYet", "Permanent", "SQLiteLedger", "Unauthorized"]
