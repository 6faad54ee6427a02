// Queues and a table in memory, with what the package uses of the SDK's clients.
import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import type { SQS } from "@aws-sdk/client-sqs";

import { Agent, type AgentOptions, type Call } from "../src/index.js";

export const NOON = Date.parse("2026-11-21T12:00:00Z");

type Input = Record<string, any>;

export class Queues {
  sent: Record<string, any[]> = { replies: [], quarantine: [], intake: [] };
  waiting: object[] = [];
  wanted: number[] = [];
  deleted: string[] = [];
  hidden: [string, number][] = [];
  hiddenOn: string[] = []; // the queues of hidden
  fails = 0;

  private fail(): void {
    if (this.fails-- > 0) throw new Error("the network is down");
    this.fails = 0;
  }

  async getQueueUrl({ QueueName }: Input) {
    return { QueueUrl: QueueName };
  }

  async sendMessage({ QueueUrl, MessageBody }: Input) {
    this.fail();
    if (Buffer.byteLength(MessageBody) > 65_536) throw new Error("no message of Stepkeeper is that long");
    if (/[\ufffe\uffff]|\p{Surrogate}/u.test(MessageBody)) throw new Error("SQS does not take it");
    this.sent[QueueUrl]!.push(JSON.parse(MessageBody));
  }

  async receiveMessage({ MaxNumberOfMessages }: Input) {
    this.fail();
    this.wanted.push(MaxNumberOfMessages);
    if (this.waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return { Messages: this.waiting.splice(0, MaxNumberOfMessages) };
  }

  async deleteMessage({ ReceiptHandle }: Input) {
    this.deleted.push(ReceiptHandle);
  }

  async changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout }: Input) {
    this.hiddenOn.push(QueueUrl);
    this.hidden.push([ReceiptHandle, VisibilityTimeout]);
  }

  /** The queues as the client of the SDK. */
  get sqs(): SQS {
    return this as unknown as SQS;
  }
}

/** A DynamoDB table. `lost` writes are made, and their responses lost and repeated by the client. */
export class Table {
  items = new Map<string, any>();
  lost = 0;

  async getItem({ ConsistentRead, Key }: Input) {
    if (!ConsistentRead) throw new Error("the read is not consistent");
    return { Item: this.items.get(Key.Key.S) };
  }

  async putItem({ Item, ExpressionAttributeValues }: Input) {
    const key = Item.Key.S, refused = Object.assign(new Error(), { name: "ConditionalCheckFailedException" });
    if (this.items.get(key)?.Version?.N !== ExpressionAttributeValues?.[":v"]?.N) throw refused;
    this.items.set(key, Item);
    if (this.lost-- > 0) throw refused;
  }

  /** The table as the client of the SDK. */
  get client(): DynamoDB {
    return this as unknown as DynamoDB;
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
      sqs: this.queues.sqs, now: () => this.time, log: () => {}, ...options,
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
