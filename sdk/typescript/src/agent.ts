/** The agent: it takes requests, calls its operations, and replies (docs/explanation/protocol.md). */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import {
  ChangeMessageVisibilityCommand, DeleteMessageCommand, GetQueueUrlCommand, ReceiveMessageCommand,
  SendMessageCommand, SQSClient, type Message, type ReceiveMessageResult,
} from "@aws-sdk/client-sqs";

import { Conflict, DynamoLedger, enter, FileLedger, leave, refuse, type Decision, type Entry, type Ledger,
  type Outcome } from "./ledger.js";
import { ascii, classify, encode, Failure, Later, MAX_TEXT, Newer, Permanent, readRequest, SCHEMA, Unreadable,
  type Call, type Request } from "./message.js";

const LEDGER_TIME = 2000; // milliseconds of a handling for its ledger
const RESERVE = 2000; // milliseconds of an invocation of Lambda for the return of unfinished messages
const REPORT_EVERY = 40_000; // milliseconds between two reports of progress
const MOVES = 8; // how often a lost conditional write is decided again
const SEND = 5000; // milliseconds for one message
const ADDRESSES = ["STEPKEEPER_REQUESTS_URL", "STEPKEEPER_REPLIES_URL", "STEPKEEPER_QUARANTINE_URL"];

/** What is used of a client of the SDK. */
export interface Sender {
  send(command: object, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
}

export interface AgentOptions {
  // for plain services; default the table STEPKEEPER_LEDGER, or the folder STEPKEEPER_LEDGER_FOLDER
  ledger?: Ledger;
  concurrency?: number; // requests in hand at the same time; default 10
  visibility?: number; // seconds that a request stays invisible, renewed while it is in hand; default 30
  pause?: number; // milliseconds after a failed receive; default 1000
  sqs?: Sender;
  now?: () => number;
  log?: (text: string, error?: unknown) => void; // default console.error; it gets IDs and never bodies
}

/** The parts of an event and a context of Lambda that the handler reads. */
export interface SqsEvent {
  Records?: { messageId: string; receiptHandle: string; body: string; attributes?: object }[];
}
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

type Operation = (input: unknown, call: Call) => unknown;

/** An agent with its operations. */
export class Agent {
  readonly operations = new Map<string, Operation>();
  private connected: Promise<{ requests: string; replies: string; quarantine: string }> | undefined;
  private readonly stopping = new AbortController();
  private readonly inHand = new Map<string, Promise<void>>(); // by receipt
  private readonly sqs: Sender;
  ledger: Ledger | undefined;
  readonly now: () => number;
  readonly log: (text: string, error?: unknown) => void;

  constructor(readonly name: string, private readonly options: AgentOptions = {}) {
    this.ledger = options.ledger;
    this.now = options.now ?? Date.now;
    this.log = options.log ?? ((text, error) => console.error(text, ...(error === undefined ? [] : [error])));
    this.sqs = options.sqs ?? sqsClient();
  }

  /** Adds an operation. `read` turns the JSON input into In, and throws if it does not fit. */
  operation<In, Out>(name: string, run: (input: In, call: Call) => Promise<Out> | Out,
    read: (input: unknown) => In = (input) => input as In): this {
    this.operations.set(name, (input, call) => {
      let value: In;
      try {
        value = read(input);
      } catch (why) {
        throw new Permanent(`the input of ${name} cannot be read: ${why}`, { code: "input", noEffect: true });
      }
      return run(value, call);
    });
    return this;
  }

  /** Finds the queues and the ledger: as a deployment says, or by name, as beside `stepkeeper dev`. */
  private connect() {
    return this.connected ??= this.find().catch((why) => {
      this.connected = undefined;
      throw why;
    });
  }

  private async find() {
    const env = (name: string) => process.env[name]?.trim() || undefined;
    const table = env("STEPKEEPER_LEDGER"), folder = env("STEPKEEPER_LEDGER_FOLDER");
    this.ledger ??= table ? new DynamoLedger(table) : folder ? new FileLedger(folder) : undefined;
    const names = ["requests-" + this.name, "replies", "quarantine"], deployed = env("STEPKEEPER_QUEUES");
    let urls = ADDRESSES.map(env);
    if (deployed) { // on Lambda
      const name = env("STEPKEEPER_AGENT") ?? this.name;
      if (name !== this.name) throw new Error(`the program is agent ${this.name}, deployed as agent ${name}`);
      urls = names.map((queue) => (JSON.parse(deployed) as Record<string, string>)[queue]);
    } else if (urls.every((url) => !url)) {
      const prefix = env("STEPKEEPER_QUEUE_PREFIX") ?? "";
      urls = await Promise.all(names.map((queue) => lookUp(this.sqs, prefix + queue)));
    }
    const [requests, replies, quarantine] = urls;
    if (!requests || !replies || !quarantine) {
      const missing = ADDRESSES.filter((_, i) => !urls[i]);
      throw new Error(`${missing.join(", ")} not set, and others are; all three are outputs of the stack`);
    }
    return { requests, replies, quarantine };
  }

  /** Handles a batch of requests on Lambda. Those that must come again are its batchItemFailures. */
  readonly handler = async (event: SqsEvent, context?: LambdaContext) => {
    await this.connect();
    const left = context?.getRemainingTimeInMillis() ?? 60_000, records = event.Records ?? [];
    const end = this.now() + Math.max(0, left - RESERVE), handled = new Set<string>();
    let timer: NodeJS.Timeout | undefined;
    const all = records.map(async (r) => {
      if (await this.guarded(r.body, r.messageId, end)) handled.add(r.messageId);
    });
    await Promise.race([Promise.all(all),
      new Promise((resolve) => timer = setTimeout(resolve, Math.max(0, end - this.now())))]);
    clearTimeout(timer);
    const again = records.filter((r) => !handled.has(r.messageId));
    await Promise.all(again.map((r) => this.returned(r.receiptHandle, r.attributes, left * 6 / 1000)));
    return { batchItemFailures: again.map((r) => ({ itemIdentifier: r.messageId })) };
  };

  /**
   * Polls the queue until SIGTERM, SIGINT or stop(), and finishes the requests in hand. On Lambda it returns
   * at once, because Lambda calls the handler.
   */
  async run(): Promise<void> {
    if (process.env.AWS_LAMBDA_RUNTIME_API) return;
    const { requests } = await this.connect(), visibility = this.options.visibility ?? 30;
    const stop = () => this.stop();
    process.once("SIGTERM", stop).once("SIGINT", stop);
    const keeper = setInterval(() => {
      for (const receipt of this.inHand.keys()) void this.hide(receipt, visibility);
    }, visibility * 1000 / 3);
    this.log(`agent ${this.name} takes requests from ${requests}`);
    try {
      while (!this.stopping.signal.aborted) await this.receive(requests, visibility);
      await Promise.all(this.inHand.values());
    } finally {
      clearInterval(keeper);
      process.off("SIGTERM", stop).off("SIGINT", stop);
    }
  }

  /** Makes run end. */
  stop(): void {
    this.stopping.abort();
  }

  private async receive(requests: string, visibility: number): Promise<void> {
    const room = (this.options.concurrency ?? 10) - this.inHand.size;
    if (room <= 0) return void await Promise.race(this.inHand.values());
    try {
      const got = await this.sqs.send(new ReceiveMessageCommand({
        QueueUrl: requests, MaxNumberOfMessages: Math.min(10, room), WaitTimeSeconds: 20,
        VisibilityTimeout: Math.floor(visibility),
        MessageSystemAttributeNames: ["ApproximateReceiveCount"],
      }), { abortSignal: this.stopping.signal }) as ReceiveMessageResult;
      for (const m of got.Messages ?? []) {
        this.inHand.set(m.ReceiptHandle!, this.work(requests, m, visibility));
      }
    } catch (why) {
      if (this.stopping.signal.aborted) return;
      this.log("receiving failed; trying again", why);
      await pause(this.options.pause ?? 1000);
    }
  }

  private async work(requests: string, message: Message, visibility: number): Promise<void> {
    const receipt = message.ReceiptHandle!;
    const handled = await this.guarded(message.Body!, message.MessageId!);
    this.inHand.delete(receipt); // before it comes again, so that it is not hidden once more
    if (!handled) return this.returned(receipt, message.Attributes, visibility);
    try {
      await this.sqs.send(new DeleteMessageCommand({ QueueUrl: requests, ReceiptHandle: receipt }));
    } catch (why) {
      this.log("a handled request was not deleted; it comes again with its key", why);
    }
  }

  /** Makes a message come again after 2 s, 4 s and so on, not only when its visibility timeout ends. */
  private returned(receipt: string, attributes: object | undefined, most: number): Promise<void> {
    const received = Number((attributes as Record<string, string> | undefined)?.ApproximateReceiveCount ?? 1);
    return this.hide(receipt, Math.min(2 ** Math.min(Math.max(received, 1), 12), most));
  }

  private async hide(receipt: string, seconds: number): Promise<void> {
    try {
      await this.sqs.send(new ChangeMessageVisibilityCommand({
        QueueUrl: (await this.connect()).requests, ReceiptHandle: receipt,
        VisibilityTimeout: Math.floor(seconds),
      }));
    } catch (why) {
      this.log("the time at which a request comes again could not be set", why);
    }
  }

  private async guarded(body: string, message: string, end?: number): Promise<boolean> {
    try {
      return await this.handle(body, message, end);
    } catch (why) { // one bad message does not affect the others; this one comes again
      this.log(`message ${message} was not handled; it is returned to the queue`, why);
      return false;
    }
  }

  /** Handles one request until `end`, and reports whether its message may be deleted. */
  async handle(body: string, message = "", end?: number): Promise<boolean> {
    const queues = await this.connect(), received = this.now();
    try {
      return await new Handling(this, queues.replies, readRequest(body), received, end).run();
    } catch (why) {
      if (why instanceof Newer) {
        this.log(`message ${message} has a newer schema; deploy the newer agent`);
        return false;
      }
      if (!(why instanceof Unreadable)) throw why;
      const reason = why.message.slice(0, MAX_TEXT), data = Buffer.from(body);
      await this.send(queues.quarantine, {
        schema: SCHEMA, queue: "requests-" + this.name, id: message, reason,
        at: new Date(this.now()).toISOString(), sha256: createHash("sha256").update(data).digest("hex"),
        body: data.subarray(0, 40_000).toString("base64"),
      });
      this.log(`message ${message} went to quarantine: ${reason}`);
      return true;
    }
  }

  async send(queue: string, body: object, within = SEND): Promise<void> {
    await this.sqs.send(new SendMessageCommand({ QueueUrl: queue, MessageBody: ascii(body) }),
      { abortSignal: AbortSignal.timeout(Math.max(1, Math.min(within, SEND))) });
  }
}

/** Returns a client of SQS that gives up early enough for a request to come again. */
export function sqsClient(): Sender {
  const requestHandler = { connectionTimeout: 3000, requestTimeout: 25_000 };
  return new SQSClient({ maxAttempts: 2, requestHandler });
}

/** Returns the address of a queue. */
export async function lookUp(sqs: Sender, queue: string): Promise<string> {
  try {
    const got = await sqs.send(new GetQueueUrlCommand({ QueueName: queue }));
    return (got as { QueueUrl: string }).QueueUrl;
  } catch (why) {
    throw new Error(`queue ${queue} cannot be found: ${(why as Error).message || why}\nfor \`stepkeeper dev\` `
      + "on this machine set AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377, and name its agent in agents.yaml; "
      + "queues of a stack are found by their addresses only", { cause: why });
  }
}

/** No reply may be sent, because a call is in doubt or its time is over. */
class Silent extends Error {}

/** The handling of one request. */
class Handling {
  private readonly undo: boolean;
  private readonly plain: boolean;
  private readonly pivot: boolean;
  private readonly limit: number;
  private readonly until: number;
  private readonly ending = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private began = 0; // when the call began
  private sent = 0; // when progress was last reported
  private claimed = false; // the ledger holds that the call of a point of no return begins
  private noEffect = false;

  constructor(private readonly agent: Agent, private readonly replies: string,
    private readonly request: Request, private readonly received: number, end: number | undefined) {
    const r = request;
    this.undo = r.identity.operation === "undo";
    this.plain = r.grade === "plain";
    // A point of no return keeps a ledger, so that its refusal can be proven (P22a).
    this.pivot = r.pointOfNoReturn && !this.undo && agent.ledger !== undefined;
    this.limit = r.long ? r.maxDuration : r.timeout;
    const more = this.plain || this.pivot ? LEDGER_TIME : 0;
    this.until = Math.min(received + this.limit + more, r.stop, end ?? r.stop);
  }

  async run(): Promise<boolean> {
    const { agent, request: r } = this;
    if (agent.now() >= r.stop) { // P25
      this.log("a request came after its stopBy; dropped");
      return true;
    }
    if (agent.now() >= this.until) return false;
    let output: unknown, failure: Failure | undefined;
    try {
      if (!agent.operations.has(r.name)) {
        throw new Later(`agent ${agent.name} has no operation ${r.name}; deploy one that has it, or correct `
          + "the workflow", { code: "unknown-operation", noEffect: true });
      }
      if (this.plain && !agent.ledger) {
        throw new Later("the service is plain, and the agent has no ledger; set STEPKEEPER_LEDGER or "
          + "STEPKEEPER_LEDGER_FOLDER", { code: "no-ledger", noEffect: true });
      }
      output = this.plain || this.pivot ? await this.recorded() : await this.call();
    } catch (why) {
      if (why instanceof Silent) {
        this.log("a call is in doubt, or its time is over; not answered");
        return true;
      }
      if (!(why instanceof Failure)) this.log("an operation threw; it comes again", why);
      failure = classify(why);
      await this.prove(failure);
    }
    return this.answer(output, failure);
  }

  private log(text: string, error?: unknown): void {
    this.agent.log(`${text}: ${JSON.stringify(this.request.identity)}`, error);
  }

  private async call(): Promise<unknown> {
    const { identity: i, name, grade, key, stopBy, trace, input } = this.request;
    this.began = this.agent.now();
    this.sent = 0;
    this.watch();
    try {
      const output = await this.agent.operations.get(name)!(input, {
        orderId: i.task, run: i.run, step: i.step, attempt: i.attempt, operation: i.operation, name, grade,
        key, stopBy, trace, signal: this.ending.signal, remaining: () => this.remaining(),
        progress: (percent = 0, note = "") => this.progress(percent, note),
      });
      return this.undo ? undefined : encode(output); // the output of an undo is not used (P24)
    } finally {
      clearTimeout(this.timer);
    }
  }

  private remaining(): number {
    let end = Math.min(this.until, this.began + this.limit);
    if (this.request.long) end = Math.min(end, (this.sent || this.began) + this.request.timeout);
    return Math.max(0, end - this.agent.now());
  }

  /** Aborts the call's signal when its time is over. */
  private watch(): void {
    clearTimeout(this.timer);
    const left = Math.min(this.remaining(), 2 ** 31 - 1); // the longest time of a timer
    const over = new DOMException("the time is over", "TimeoutError");
    this.timer = setTimeout(() => this.ending.abort(over), left);
  }

  private async progress(percent: number, note: string): Promise<void> {
    const now = this.agent.now(), r = this.request;
    if (!r.long || now >= r.stop || now - this.sent < Math.min(REPORT_EVERY, r.timeout / 3)) return;
    const before = this.sent;
    this.sent = now;
    try {
      const short = new TextDecoder().decode(Buffer.from(note).subarray(0, 200), { stream: true });
      const share = Math.min(Math.max(Math.trunc(percent) || 0, 0), 100);
      await this.reply({ outcome: "progress", percent: share, note: short });
      this.watch();
    } catch (why) {
      this.sent = before; // this report was not sent, and a later one may be
      this.log("progress could not be reported", why);
    }
  }

  private reply(members: object): Promise<void> {
    const waited = Math.max(0, this.received - (this.request.claimedAt ?? this.received));
    return this.agent.send(this.replies, {
      schema: SCHEMA, agent: this.agent.name, ...this.request.identity, waited, ...members,
    }, this.request.stop - this.agent.now());
  }

  private async answer(output: unknown, failure: Failure | undefined): Promise<boolean> {
    if (this.agent.now() >= this.request.stop) {
      this.log("a request was finished after its stopBy; not answered");
    } else if (failure) {
      this.log("a request failed: " + failure.code);
      const retryAfter = Math.trunc(Math.min(Math.max(failure.after, 0), 1e9)) || 0;
      await this.reply({
        outcome: failure.permanent ? "failed" : "retry-later", error: about(failure),
        ...(failure.permanent ? {} : { retryAfter }),
        ...(this.noEffect ? { noEffect: true } : {}),
      });
    } else {
      await this.reply({ outcome: "done", ...(output === undefined ? {} : { output }) });
    }
    return true;
  }

  /** Calls the operation by the ledger: at most one call in doubt or done for each key (P31). */
  private async recorded(): Promise<unknown> {
    const { next: entry, result: act } = await this.enter();
    switch (act) {
      case "done":
        return entry.output && !this.undo ? JSON.parse(entry.output) : undefined;
      case "failed": {
        this.noEffect = this.pivot;
        if (entry.state === "fenced") {
          throw new Permanent("the step has been undone; it is not done any more", { code: "fenced" });
        }
        const kind = entry.state === "later" ? Later : Permanent;
        throw new kind(entry.message, { code: entry.code, noEffect: true });
      }
      case "in-doubt":
        throw new Permanent("a call to this plain service was begun, and whether it happened is not known; "
          + "find out and resolve it", { code: "in-doubt" });
      case "silent":
        throw new Silent();
    }
    this.claimed = this.pivot;
    if (this.insufficient()) {
      await this.leave("withdrawn");
      throw new Silent();
    }
    let output: unknown;
    try {
      output = await this.call();
    } catch (why) {
      const f = classify(why);
      if (!this.pivot || (f.happened && this.plain)) {
        const known = f.permanent ? "refused" : "withdrawn";
        await this.leave(f.happened ? "happened" : f.noEffect ? known : "unknown", undefined, f);
      }
      throw why;
    }
    if (this.plain) await this.leave("happened", output);
    return output;
  }

  /** Reports whether the time is too short. An interrupted call of a plain service is in doubt. */
  private insufficient(): boolean {
    const now = this.agent.now(), r = this.request;
    if (now >= this.until) return true;
    if (!this.plain || r.claimedAt === undefined) return false;
    return r.stopBy - r.claimedAt - r.timeout > 2 * (r.stopBy - r.stop) && now + r.timeout > r.stopBy;
  }

  private async enter() {
    const { resolved, identity } = this.request, knowsKeys = this.pivot && !this.plain;
    try {
      return await this.move((e) => enter(e, this.undo, identity.attempt, resolved, knowsKeys));
    } catch (why) {
      throw new Later(`the agent could not use its ledger, so the service was not called: ${why}`,
        { code: "ledger", noEffect: true });
    }
  }

  /** Stores the entry that decide returns, and decides again if another request was faster. */
  private async move<T>(decide: (e: Entry) => Decision<T>): Promise<Decision<T>> {
    const ledger = this.agent.ledger!;
    for (let i = 0; i < MOVES; i++) {
      const decision = decide(await ledger.entry(this.request.key));
      try {
        if (decision.moved) await ledger.move(decision.next);
        return decision;
      } catch (why) {
        if (!(why instanceof Conflict)) throw why;
      }
    }
    throw new Conflict(`lost ${MOVES} times in a row`);
  }

  /** Stores the outcome of the call. If that fails the entry stays in doubt, which is safe. */
  private async leave(outcome: Outcome, output?: unknown, failure?: Failure): Promise<void> {
    if (outcome === "unknown") return;
    try {
      await this.move((e) => {
        const d = leave(e, this.undo, this.request.identity.attempt, outcome);
        const next = { ...d.next };
        if (next.state === "done" && output !== undefined) next.output = JSON.stringify(output);
        if (next.state === "none" && this.pivot) {
          const message = "the time was too short for a call";
          Object.assign(next, { state: "later", code: "ledger", message });
        }
        if (next.state === "failed" && failure) Object.assign(next, about(failure));
        return { ...d, next };
      });
    } catch (why) {
      this.log("the outcome of a call could not be stored; it is in doubt", why);
    }
  }

  /** Stores that a point of no return has had no effect, before its reply says so (P22a). */
  private async prove(failure: Failure): Promise<void> {
    if (!this.pivot || !failure.noEffect || this.noEffect) return;
    const { resolved, identity } = this.request;
    try {
      const proof = await this.move((e) => {
        const d = refuse(e, identity.attempt, resolved, this.claimed, failure.permanent);
        return d.moved ? { ...d, next: { ...d.next, ...about(failure) } } : d;
      });
      this.noEffect = proof.result;
    } catch (why) {
      this.log("a refusal could not be stored, so it is not proven", why);
    }
  }
}

function about(f: Failure): { code: string; message: string } {
  return { code: f.code, message: f.message.slice(0, MAX_TEXT) };
}
