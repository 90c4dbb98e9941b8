/** A daemon of the tests' own: the real binary (`TRL_BIN`), in a directory that goes with it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client, type ClientOptions } from "trl-client";

export const BINARY = process.env["TRL_BIN"] ?? "trl";

export class Daemon {
  readonly dir = mkdtempSync(join(tmpdir(), "trl-ts-"));
  readonly socket = join(this.dir, "run/trl/trl.sock");
  http = "";
  #child: ChildProcess | undefined;
  readonly #clients: Client[] = [];

  static async start(): Promise<Daemon> {
    const daemon = new Daemon();
    for (const name of ["home", "config/trl", "run/trl"]) {
      mkdirSync(join(daemon.dir, name), { recursive: true, mode: 0o700 });
    }
    await daemon.start();
    return daemon;
  }

  get env(): Record<string, string> {
    return {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: join(this.dir, "home"),
      XDG_CONFIG_HOME: join(this.dir, "config"),
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      LANG: "C.UTF-8",
    };
  }

  async start(): Promise<void> {
    const log = openSync(join(this.dir, "log"), "a");
    const argv = ["serve", "--socket", this.socket, "--http", "127.0.0.1:0"];
    const child = spawn(BINARY, argv, { cwd: "/", env: this.env, stdio: ["ignore", "pipe", log] });
    this.#child = child;
    for await (const line of createInterface(child.stdout!)) {
      const http = /http on (\S+)/.exec(line)?.[1];
      if (http === undefined) continue;
      this.http = http.startsWith("http") ? http : `http://${http}`;
      return;
    }
    throw new Error(`no daemon: ${readFileSync(join(this.dir, "log"), "utf8")}`);
  }

  client(options: ClientOptions = {}): Client {
    const client = new Client({ socket: this.socket, autostart: false, ...options });
    this.#clients.push(client);
    return client;
  }

  get operator(): string {
    return readFileSync(join(this.dir, "config/trl/operator.token"), "utf8").trim();
  }

  rules(text: string): void {
    writeFileSync(join(this.dir, "config/trl/approvals.yaml"), text);
  }

  /** Ends the daemon, which may be started again. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
  }

  async remove(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.end();
    rmSync(this.dir, { recursive: true });
  }
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}
