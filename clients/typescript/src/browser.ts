/** The entry for browsers: over HTTP and WebSocket, with what every browser has. */
import type { Channel, Door } from "./channel.js";
import { DaemonClient } from "./client.js";
import { lost, refusal, TrlError } from "./errors.js";

export * from "./shared.js";

export interface ClientOptions {
  /** Where the daemon is; the page's own origin unless told otherwise. */
  url?: string;
  token: string;
}

/** A way to a daemon over HTTP. Nothing is connected before it is needed; a lost connection is opened again. */
export class Client extends DaemonClient {
  constructor({ url = location.origin, token }: ClientOptions) {
    super(new BrowserDoor(url.replace(/\/$/, ""), token));
  }
}

class BrowserDoor implements Door {
  /** A WebSocket presents a ticket. */
  readonly token = undefined;
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  open(): Promise<Channel> {
    return this.attach("/ws/rpc");
  }

  async attach(path: string, protocol?: string): Promise<Channel> {
    const ticket = `ticket=${encodeURIComponent(await this.#ticket())}`;
    const address = `${this.#url.replace(/^http/, "ws")}${path}${path.includes("?") ? "&" : "?"}${ticket}`;
    const socket = protocol === undefined ? new WebSocket(address) : new WebSocket(address, protocol);
    socket.binaryType = "arraybuffer";
    return opened(socket);
  }

  async #ticket(): Promise<string> {
    const headers = { Authorization: `Bearer ${this.#token}` };
    let response: Response;
    try {
      response = await fetch(`${this.#url}/api/tickets`, { method: "POST", headers });
    } catch (error) {
      throw new TrlError("CONNECTION_FAILED", `cannot connect to ${this.#url}: ${String(error)}`);
    }
    const body = (await response.json()) as { ticket: string; error?: { code: string; message: string } };
    if (body.error !== undefined) throw refusal({ ...body.error });
    return body.ticket;
  }
}

/** The socket as a channel, once it is open. A browser reads on by itself: what nobody took yet waits in memory. */
function opened(socket: WebSocket): Promise<Channel> {
  const heard: (string | Uint8Array)[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  async function* messages(): AsyncGenerator<string | Uint8Array> {
    for (;;) {
      for (let message = heard.shift(); message !== undefined; message = heard.shift()) yield message;
      if (isOver) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const channel: Channel = {
    send: (message) => socket.send(message as string),
    messages: messages(),
    close: () => socket.close(),
    await: () => undefined,
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    heard.push(typeof data === "string" ? data : new Uint8Array(data));
    wake();
  };
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve(channel);
    socket.onclose = ({ code, reason }) => {
      isOver = true;
      wake();
      reject(lost(`the daemon closed the connection: ${code} ${reason}`));
    };
  });
}
