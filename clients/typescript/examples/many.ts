/** Many commands at once, events, and giving up. */
import { Client } from "trl-client";

const trl = new Client();

// These share one connection.
const numbers = Array.from({ length: 10 }, (_, n) => n);
const runs = numbers.map((n) => trl.run(`echo ${n}; exit ${n}`, { on_disconnect: "continue" }));
console.log((await Promise.all(runs)).map((result) => result.exitCode).join(" "));

// Whoever gives up waiting ends the command, unless `on_disconnect` is "continue".
const events = await trl.events({ kinds: ["exec.started", "exec.finished"] }).open();
const giving = new AbortController();
const run = trl.run("sleep 60", { signal: giving.signal }).catch((error: unknown) => String(error));
for await (const event of events) {
  if (event.kind === "exec.started") giving.abort();
  if (event.kind !== "exec.finished") continue;
  console.log("cancelled:", event.cancelled);
  break;
}
console.log(await run);
