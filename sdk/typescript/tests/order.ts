// Sends an order beside `stepkeeper dev`, and reads its statuses until it is completed.
import { Client } from "../src/index.js";

const client = new Client({ statuses: "status-shop" });
await client.submit({ workflow: "cloakroom", orderId: "o-1", order: { coat: "red" }, replyTo: "shop" });
let last = "";
for await (const { status } of client.statuses(AbortSignal.timeout(50_000))) {
  last = status;
  if (status === "completed") break;
}
if (last !== "completed") throw new Error("the order was not completed");
