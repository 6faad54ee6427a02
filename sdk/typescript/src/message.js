/** What an agent reads and writes: requests, calls, failures and outputs. */
export const SCHEMA = 1;
const MAX_BODY = 1 << 20; // characters of a message; SQS has no longer ones
const MAX_OUTPUT = 48 << 10; // bytes; a reply must fit into one message
const MAX_LEVELS = 64; // of nested values
export const MAX_TEXT = 500; // characters of an error
/** The message has a newer schema. Another instance of the agent may know it. */
export class Newer extends Error {
}
/** The message cannot be read, and never will be. */
export class Unreadable extends Error {
}
/**
 * An operation was not done. Its text goes to people and into the state store: it must hold no secrets and no
 * order data.
 */
export class Failure extends Error {
    permanent = false;
    happened = false; // done, but its output cannot be kept
    code;
    noEffect;
    after;
    constructor(message, { code = "failed", noEffect = false, after = 0 } = {}) {
        super(message);
        this.code = code;
        this.noEffect = noEffect;
        this.after = after;
    }
}
/** No repetition can succeed. The step fails for good. */
export class Permanent extends Failure {
    permanent = true;
}
/** A repetition may succeed. Any error that is no Failure counts as one. */
export class Later extends Failure {
}
/** The service did nothing, because the step's condition is not met yet. It counts as no failure. */
export class NotYet extends Failure {
    constructor(message = "the service says: not yet", after = 0) {
        super(message, { code: "not-yet", noEffect: true, after });
    }
}
/** The service refused the agent's credentials and did nothing. It counts as no failure. */
export class Unauthorized extends Failure {
    constructor(message) {
        super(message, { code: "unauthorized", noEffect: true });
    }
}
/** Returns the Failure that an error stands for. */
export function classify(error) {
    let failure;
    if (error instanceof Failure) {
        failure = error;
    }
    else {
        const name = error instanceof Error ? error.name : "";
        const text = (error instanceof Error && error.message) || name || String(error);
        failure = new Later(text, { code: /^(Abort|Timeout)Error$/.test(name) ? "timeout" : "failed" });
    }
    const claimsNoCall = ["not-yet", "unauthorized", "breaker-open"].includes(failure.code);
    if (claimsNoCall && !failure.permanent && !failure.noEffect)
        failure.code = "failed";
    failure.code = failure.code.replace(/[^!-~]/g, "-").slice(0, 64) || "failed";
    return failure;
}
/** Returns a request. Throws Newer or Unreadable. */
export function readRequest(body) {
    let m;
    try {
        if (body.length > MAX_BODY)
            throw new Error("it is too long");
        m = JSON.parse(body);
    }
    catch (why) {
        throw new Unreadable(String(why));
    }
    if (typeof m !== "object" || m === null)
        throw new Unreadable("it is no JSON object");
    if (whole(m, "schema", 1) > SCHEMA)
        throw new Newer();
    const operation = text(m, "operation", /^(do|undo)$/);
    const identity = {
        task: text(m, "task", /^[A-Za-z0-9._:~-]{1,128}$/), run: whole(m, "run", 0),
        step: text(m, "step", /^[a-z][a-z0-9-]{0,39}$/), attempt: whole(m, "attempt", 1), operation,
    };
    const timeout = whole(m, "timeout", 1), maxDuration = whole(m, "maxDuration", 0, 0);
    const stopBy = time(m, "stopBy");
    const resolved = m.resolved;
    if (resolved)
        whole(resolved, "command", 0);
    const fault = fits(m, MAX_LEVELS + 1);
    if (fault)
        throw new Unreadable(fault);
    return {
        identity, name: text(m, "name"), key: text(m, "key"), grade: String(m.grade ?? ""), timeout, maxDuration,
        long: operation === "do" && maxDuration > timeout,
        claimedAt: m.claimedAt ? time(m, "claimedAt") : undefined, stopBy, stop: stopBy - whole(m, "clockSkew", 0, 0), input: m.input,
        resolved: resolved ?? undefined, pointOfNoReturn: m.pointOfNoReturn === true,
        trace: String(m.trace ?? ""),
    };
}
function whole(m, name, least, otherwise) {
    const value = m[name] ?? otherwise;
    if (!Number.isSafeInteger(value) || value < least) {
        throw new Unreadable(`${name} must be a whole number of at least ${least}`);
    }
    return value;
}
function text(m, name, pattern = /^[^]{1,1000}$/) {
    const value = m[name];
    if (typeof value === "string" && pattern.test(value))
        return value;
    throw new Unreadable(`${name} is missing or malformed`);
}
function time(m, name) {
    const at = Date.parse(text(m, name, /^\d{4}-\d\d-\d\d[Tt][\d:.]+([Zz]|[+-]\d\d:\d\d)$/).toUpperCase());
    if (Number.isNaN(at))
        throw new Unreadable(`${name} is no time`);
    return at;
}
/** Returns why a value cannot be kept, or "". */
function fits(value, left) {
    if (typeof value !== "object" || value === null)
        return "";
    if (left === 0)
        return `it has more than ${MAX_LEVELS} levels`;
    for (const member of Object.values(value)) {
        const fault = fits(member, left - 1);
        if (fault)
            return fault;
    }
    return "";
}
/** Returns an output as plain JSON. The failure is permanent, because the operation was done. */
export function encode(output) {
    let fault;
    try {
        const json = JSON.stringify(output, (name, value) => {
            if (typeof value === "number" && !Number.isFinite(value))
                throw new Error(`${name} is ${value}`);
            return value;
        });
        if (json === undefined)
            return undefined;
        const plain = JSON.parse(json);
        const size = Buffer.byteLength(json);
        fault = size > MAX_OUTPUT ? `it has ${size} bytes and the limit is ${MAX_OUTPUT}; return a reference`
            : fits(plain, MAX_LEVELS);
        if (!fault)
            return plain;
    }
    catch (why) {
        fault = String(why);
    }
    const failure = new Permanent(`the operation was done, but its output cannot be kept: ${fault}`, { code: "output" });
    failure.happened = true;
    throw failure;
}
/** Returns JSON in ASCII, which SQS takes whole. */
export function ascii(value) {
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}
