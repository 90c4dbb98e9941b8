/** The agent of the test kit: it speaks the Agent Client Protocol for real, does what a message says, and has no model. */
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Daemon } from "./daemon";

const FIXTURE = join(import.meta.dirname, "../../crates/trl-testkit/fixtures/agent.py");

/** A case whose agent that is, with these flags, and these further lines. */
export async function agentCase(daemon: Daemon, id: string, flags: string[] = [], more = ""): Promise<void> {
  const [program, store, cases] = ["fake-agent", "agent-store", "config/trl/cases"].map((name) =>
    join(daemon.dir, name),
  ) as [string, string, string];
  await mkdir(store, { recursive: true });
  await mkdir(cases, { recursive: true });
  await copyFile(FIXTURE, program);
  await chmod(program, 0o700);
  const agent = JSON.stringify({ command: [program, ...flags], env: { FAKE_AGENT_STORE: store } });
  await writeFile(join(cases, `${id}.yaml`), `agent: ${agent}\n${more}`, { mode: 0o600 });
}

export async function agentSession(daemon: Daemon, name: string, case_id = "coder"): Promise<string> {
  const working_dir = join(daemon.dir, "work");
  await mkdir(working_dir, { recursive: true });
  const made = await daemon.call<{ session_id: string }>("session.create", { name, case_id, working_dir });
  return made.session_id;
}

/** Says something from elsewhere and waits until it is over. */
export async function say(daemon: Daemon, session_id: string, message: string): Promise<void> {
  const { message_id } = await daemon.call<{ message_id: string }>("agent.send_message", {
    session_id,
    message,
  });
  for (;;) {
    const { messages } = await daemon.call<{ messages: { message_id: string; state: string }[] }>(
      "agent.history",
      { session_id, limit: 1 },
    );
    if (messages.some((one) => one.message_id === message_id && one.state === "done")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
