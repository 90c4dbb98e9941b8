/** Output as it comes, a process that is talked to, and a program on a terminal. */
import { Client } from "trl-client";

const trl = new Client();

// Output as it is written. Leaving the loop early would end the command.
const stream = trl.stream("for i in 1 2 3; do echo line $i; done");
let lines = "";
for await (const chunk of stream) lines += chunk.text;
console.log(lines.trim().split("\n").join(", "), "exit", stream.outcome.exitCode);

// A process that outlives the call which started it: wait for words, answer, wait for its end.
const server = await trl.start("echo ready; while read word; do echo got $word; done", { yield_ms: 250 });
console.log((await server.wait({ pattern: "ready" })).reason);
await server.write("a question\n");
console.log("answered at byte", (await server.wait({ pattern: "got a question" })).matched?.from);
await server.closeStdin();
console.log("ended with", (await server.outcome()).exitCode);

// A terminal: what a person would see, and keys by their names.
const terminal = await trl.terminal(["sh"], { cols: 40, rows: 5, env: { PS1: "> " } });
await terminal.wait(/>/, { timeout_s: 30 });
await terminal.input("echo $((6 * 7))");
await terminal.keys("Enter");
const screen = await terminal.wait(/^42$/m, { timeout_s: 30 });
console.log(screen.text?.split("\n")[1]);
await terminal.destroy();
