"""An agent for `stepkeeper agent test`, whose service keeps each effect as a file of the folder TRIAL.

`hang` knows keys and `tally` does not. The same program polls a queue, or serves Lambda with `handler`.
"""

import os
import uuid
from pathlib import Path

from stepkeeper import Agent

agent = Agent("coats")
handler = agent.handler
folder = Path(os.environ["TRIAL"])


def effects(call):
    return sorted(folder.glob(call.key.replace("/", "_") + ".*"))


@agent.operation("hang")
def hang(coat, call):
    (folder / (call.key.replace("/", "_") + ".coat")).touch()
    return {"ticket": call.key}


@agent.operation("give-back")
def give_back(coat, call):
    for effect in effects(call):
        effect.unlink(missing_ok=True)


@agent.operation("tally")
def tally(coat, call):
    (folder / f"{call.key.replace('/', '_')}.{uuid.uuid4()}").touch()


@agent.operation("untally")
def untally(coat, call):
    effects(call)[0].unlink()  # fails for what was never done, as a plain service may


if __name__ == "__main__":
    agent.run()
