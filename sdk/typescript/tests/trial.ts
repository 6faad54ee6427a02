// An agent for `stepkeeper agent test`, whose service keeps each effect as a file of the folder TRIAL. `hang` knows
// keys and `tally` does not. The same program polls a queue, or serves Lambda with `handler`.
import { randomUUID } from "node:crypto";
import { readdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Agent, type Call } from "../src/index.js";

const folder = process.env.TRIAL!;
const name = (call: Call) => call.key.replaceAll("/", "_") + ".";
const effects = async (call: Call) => (await readdir(folder)).filter((file) => file.startsWith(name(call)));

const agent = new Agent("coats")
  .operation("hang", async (_, call) => {
    await writeFile(join(folder, name(call) + "coat"), "");
    return { ticket: call.key };
  })
  .operation("give-back", async (_, call) => {
    for (const file of await effects(call)) await unlink(join(folder, file)).catch(() => {}); // another undo was faster
  })
  .operation("tally", (_, call) => writeFile(join(folder, name(call) + randomUUID()), ""))
  .operation("untally", async (_, call) => unlink(join(folder, (await effects(call))[0]!))); // fails for nothing

export const handler = agent.handler;
await agent.run();
