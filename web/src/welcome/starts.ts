/** Ready-made starting points: each makes something that works today and takes the person there. */
import { ApiError, call } from "../api/http";
import { DEFAULT_WORKSPACE, go } from "../app/router";
import type { Methods } from "../api/types";
import type { Key } from "../i18n";
import type { IconName } from "../ui/icons";

export interface Start {
  icon: IconName;
  title: Key;
  text: Key;
  /** It is there when the daemon has this. */
  needs?: keyof Methods;
  run: () => Promise<void>;
}

/** Half a minute of output, as a build has it; nothing is really built. */
const BUILD = `for i in $(seq 1 30); do
  printf '\\033[32m%5s\\033[0m module %s\\n' "$i/30" "$i"; sleep 1
done; echo finished`;

async function session(name: string): Promise<string> {
  try {
    return (await call("session.create", { name, shell: "bash" })).session_id;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "SHELL_NOT_FOUND") throw error;
    return (await call("session.create", { name })).session_id;
  }
}

async function terminal(what: { name?: string; argv?: string[] }): Promise<void> {
  const workspace = DEFAULT_WORKSPACE;
  const made = await call("terminal.create", { workspace_id: workspace, ...what });
  go({ page: "workspace", workspace, open: made.terminal_id });
}

export const starts: Start[] = [
  {
    icon: "terminal",
    title: "welcome.terminalTitle",
    text: "welcome.terminalText",
    run: () => terminal({}),
  },
  {
    icon: "sessions",
    title: "welcome.scratchTitle",
    text: "welcome.scratchText",
    run: async () => go({ page: "session", id: await session("scratch") }),
  },
  {
    icon: "chat",
    title: "welcome.agentTitle",
    text: "welcome.agentText",
    needs: "agent.send_message",
    run: () => {
      go({ page: "chat" });
      return Promise.resolve();
    },
  },
  {
    icon: "play",
    title: "welcome.buildTitle",
    text: "welcome.buildText",
    run: async () => {
      const session_id = await session("build");
      await call("exec.stream", { session_id, command: BUILD, timeout_s: 0 });
      go({ page: "session", id: session_id });
    },
  },
  {
    icon: "diagnostics",
    title: "welcome.topTitle",
    text: "welcome.topText",
    run: () => terminal({ name: "top", argv: ["top"] }),
  },
];
