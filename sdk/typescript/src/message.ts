/** What an agent reads and writes: requests, calls, failures and outputs. */

export const SCHEMA = 1;
const MAX_BODY = 1 << 20; // characters of a message; SQS has no longer ones
const MAX_OUTPUT = 48 << 10; // bytes; a reply must fit into one message
export const MAX_LEVELS = 64; // of nested values
const MAX_NUMBER = 128; // characters of a number
const MAX_TEXT = 500; // characters of an error
export const MAX_RAW = 40_000; // characters of a text in which tokens are looked for

const MAX_CODE = 64; // bytes

/** The message has a newer schema, which another instance of the agent may know. */
export class Newer extends Error {}

/**
 * An operation was not done. Its text goes to people and into the state store: it must hold no secrets and no
 * order data.
 */
export class Failure extends Error {
  readonly permanent: boolean = false;
  happened = false; // done, but its output cannot be kept
  code = "failed"; // a short stable word for programs, such as "card-declined"
  noEffect = false; // this call provably had no effect and will have none: it was refused or never sent
  after = 0; // the wait in milliseconds that the service asked for

  constructor(message: string, details: Partial<Pick<Failure, "code" | "noEffect" | "after">> = {}) {
    super(message);
    Object.assign(this, details);
  }
}

/** No repetition can succeed. The step fails for good. */
export class Permanent extends Failure {
  override readonly permanent = true;
}

/** A repetition may succeed. Any error that is no Failure counts as one. */
export class Later extends Failure {}

/** The service did nothing, because the step's condition is not met yet. It counts as no failure. */
export class NotYet extends Failure {
  constructor(message = "the service says: not yet", after = 0) {
    super(message, { code: "not-yet", noEffect: true, after });
  }
}

/** The service refused the agent's credentials and did nothing. It counts as no failure. */
export class Unauthorized extends Failure {
  constructor(message: string) {
    super(message, { code: "unauthorized", noEffect: true });
  }
}

/** Returns the Failure that an error stands for. */
export function classify(error: unknown): Failure {
  const { message, name } = error instanceof Error ? error : new Error(textOf(error));
  const timeout = /^(Abort|Timeout)Error$/.test(name);
  const failure = error instanceof Failure ? error
    : new Later(message || name, { code: timeout ? "timeout" : "failed" });
  const claimsNoCall = ["not-yet", "unauthorized", "breaker-open", "no-agent", "queue"].includes(failure.code);
  if (claimsNoCall && !failure.permanent && !failure.noEffect) failure.code = "failed";
  const code = readable(String(failure.code || "failed")).replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, " ");
  failure.code = new TextDecoder().decode(Buffer.from(code).subarray(0, MAX_CODE), { stream: true });
  return failure;
}

/** Returns the text of what was thrown, whose toString may throw too. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return typeof thrown;
  }
}

/** Returns what is sent and stored of a failure. */
export function about({ code, message }: Failure): { code: string; message: string } {
  return { code, message: readable(message) };
}

// A token for an answer: the ID of its key, its claims in base64, which begin with a digit, and its MAC, whose end may
// be missing. Each character may be escaped for a URL or for JSON. The key does not begin inside an escape of JSON.
const ESCAPE = String.raw`(?:%(?:25)*|\\{1,64}u00)`, DOT = String.raw`(?:\.|${ESCAPE}2[eE])`;
const CHAR = `(?:[0-9A-Za-z_-]|${ESCAPE}(?:2[dD]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]))`;
const TOKEN = String.raw`(?<!\\u.{0,3})(?:[0-9a-f]|${ESCAPE}(?:3[0-9]|6[1-6])){8}${DOT}`
  + String.raw`(?=[MNO%\\])(${CHAR}{1,480})${DOT}${CHAR}{1,22}`;
const ESCAPED = new RegExp(ESCAPE + "(..)", "g");

/** Returns a text, or JSON, without tokens for answers. A service may repeat those of its input (P39). */
export function redact(text: string): string {
  const token = new RegExp(TOKEN, "dg");
  let redacted = "", kept = 0;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const claims = found[1]!.replace(ESCAPED, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    if (/^[0-9]{1,9}\/[a-z][a-z0-9-]*\//.test(Buffer.from(claims, "base64url").toString("latin1"))) {
      redacted += text.slice(kept, found.index) + "(token)";
      kept = token.lastIndex;
    } else token.lastIndex = found.indices![1]![0];
  }
  return redacted + text.slice(kept);
}

/** Returns a text for people, shortened, without halves of characters and without tokens. */
export function readable(text: string): string {
  return redact(text.slice(0, MAX_RAW)).slice(0, MAX_TEXT).replace(/\p{Surrogate}/gu, "\ufffd");
}

/** One call of an operation. Hand `key` to the service in each call; an undo has the key of its do. */
export interface Call {
  readonly orderId: string;
  readonly run: number;
  readonly step: string;
  readonly attempt: number;
  readonly operation: "do" | "undo";
  readonly name: string;
  readonly grade: string;
  readonly key: string;
  readonly stopBy: number; // milliseconds since 1970; no side effect may begin or land after it
  readonly trace: string; // W3C traceparent
  readonly signal: AbortSignal; // aborted when the call must have ended
  /** Returns the milliseconds until the call must have ended. Never negative. */
  remaining(): number;
  /**
   * Reports that the operation of a step with a maxDuration still runs, which restarts its timeout. It may be
   * called at any rate, and does nothing for other steps. People see the note.
   */
  progress(percent?: number, note?: string): Promise<void>;
}

type Members = Record<string, unknown>;

export type Request = ReturnType<typeof readRequest>;

/** Returns a request with its times in milliseconds since 1970. It throws Newer for a newer schema. */
export function readRequest(body: string) {
  if (body.length > MAX_BODY) throw new Error("it is too long");
  const m = (JSON.parse(body) ?? {}) as Members;
  checkText(body);
  check(m, MAX_LEVELS + 1, "request");
  if (whole(m, "schema", 1) > SCHEMA) {
    throw new Newer(`it has schema ${m.schema}, newer than ${SCHEMA}; deploy the newer agent`);
  }
  const operation = text(m, "operation", /^(do|undo)$/) as "do" | "undo", undo = operation === "undo";
  const timeout = whole(m, "timeout", 1), maxDuration = whole(m, "maxDuration", 0);
  const long = !undo && maxDuration > timeout; // it may exceed its timeout while it reports progress
  const resolved = (m.resolved ?? undefined) as Members | undefined, stopBy = time(m, "stopBy");
  if (!stopBy) throw new Error("stopBy is missing");
  for (const name of ["agent", "grade", "trace"]) text(m, name, /^/, "");
  time(m, "completeBy");
  if (typeof (m.pointOfNoReturn ?? false) !== "boolean") throw new Error("pointOfNoReturn is malformed");
  const identity = {
    task: text(m, "task", /^[A-Za-z0-9._:~-]{1,128}$/), run: whole(m, "run", 0),
    step: text(m, "step", /^[a-z][a-z0-9-]{0,39}$/), attempt: whole(m, "attempt", 0), operation,
  };
  return {
    identity, undo, name: text(m, "name", /./s), key: text(m, "key", /./s), grade: text(m, "grade", /^/, ""),
    trace: text(m, "trace", /^/, ""), input: m.input, timeout, long, limit: long ? maxDuration : timeout,
    claimedAt: time(m, "claimedAt"), stopBy, stop: stopBy - whole(m, "clockSkew", 0),
    pointOfNoReturn: m.pointOfNoReturn === true, resolved: resolved === undefined ? undefined : {
      fact: text(resolved, "fact", /^(happened|not-happened|undone)$/), command: whole(resolved, "command", 0),
    },
  };
}

function whole(m: Members, name: string, least: number): number {
  const value = m[name] ?? 0;
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new Error(`${name} must be a whole number of at least ${least}`);
}

function text(m: Members, name: string, pattern: RegExp, otherwise?: string): string {
  const value = m[name] ?? otherwise;
  if (typeof value === "string" && pattern.test(value)) return value;
  throw new Error(`${name} is missing or malformed`);
}

const TIME = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/** Returns a time, or undefined if it is missing. */
function time(m: Members, name: string): number | undefined {
  const value = text(m, name, /^/, ""), day = value.slice(0, 10);
  if (value === "") return undefined;
  const at = TIME.test(value) ? Date.parse(value.toUpperCase()) : NaN;
  // Date takes the last days of a month for the first of the next one.
  if (Number.isNaN(at) || !new Date(day).toISOString().startsWith(day)) throw new Error(`${name} is no time`);
  return at;
}

const WHOLE = /^(schema|run|attempt|timeout|maxDuration|clockSkew|resolved\.command)$/;

/** Throws for JSON that Stepkeeper refuses, although JSON.parse has read it. */
function checkText(json: string): void {
  const objects: { names: Set<string>; name: string }[] = []; // those around the token, with their names so far
  for (const [token, string, colon] of json.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?\d[-+.\deE]*|[{}]/g)) {
    const object = objects.at(-1);
    if (token === "{") objects.push({ names: new Set(), name: "" });
    else if (token === "}") objects.pop();
    else if (colon) {
      object!.name = JSON.parse(string!) as string;
      if (object!.names.has(object!.name)) throw new Error(`the key ${object!.name} stands twice; keep one`);
      object!.names.add(object!.name);
    } else if (!string && (token.length > MAX_NUMBER || /e[-+]?0*[1-9]\d{3}/i.test(token))) {
      throw new Error(`a number has more than ${MAX_NUMBER} characters, or an exponent beyond 999`);
    } else if (!string && objects.length < 3 && /[.e]/i.test(token)) {
      const name = objects.map((o) => o.name).join(".");
      if (WHOLE.test(name)) throw new Error(`${name} must be a whole number`);
    }
  }
}

/** Throws for a value that Stepkeeper refuses. The error names the member. */
export function check(value: unknown, left: number, place: string): void {
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
    throw new Error(`${place}: half of a surrogate pair; send whole characters`);
  }
  if (typeof value !== "object" || value === null) return;
  if (left === 0) throw new Error(`${place.split(".")[0]} has more than ${MAX_LEVELS} levels`);
  for (const [name, member] of Object.entries(value)) {
    check(name, left, place);
    check(member, left - 1, `${place}.${name}`);
  }
}

/** Returns an output as plain JSON. The failure is permanent, because the operation was done. */
export function encode(output: unknown): unknown {
  let code = "output";
  try {
    const json = JSON.stringify(output, (name, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${name} is ${value}`);
      // JSON has {} for them, as for a Promise that lacks its await.
      const lost = /^\[object (Promise|Map|Set|Error)\]$/.exec(Object.prototype.toString.call(value));
      if (lost) throw new Error(`${name || "it"} is a ${lost[1]}, whose content JSON does not have`);
      return value;
    });
    const plain: unknown = json && JSON.parse(json);
    check(plain, MAX_LEVELS, "output");
    const size = json ? Buffer.byteLength(shortest(plain)) : 0;
    if (size > MAX_OUTPUT) {
      code = "output-too-large";
      throw new Error(`it has ${size} bytes and the limit is ${MAX_OUTPUT}; return a reference`);
    }
    return plain;
  } catch (why) {
    const message = `the operation was done, but its output cannot be kept: ${(why as Error).message}`;
    throw Object.assign(new Permanent(message, { code }), { happened: true });
  }
}

/**
 * Returns JSON in its shortest form, which every limit is about. It escapes only what JSON or SQS needs: SQS
 * does not take the characters U+FFFE and U+FFFF.
 */
export function shortest(value: unknown): string {
  return JSON.stringify(value).replace(/[\ufffe\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16));
}
