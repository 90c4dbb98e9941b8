/**
 * Where the daemon is, whether that can be trusted, and how one is started: as the command line does.
 *
 * 1. `check` refuses a socket in a directory that others can reach into.
 * 2. `spawn` starts `trl serve` in `/`, with an environment that is the user's and not the caller's. Never from inside a
 *    session: such a daemon would be killed with the command that started it.
 */
import { spawn as spawnProcess, type ChildProcess } from "node:child_process";
import { lstatSync, readFileSync, statSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { TrlError } from "../errors.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The kernel's bound on the path of a Unix socket. */
const LONGEST_SOCKET = 107;

export function defaultSocket(env: Env): string {
  if (env["TRL_SOCKET_PATH"]) return env["TRL_SOCKET_PATH"];
  const runtime = absolute(env, "XDG_RUNTIME_DIR") ?? usualRuntime();
  if (runtime !== undefined) return join(runtime, "trl/trl.sock");
  return join(absolute(env, "TMPDIR") ?? "/tmp", `trl-${uid()}`, "trl.sock");
}

/** Where the variable is not handed on, the directory is there all the same. */
function usualRuntime(): string | undefined {
  const path = `/run/user/${uid()}`;
  const found = lstatSync(path, { throwIfNoEntry: false });
  const isPrivate = found?.isDirectory() === true && found.uid === uid() && (found.mode & 0o777) === 0o700;
  return isPrivate ? path : undefined;
}

/** The operator's token as the command line finds it: in the environment, else in the daemon's file. */
export function operatorToken(): string | undefined {
  const given = process.env["TRL_AUTH_TOKEN"];
  if (given) return given;
  const config = absolute(process.env, "XDG_CONFIG_HOME") ?? join(homedir(), ".config");
  const path = join(config, "trl/operator.token");
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if ((found.mode & 0o077) !== 0) {
    throw new TrlError("CONNECTION_FAILED", `${path}: its mode is not 0600: others could have read it`);
  }
  return readFileSync(path, "utf8").trim();
}

/** A relative path in one of these variables is to be ignored, say the XDG rules. */
function absolute(env: Env, name: string): string | undefined {
  const path = env[name];
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function uid(): number {
  return process.geteuid?.() ?? 0;
}

/** Could only this user have put a socket there? */
export function check(socket: string): void {
  if (Buffer.byteLength(socket) > LONGEST_SOCKET) {
    throw new TrlError(
      "CONNECTION_FAILED",
      `${socket} is longer than the ${LONGEST_SOCKET} bytes of a socket`,
    );
  }
  const folder = dirname(resolve(socket));
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) throw notRunning(socket);
  const fault = faultOf(found);
  if (fault !== undefined) {
    throw new TrlError("UNTRUSTED_SOCKET", `not using the socket directory ${folder}: ${fault}`);
  }
}

function faultOf(found: Stats): string | undefined {
  const mode = found.mode & 0o777;
  if (found.isSymbolicLink()) return "it is a symbolic link";
  if (!found.isDirectory()) return "it is not a directory";
  if (found.uid !== uid()) return `it belongs to user ${found.uid}, not to you`;
  if (mode === 0o700) return undefined;
  return `its mode is ${mode.toString(8).padStart(4, "0")}, not 0700: others could reach into it`;
}

export function notRunning(socket: string): TrlError {
  return new TrlError("NOT_RUNNING", `no daemon is running at ${socket}`, {
    hint: "start one with `trl serve`",
  });
}

/** A daemon that was started; `ended` says why once it has ended. */
export interface Started {
  ended(): string | undefined;
}

export function spawn(socket: string, program: string): Started {
  if (inSession()) {
    throw new TrlError("NOT_RUNNING", `no daemon is at ${socket}, and inside a session none is started`);
  }
  const child: ChildProcess = spawnProcess(program, ["serve", "--detach", "--socket", socket], {
    cwd: "/",
    env: clean(process.env),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  let ended: string | undefined;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.on("error", (error) => (ended = error.message));
  child.on("close", (code) => (ended ??= said.trim() || `it ended with ${code}`));
  // It stays, whatever becomes of us.
  child.unref();
  (child.stderr as unknown as { unref?(): void } | null)?.unref?.();
  return { ended: () => ended };
}

/** Variables about the user, not about the program that happens to need a daemon. The token would stay readable. */
function clean(env: Env): Record<string, string> {
  const names = ["HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"];
  const belongs = (name: string) => names.includes(name) || /^(LC|XDG|TRL)_/.test(name);
  const kept = Object.entries(env).filter(([name]) => name !== "TRL_AUTH_TOKEN" && belongs(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

/** Is a keeper, which every session has, among our ancestors? */
function inSession(): boolean {
  try {
    for (let pid = process.pid; pid > 1;) {
      if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "trl-keeper") return true;
      pid = Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(")").at(-1)?.trim().split(" ")[1]);
    }
  } catch {
    // No such process, or no /proc: nothing says so.
  }
  return false;
}
