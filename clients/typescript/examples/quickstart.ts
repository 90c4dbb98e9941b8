/** Runs commands in a throw-away session, and in one whose state stays. */
import { Client, isTrlError } from "trl-client";

const trl = new Client();

const result = await trl.run("echo hello; echo oops >&2; exit 7");
console.log(result.exitCode, result.text.trim(), result.stderrText.trim());

// A command that takes too long is a result, not an exception.
const slow = await trl.run("echo part; sleep 60", { timeout_s: 0.2 });
console.log("timed out:", slow.timedOut, "after writing", slow.stdout.length, "bytes");

// One shell: the directory, variables and functions stay from command to command.
const session = await trl.session({ shell: "bash", name: "example" });
(await session.run("cd /usr && export WHO=me")).check();
console.log((await session.run('echo "$WHO in $PWD"')).text.trim());
// A command that ends its own shell does not end the session.
console.log(
  (await session.run("WHO=nobody; exit 3")).shellState,
  (await session.run("echo $WHO")).text.trim(),
);
await session.destroy();

// What the daemon refuses is an exception with a code.
try {
  await trl.sessionById("s-nope1234").run("true");
} catch (error) {
  if (!isTrlError(error, "SESSION_NOT_FOUND")) throw error;
  console.log(error.code);
}
