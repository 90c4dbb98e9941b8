/**
 * What the picture shows: a small project with a bug, an agent that fixes it, and two terminals.
 *
 * 1. `fillProject` makes the project a git repository with a remote, so that every command in the picture is real.
 * 2. `writeCase` writes the case of the agent: a sandbox, and a rule that asks before `git push`.
 * 3. `startSession` and `startTerminal` start what the browser then shows.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { components } from "../src/api/schema.gen";
import type { Daemon } from "../e2e/daemon";

type Schemas = components["schemas"];

const HERE = import.meta.dirname;
/** Short and neutral, because the picture shows this path. */
export const PROJECT = "/tmp/shop";
const CASE = "coder";
export const WORKSPACE = "main";

/** Without npm's notices about newer versions of itself. */
const ENV = { npm_config_update_notifier: "false" };

/** Fills the directory of the project and makes it a repository with a remote. */
export async function fillProject(daemon: Daemon): Promise<void> {
  await cp(join(HERE, "shop"), PROJECT, { recursive: true });
  const remote = join(daemon.dir, "shop.git");
  git("init", "--bare", "-b", "main", remote);
  git("init", "-b", "main");
  git("config", "user.name", "Demo agent");
  git("config", "user.email", "agent@example.org");
  git("remote", "add", "origin", remote);
  git("add", ".");
  git("commit", "-m", "Version 1.4");
  git("push", "--quiet", "origin", "main");
}

function git(...words: string[]): void {
  const env = { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  execFileSync("git", words, { cwd: PROJECT, env, stdio: ["ignore", "ignore", "inherit"] });
}

/** Writes the case, and puts the agent where the sandbox lets it be read: into the project, as npm would. */
export async function writeCase(daemon: Daemon): Promise<void> {
  const agent = join(PROJECT, "node_modules/demo-agent/agent.mjs");
  await cp(join(HERE, "agent.mjs"), agent);
  const text = {
    shell: "/bin/bash",
    env: { ...ENV, FORCE_COLOR: "1" },
    sandbox: { mode: "workspace-write", net: "all" },
    agent: { command: [process.execPath, agent] },
    approval: { default: "allow", rules: [{ ask: ["git push"], reason: "a push to main is deployed" }] },
  };
  const dir = join(daemon.dir, "config/trl/cases");
  await mkdir(dir, { recursive: true });
  // JSON is YAML.
  await writeFile(join(dir, `${CASE}.yaml`), JSON.stringify(text), { mode: 0o600 });
}

export async function startSession(daemon: Daemon, name: string): Promise<string> {
  const params = { name, case_id: CASE, working_dir: PROJECT };
  const { session_id } = await daemon.call<Schemas["CreateReply"]>("session.create", params);
  return session_id;
}

/** Starts a program on a terminal of the workspace and returns the terminal's id. */
export async function startTerminal(daemon: Daemon, name: string, argv: string[]): Promise<string> {
  const params = { name, argv, workspace_id: WORKSPACE, working_dir: PROJECT, env: ENV };
  const { terminal_id } = await daemon.call<Schemas["TerminalInfo"]>("terminal.create", params);
  return terminal_id;
}

/** The configuration of vim in the second terminal. */
export async function configureVim(daemon: Daemon): Promise<void> {
  await cp(join(HERE, "vimrc"), join(daemon.dir, ".vimrc"));
}
