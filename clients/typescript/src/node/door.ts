/** The ways to a daemon from Node. */
import { connect, type Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as pause } from "node:timers/promises";

import type { Channel, Door } from "../channel.js";
import { isTrlError, lost, TrlError } from "../errors.js";
import { check, defaultSocket, notRunning, spawn } from "./find.js";
import { upgrade } from "./websocket.js";

export interface ClientOptions {
  /** The daemon's socket; found as the command line finds it (`TRL_SOCKET_PATH`, `XDG_RUNTIME_DIR`) unless given. */
  socket?: string;
  /** Over HTTP instead: `http://127.0.0.1:7870`. */
  url?: string;
  /** `TRL_AUTH_TOKEN` unless given. */
  token?: string | undefined;
  /** The program to start a daemon with when none runs, `trl` unless given; false forbids it. */
  autostart?: string | false;
}

/** How long a daemon that was started may take to answer. */
const PATIENCE_MS = 5000;
/** How long the one that stays may take after another one that was started has ended at its lock. */
const AFTER_EXIT_MS = 2000;
const BETWEEN_TRIES_MS = 10;

export function door({ socket, url, token, autostart = "trl" }: ClientOptions): Door {
  const presented = token ?? (process.env["TRL_AUTH_TOKEN"] || undefined);
  if (url !== undefined) return new HttpDoor(url, presented);
  return new SocketDoor(socket ?? defaultSocket(process.env), presented, autostart);
}

class HttpDoor implements Door {
  /** The handshake presents it. */
  readonly token = undefined;
  readonly #url: string;
  readonly #token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
  }

  open(): Promise<Channel> {
    return this.attach("/ws/rpc");
  }

  attach(path: string, protocol?: string): Promise<Channel> {
    if (!/^https?:/.test(this.#url)) {
      throw new TrlError("CONNECTION_FAILED", `not an address of a daemon: ${this.#url}`);
    }
    return upgrade({ url: this.#url + path, token: this.#token, protocol });
  }
}

class SocketDoor implements Door {
  readonly token: string | undefined;
  readonly #path: string;
  readonly #autostart: string | false;

  constructor(path: string, token: string | undefined, autostart: string | false) {
    this.#path = path;
    this.token = token;
    this.#autostart = autostart;
  }

  async open(): Promise<Channel> {
    return lines(await this.#connect());
  }

  async attach(path: string, protocol: string): Promise<Channel> {
    check(this.#path);
    return upgrade({ url: `http://localhost${path}`, socketPath: this.#path, token: this.token, protocol });
  }

  async #connect(): Promise<Socket> {
    try {
      return await dial(this.#path);
    } catch (error) {
      if (this.#autostart === false || !isTrlError(error, "NOT_RUNNING")) throw error;
    }
    return this.#start(this.#autostart);
  }

  /** When two start a daemon at once, one of the daemons ends at the other's lock, and both connect to the other. */
  async #start(program: string): Promise<Socket> {
    const child = spawn(this.#path, program);
    let deadline = Date.now() + PATIENCE_MS;
    let ended: string | undefined;
    for (;;) {
      try {
        return await dial(this.#path);
      } catch (error) {
        if (!isTrlError(error, "NOT_RUNNING")) throw error;
      }
      if (ended === undefined && (ended = child.ended()) !== undefined) {
        deadline = Math.min(deadline, Date.now() + AFTER_EXIT_MS);
      }
      if (Date.now() >= deadline) {
        const why = ended ?? `it does not answer after ${PATIENCE_MS / 1000} s`;
        throw new TrlError("DID_NOT_START", `the daemon did not start: ${why}`);
      }
      await pause(BETWEEN_TRIES_MS);
    }
  }
}

async function dial(path: string): Promise<Socket> {
  check(path);
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const failed = (error: NodeJS.ErrnoException) => {
      const nobody = error.code === "ENOENT" || error.code === "ECONNREFUSED";
      const other = new TrlError("CONNECTION_FAILED", `cannot connect to ${path}: ${error.message}`);
      reject(nobody ? notRunning(path) : other);
    };
    socket.once("error", failed);
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(socket);
    });
  });
}

/** One JSON value a line. */
function lines(socket: Socket): Channel {
  // Told by the end of what is read.
  socket.on("error", () => undefined);
  async function* messages(): AsyncGenerator<string> {
    const decoder = new StringDecoder("utf8");
    let pieces: string[] = [];
    try {
      for await (const data of socket) {
        const parts = decoder.write(data as Buffer).split("\n");
        for (const [at, part] of parts.entries()) {
          pieces.push(part);
          if (at === parts.length - 1) break;
          yield pieces.join("");
          pieces = [];
        }
      }
    } catch (error) {
      throw lost(error instanceof Error ? error.message : String(error));
    }
  }
  return {
    send: (message) => void socket.write(`${String(message)}\n`),
    messages: messages(),
    close: () => void socket.destroy(),
    await: (isAwaited) => void (isAwaited ? socket.ref() : socket.unref()),
  };
}
