// Queues and a table in memory, with what the package uses of the SDK's clients.
import { Agent, type AgentOptions, type Call } from "../src/index.js";

export const NOON = Date.parse("2026-11-21T12:00:00Z");

type Input = Record<string, any>;

export class Queues {
  sent: Record<string, any[]> = { replies: [], quarantine: [], intake: [] };
  waiting: object[] = [];
  wanted: number[] = [];
  deleted: string[] = [];
  hidden: [string, number][] = [];
  fails = 0;

  async send(command: object): Promise<unknown> {
    const input = (command as { input: Input }).input, name = command.constructor.name;
    if (/^(Send|Receive)/.test(name) && this.fails > 0) {
      this.fails--;
      throw new Error("the network is down");
    }
    switch (name) {
      case "GetQueueUrlCommand": return { QueueUrl: input.QueueName };
      case "SendMessageCommand": return void this.sent[input.QueueUrl]!.push(JSON.parse(input.MessageBody));
      case "DeleteMessageCommand": return void this.deleted.push(input.ReceiptHandle);
      case "ChangeMessageVisibilityCommand":
        return void this.hidden.push([input.ReceiptHandle, input.VisibilityTimeout]);
    }
    this.wanted.push(input.MaxNumberOfMessages);
    if (this.waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return { Messages: this.waiting.splice(0, input.MaxNumberOfMessages) };
  }
}

/** A DynamoDB table. `lost` writes are made, and their responses lost and repeated by the client. */
export class Table {
  items = new Map<string, any>();
  lost = 0;

  async send(command: object): Promise<unknown> {
    const input = (command as { input: Input }).input;
    if (command.constructor.name === "GetItemCommand") {
      if (!input.ConsistentRead) throw new Error("the read is not consistent");
      return { Item: this.items.get(input.Key.Key.S) };
    }
    const key = input.Item.Key.S, refused = Object.assign(new Error(), { name: "ConditionalCheckFailedException" });
    if (this.items.get(key)?.Version?.N !== input.ExpressionAttributeValues?.[":v"]?.N) throw refused;
    this.items.set(key, input.Item);
    if (this.lost-- > 0) throw refused;
    return {};
  }
}

export function body(change: object = {}): string {
  return JSON.stringify({
    schema: 1, agent: "coats", task: "o-1", run: 0, step: "hang", attempt: 2, operation: "do", name: "hang",
    grade: "idempotent", key: "o-1/0/hang", timeout: 10_000, claimedAt: "2026-11-21T11:59:58.500Z",
    stopBy: "2026-11-21T12:01:00.000Z", clockSkew: 1000, input: { coat: "red" }, ...change,
  });
}

export function message(receipt: string, change: object = {}) {
  return { MessageId: "m-" + receipt, ReceiptHandle: receipt, Body: body(change) };
}

export class Bench {
  time = NOON;
  queues = new Queues();
  calls: Call[] = [];
  agent: Agent;

  constructor(run: (call: Call) => unknown = () => ({ ticket: this.calls.length }), options: AgentOptions = {}) {
    this.agent = new Agent("coats", {
      sqs: this.queues, now: () => this.time, pause: 0, log: () => {}, ...options,
    });
    this.agent.operation("hang", (_: { coat: string }, call) => {
      this.calls.push(call);
      return run(call);
    }, (input) => {
      if (typeof (input as { coat?: unknown } | null)?.coat !== "string") throw new Error("no coat");
      return input as { coat: string };
    });
  }

  /** Returns the reply to a request, or undefined if the agent is silent. */
  async ask(change: object = {}): Promise<any> {
    if (!await this.agent.handle(body(change))) throw new Error("the request comes again");
    return this.queues.sent.replies!.pop();
  }
}

export async function until(come: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !come();) {
    if (Date.now() > end) throw new Error("it did not come");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
