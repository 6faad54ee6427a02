"""An agent in Python: a cloakroom, with the package of sdk/python.

The same program runs as a process (`python agent.py`) and on Lambda, with the handler agent.handler.
"""

import logging
import threading
from dataclasses import dataclass

from stepkeeper import Agent, Call, Permanent

agent = Agent("coats")
handler = agent.handler


@dataclass
class Coat:
    coat: str


# The service remembers keys, as a real one behind an agent has to. A real agent calls it over the network, with
# call.remaining() as the timeout.
_coats: dict[str, int] = {}
_desk = threading.Lock()


@agent.operation("hang")
def hang(coat: Coat, call: Call) -> dict[str, int]:
    """Returns one ticket for each key, however often it is asked for."""
    if not coat.coat:
        raise Permanent("the coat has no color", code="no-coat", no_effect=True)
    with _desk:
        return {"ticket": _coats.setdefault(call.key, len(_coats) + 1)}


@agent.operation("give-back")
def give_back(coat: Coat, call: Call) -> None:
    """Undoes hang, and succeeds if nothing was hung."""
    with _desk:
        _coats.pop(call.key, None)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    agent.run()
