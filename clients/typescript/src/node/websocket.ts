/**
 * WebSockets (RFC 6455) by Node's own HTTP client: that of Node 20 has none, and none of them can present a token.
 *
 * 1. `upgrade` does the handshake. An answer that is no upgrade is what the daemon has to say.
 * 2. Frames become messages; a ping is answered, a close is the end.
 */
import { createHash, randomBytes } from "node:crypto";
import { request as http, type IncomingMessage } from "node:http";
import { request as https } from "node:https";
import type { Duplex } from "node:stream";

import type { Channel } from "../channel.js";
import { lost, refusal, TrlError } from "../errors.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];

interface Address {
  url: string;
  socketPath?: string;
  token: string | undefined;
  protocol: string | undefined;
}

export function upgrade({ url, socketPath, token, protocol }: Address): Promise<Channel> {
  const key = randomBytes(16).toString("base64");
  const headers: Record<string, string> = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Key": key,
    "Sec-WebSocket-Version": "13",
  };
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (protocol !== undefined) headers["Sec-WebSocket-Protocol"] = protocol;
  const make = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    const request = make(url, { headers, ...(socketPath === undefined ? {} : { socketPath }) });
    request.on("upgrade", (response, socket, head) => {
      const proof = createHash("sha1")
        .update(key + GUID)
        .digest("base64");
      if (response.headers["sec-websocket-accept"] === proof) return resolve(channel(socket, head));
      socket.destroy();
      reject(new TrlError("CONNECTION_FAILED", "what answers there is no WebSocket"));
    });
    request.on("response", (response) => void refused(response).then(reject, reject));
    request.on("error", (error) => {
      reject(new TrlError("CONNECTION_FAILED", `cannot connect to ${new URL(url).host}: ${error.message}`));
    });
    request.end();
  });
}

async function refused(response: IncomingMessage): Promise<TrlError> {
  let body = "";
  for await (const piece of response.setEncoding("utf8")) body += piece as string;
  try {
    return refusal({ ...(JSON.parse(body) as { error: { code: string; message: string } }).error });
  } catch {
    return lost(`what answers there is no daemon: HTTP ${response.statusCode}`);
  }
}

function channel(socket: Duplex, head: Buffer): Channel {
  // Told by the end of what is read.
  socket.on("error", () => undefined);
  const held = socket as Duplex & { ref?(): void; unref?(): void };
  return {
    send: (message) => {
      const kind = typeof message === "string" ? TEXT : BINARY;
      socket.write(frame(kind!, typeof message === "string" ? Buffer.from(message) : message));
    },
    messages: messages(socket, head),
    close: () => void socket.destroy(),
    await: (isAwaited) => void (isAwaited ? held.ref?.() : held.unref?.()),
  };
}

async function* messages(socket: Duplex, head: Buffer): AsyncGenerator<string | Uint8Array> {
  const frames = new Frames();
  try {
    for (const message of frames.feed(head, socket)) yield message;
    for await (const data of socket) {
      for (const message of frames.feed(data as Buffer, socket)) yield message;
      if (frames.isClosed) return;
    }
  } catch (error) {
    throw lost(error instanceof Error ? error.message : String(error));
  }
}

/** Puts messages together from bytes. */
class Frames {
  #pieces: Buffer[] = [];
  #size = 0;
  #message: Buffer[] = [];
  #kind = TEXT;
  isClosed = false;

  /** Whole messages; what the other side must be answered is written to `back`. */
  feed(data: Buffer, back: Duplex): (string | Uint8Array)[] {
    this.#pieces.push(data);
    this.#size += data.length;
    const found: (string | Uint8Array)[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { final, kind, payload } = next;
      if (kind === CLOSE) this.isClosed = true;
      else if (kind === PING) back.write(frame(PONG!, payload));
      else if (kind !== PONG) {
        this.#kind = kind || this.#kind;
        this.#message.push(payload);
        if (!final) continue;
        const whole = Buffer.concat(this.#message);
        this.#message = [];
        found.push(this.#kind === BINARY ? new Uint8Array(whole) : whole.toString("utf8"));
      }
    }
    return found;
  }

  #next(): { final: boolean; kind: number; payload: Buffer } | undefined {
    const start = this.#peek(Math.min(10, this.#size));
    if (start.length < 2) return undefined;
    let [length, at] = [start[1]! & 0x7f, 2];
    if (length >= 126) {
      at += length === 126 ? 2 : 8;
      if (start.length < at) return undefined;
      length = length === 126 ? start.readUInt16BE(2) : Number(start.readBigUInt64BE(2));
    }
    if (this.#size < at + length) return undefined;
    const whole = this.#peek(this.#size);
    this.#pieces = [whole.subarray(at + length)];
    this.#size -= at + length;
    return {
      final: (start[0]! & 0x80) !== 0,
      kind: start[0]! & 0x0f,
      payload: whole.subarray(at, at + length),
    };
  }

  /** The first bytes, in one piece. Pieces are joined no more often than needed: a long message has many. */
  #peek(length: number): Buffer {
    if ((this.#pieces[0]?.length ?? 0) < length) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0] ?? Buffer.alloc(0);
  }
}

/** A whole message in one frame, masked as a client must. */
function frame(kind: number, payload: Uint8Array): Buffer {
  const long = payload.length < 126 ? 0 : payload.length < 65536 ? 2 : 8;
  const whole = Buffer.alloc(2 + long + 4 + payload.length);
  whole[0] = 0x80 | kind;
  whole[1] = 0x80 | (long === 0 ? payload.length : long === 2 ? 126 : 127);
  if (long === 2) whole.writeUInt16BE(payload.length, 2);
  if (long === 8) whole.writeBigUInt64BE(BigInt(payload.length), 2);
  const mask = randomBytes(4);
  mask.copy(whole, 2 + long);
  const start = 2 + long + 4;
  for (let at = 0; at < payload.length; at++) whole[start + at] = payload[at]! ^ mask[at & 3]!;
  return whole;
}
