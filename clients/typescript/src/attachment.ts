/**
 * A client beside a terminal: its bytes by their offset, and typing.
 *
 * 1. The daemon greets (`hello`) and says where bytes go on; without a place to go on from, a picture comes first.
 * 2. What was read is acknowledged, so that the daemon goes on sending.
 * 3. After a lost connection a new attachment with `gen` and `since` gets exactly the bytes that were missed.
 */
import type { Channel, Door } from "./channel.js";
import { lost, TrlError } from "./errors.js";
import type { Data } from "./values.js";

const PROTOCOL = "trl.term.1";
/** Bytes that were read before that is told. */
const ACK_EVERY = 16 * 1024;
const PICTURE = 0x02;
const INPUT = 0x81;

/** What a terminal was sent, or as a picture what brings a fresh one to the same state. */
export interface TerminalBytes {
  offset: number;
  data: Uint8Array;
  isPicture: boolean;
}

export interface Hello {
  gen: string;
  head: number;
  [fact: string]: unknown;
}

export interface AttachOptions {
  /** Where to go on: the incarnation, from `hello`, and the offset. */
  gen?: string;
  since?: number;
  mode?: "view";
  /** A name of your own, the same after a reconnect. */
  client?: string;
  cols?: number;
  rows?: number;
}

export class Attachment implements AsyncIterableIterator<TerminalBytes> {
  readonly #channel: Channel;
  readonly #messages: AsyncIterator<string | Uint8Array>;
  #typed = 0;
  #acked = 0;
  #hello: Hello | undefined;
  /** Where to go on after this: for `since`. */
  offset = 0;
  /** How the program ended, once it has. */
  exit: { code: number; signal?: string } | undefined;

  private constructor(channel: Channel) {
    this.#channel = channel;
    this.#messages = channel.messages[Symbol.asyncIterator]();
  }

  static async open(door: Door, terminalId: string, options: AttachOptions): Promise<Attachment> {
    const query = new URLSearchParams(Object.entries(options).map(([key, value]) => [key, String(value)]));
    const attachment = new Attachment(await door.attach(`/ws/terminal/${terminalId}?${query}`, PROTOCOL));
    while (attachment.#hello === undefined) {
      if ((await attachment.receive()) === "over") throw lost();
    }
    return attachment;
  }

  get hello(): Hello {
    if (this.#hello === undefined) throw new TrlError("NOT_YET", "the daemon has not greeted yet");
    return this.#hello;
  }

  async next(): Promise<IteratorResult<TerminalBytes>> {
    for (;;) {
      const heard = await this.receive();
      if (heard === "over") return { done: true, value: undefined };
      if (heard !== "note") return { done: false, value: heard };
    }
  }

  /** Waits until something comes: bytes, a note, or the end. */
  async receive(): Promise<TerminalBytes | "note" | "over"> {
    this.#channel.await(true);
    const { done, value } = await this.#messages.next();
    this.#channel.await(false);
    if (done) {
      if (this.exit === undefined) throw lost();
      return "over";
    }
    return typeof value === "string" ? this.#heardNote(value) : this.#heardBytes(value);
  }

  #heardNote(text: string): "note" {
    const note = JSON.parse(text) as { type: string };
    if (note.type === "hello") this.#hello = note as unknown as Hello;
    if (note.type === "exit") this.exit = note as unknown as { code: number };
    return "note";
  }

  #heardBytes(message: Uint8Array): TerminalBytes {
    const offset = Number(new DataView(message.buffer, message.byteOffset).getBigUint64(1));
    const [isPicture, data] = [message[0] === PICTURE, message.subarray(9)];
    this.offset = isPicture ? offset : offset + data.length;
    if (this.offset - this.#acked >= ACK_EVERY) {
      this.#acked = this.offset;
      this.#tell({ type: "ack", offset: this.offset });
    }
    return { offset, data, isPicture };
  }

  /** Types this. */
  write(data: Data): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const message = new Uint8Array(9 + bytes.length);
    message[0] = INPUT;
    new DataView(message.buffer).setBigUint64(1, BigInt(++this.#typed));
    message.set(bytes, 9);
    this.#channel.send(message);
  }

  /** Tells the size of our window. */
  resize(cols: number, rows: number): void {
    this.#tell({ type: "resize", cols, rows });
  }

  #tell(note: object): void {
    this.#channel.send(JSON.stringify(note));
  }

  close(): void {
    this.#channel.close();
  }

  async return(): Promise<IteratorResult<TerminalBytes>> {
    this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
