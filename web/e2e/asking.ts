/** Commands that wait for a person: asked for as an agent does, with nobody at the other end but the daemon. */
import { Refused, type Daemon } from "./daemon";
import type { components } from "../src/api/schema.gen";

type Schemas = components["schemas"];
export type ApprovalRequest = Schemas["ApprovalRequest"];

/** `echo` and `cd` run, `rm` never does, all else is asked about. */
export const RULES = `default: ask
rules:
- allow: [echo, cd]
- ask: [touch]
  reason: files are made with care
- deny: [rm]
  reason: nothing is removed here
`;

/** A command that waits, and what came of it: its result, or why it was not run; the daemon may be gone before. */
export interface Waiting {
  request: ApprovalRequest;
  end: Promise<Schemas["RunResult"] | Refused>;
}

/** How often each name was asked for: a live session has its name alone. */
const times = new Map<string, number>();

export async function session(daemon: Daemon, name: string): Promise<string> {
  const time = (times.get(name) ?? 0) + 1;
  times.set(name, time);
  const made = await daemon.call<{ session_id: string }>("session.create", {
    name: time === 1 ? name : `${name} ${time}`,
    shell: "bash",
    working_dir: daemon.dir,
  });
  return made.session_id;
}

/** Asks for a command in a session, and resolves when it waits. */
export async function ask(daemon: Daemon, session_id: string, command: string): Promise<Waiting> {
  const end = daemon
    .call<Schemas["RunResult"]>("exec.run", { session_id, command })
    .catch((error: unknown) => {
      if (error instanceof Refused) return error;
      return new Refused(String(error), { code: "UNREACHABLE" });
    });
  for (;;) {
    const { requests } = await daemon.call<Schemas["RequestList"]>("hitl.list", { session_id });
    const [request] = requests;
    if (request !== undefined) return { request, end };
    const ended = await Promise.race([end, new Promise<null>((resolve) => setTimeout(resolve, 20, null))]);
    if (ended !== null) throw new Error(`it did not wait: ${JSON.stringify(ended)}`);
  }
}

/** The same in a session of its own. */
export async function askAnew(daemon: Daemon, name: string, command: string): Promise<Waiting> {
  return ask(daemon, await session(daemon, name), command);
}

/** Somebody who is at none of the pages answers. */
export function answer(
  daemon: Daemon,
  { request_id, digest }: ApprovalRequest,
  what: object,
): Promise<ApprovalRequest> {
  return daemon.call("hitl.respond", { request_id, digest, ...what });
}

/** Nothing waits after this. */
export async function rejectAll(daemon: Daemon): Promise<void> {
  const { requests } = await daemon.call<Schemas["RequestList"]>("hitl.list");
  for (const request of requests) await answer(daemon, request, { decision: "reject" });
}

/** Resolves when it waits no longer. */
export function settled(daemon: Daemon, { request_id }: ApprovalRequest): Promise<ApprovalRequest> {
  return daemon.call("hitl.wait", { request_id });
}
