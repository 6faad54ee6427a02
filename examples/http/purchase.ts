// Submits, cancels, answers and follows orders of the workflow purchase over HTTP, with nothing but fetch: for Node 20, Deno,
// Bun or a browser. docs/how-to/http-orders.md has the workflow. Every call can be repeated, so `call` repeats it until the
// server responds.

const server = "http://127.0.0.1:8377";

/** Posts a body, or gets the path if there is none. */
async function call(path: string, body?: object): Promise<any> {
  for (let tries = 0; tries < 10; tries++) {
    const response = await fetch(server + path, body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }).catch(() => null); // no connection, or it broke
    if (response?.ok) return response.json();
    const busy = !response || response.status === 429 || response.status === 503;
    if (!busy) throw new Error((await response.json()).detail);
    const wait = Number(response?.headers.get("Retry-After") ?? 1);
    await new Promise((passed) => setTimeout(passed, wait * 1000));
  }
  throw new Error(`${server}${path} does not respond`);
}

/** Yields each version of an order until it has ended. */
async function* follow(order: string): AsyncGenerator<any> {
  const response = await fetch(`${server}/v1/orders/${order}/events`);
  const text = new TextDecoder();
  let rest = "";
  for await (const part of response.body as any) {
    const lines = (rest + text.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((line) => line.startsWith("data: "))) {
      const task = JSON.parse(line.slice("data: ".length));
      yield task;
      if (task.ended) return;
    }
  }
}

for (const order of ["b-1", "b-2"]) {
  await call("/v1/orders", { schema: 1, orderId: order, workflow: "purchase", order: { amount: 120 } });
}
await call("/v1/orders/b-2/cancel", { by: "ann", reason: "she changed her mind", id: "cancel-b-2" });
console.log("b-2", (await call("/v1/orders/b-2?wait=30s")).state);

for (const question of (await call("/v1/approvals")).approvals) {
  if (question.orderId !== "b-1") continue;
  const { step, run, round } = question;
  await call("/v1/orders/b-1/answers", { step, run, round, value: "yes", by: "ann", id: "approval-b-1" });
}
await call("/v1/orders/b-1/answers", { event: "payment-settled", value: { status: "ok" }, by: "bank", id: "evt-b-1" });
let state = "";
for await (const task of follow("b-1")) state = task.state;
console.log("b-1", state);

await call("/v1/orders/b-1/cancel", { by: "ann", reason: "too late", id: "cancel-b-1" })
  .catch((refusal) => console.log("refused:", refusal.message));
