/** A daemon of its own for a test, in a directory of its own, behind a wire that can be cut. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env["TRL_BIN"] ?? "";
export const TOKEN = "e2e-token-that-nobody-guesses-0123456789";

/** The daemon said no. */
export class Refused extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(message: string, { code, hint }: { code: string; hint?: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

interface Reply<R> {
  result?: R;
  error?: { message: string; data: { code: string; hint?: string } };
}

export class Daemon {
  readonly dir: string;
  #process: ChildProcess | null = null;
  /** Where the daemon listens; the same after a restart. */
  #port = 0;
  readonly #wire = new Wire();

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async start(): Promise<Daemon> {
    if (binary === "") throw new Error("TRL_BIN must name the binary to test");
    const daemon = new Daemon(await mkdtemp(join(tmpdir(), "trl-e2e-")));
    await daemon.up();
    await daemon.#wire.listen();
    return daemon;
  }

  /** The address of the page, through the wire. */
  get address(): string {
    return `http://127.0.0.1:${this.#wire.port}`;
  }

  get wire(): Wire {
    return this.#wire;
  }

  async up(): Promise<void> {
    const env: NodeJS.ProcessEnv = {
      PATH: process.env["PATH"],
      HOME: this.dir,
      SHELL: "/bin/bash",
      PS1: "$ ",
      LANG: "C.UTF-8",
      TRL_AUTH_TOKEN: TOKEN,
      XDG_CONFIG_HOME: join(this.dir, "config"),
      XDG_DATA_HOME: join(this.dir, "data"),
    };
    const words = ["serve", "--socket", join(this.dir, "trl.sock"), "--http", `127.0.0.1:${this.#port}`];
    const child = spawn(binary, words, { env, stdio: ["ignore", "pipe", "inherit"], cwd: this.dir });
    this.#process = child;
    const heard = await said(child, / http on http:\/\/127\.0\.0\.1:(\d+)/);
    this.#port = Number(heard[1]);
    this.#wire.target = this.#port;
  }

  async down(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child?.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  /** What it knew is lost: sessions, requests, history. */
  async forget(): Promise<void> {
    await rm(join(this.dir, "data"), { recursive: true, force: true });
  }

  /** The rules of approval, in place of those there were, all at once. */
  async rules(text: string): Promise<void> {
    const dir = join(this.dir, "config/trl");
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, "approvals.new"), text);
    await rename(join(dir, "approvals.new"), join(dir, "approvals.yaml"));
  }

  /** A token of its own. */
  token(name: string, role: "viewer" | "agent" | "operator"): Promise<{ token: string; token_id: string }> {
    return this.call("token.create", { name, role });
  }

  /** One more runtime: another engine of the same binary, in a directory of its own. */
  addRuntime(name: string): Promise<unknown> {
    const socket = join(this.dir, name, "trl.sock");
    const argv = [binary, "--socket", socket, "stdio", "--resume", "{key}"];
    return this.call("runtime.add", { name, kind: "command", argv });
  }

  async stop(): Promise<void> {
    this.#wire.close();
    await this.down();
    await rm(this.dir, { recursive: true, force: true });
  }

  async call<R>(method: string, params: object = {}): Promise<R> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/rpc`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const reply = (await response.json()) as Reply<R>;
    if (reply.error !== undefined) throw new Refused(reply.error.message, reply.error.data);
    return reply.result as R;
  }
}

function said(child: ChildProcess, wanted: RegExp): Promise<RegExpMatchArray> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const found = wanted.exec(text);
      if (found !== null) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${text}`)));
  });
}

/** What lies between browser and daemon. */
export class Wire {
  target = 0;
  port = 0;
  #isDown = false;
  readonly #pairs = new Set<Socket>();
  readonly #server: Server = createServer((near) => this.#join(near));

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address !== null && typeof address === "object") this.port = address.port;
  }

  /** Every connection is lost, as when a cable is pulled; new ones are possible unless `stay` is told. */
  cut(stay: "open" | "down" = "open"): void {
    this.#isDown = stay === "down";
    for (const socket of this.#pairs) socket.destroy();
    this.#pairs.clear();
  }

  mend(): void {
    this.#isDown = false;
  }

  close(): void {
    this.cut("down");
    this.#server.close();
  }

  #join(near: Socket): void {
    if (this.#isDown) {
      near.destroy();
      return;
    }
    const far = connect(this.target, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#pairs.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#pairs.delete(one);
        other.destroy();
      });
    }
  }
}
