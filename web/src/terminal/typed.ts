/**
 * What was typed and not yet taken by the daemon.
 *
 * Each piece has a number. It stays here until the daemon has acknowledged it, and is sent again after a reconnect; the
 * daemon takes a number once. What is older than [`STALE_MS`] by then is not sent behind the person's back, it is
 * offered. Pure.
 */

/** So long a person remembers what they typed. */
export const STALE_MS = 10_000;
/** A paste is sent in pieces: the daemon takes messages of a megabyte, and other clients' keys come between. */
export const PIECE = 32 * 1024;
/** More than this is not kept for a terminal that cannot be reached. */
const MOST_WAITING = 1024 * 1024;

export interface Piece {
  iseq: number;
  bytes: Uint8Array;
  /** When it was typed. */
  at: number;
}

export class Typed {
  #pieces: Piece[] = [];
  #next = 1;
  #stale: Piece[] = [];

  /** Takes what was typed; what is to be sent now. Nothing when there is no room for it. */
  add(bytes: Uint8Array, now: number): Piece[] {
    if (this.#size() + bytes.length > MOST_WAITING) return [];
    const added: Piece[] = [];
    for (let from = 0; from < bytes.length; from += PIECE) {
      added.push({ iseq: this.#next++, bytes: bytes.slice(from, from + PIECE), at: now });
    }
    this.#pieces.push(...added);
    return added;
  }

  /** The daemon has this and everything before it. */
  acknowledge(iseq: number): void {
    this.#pieces = this.#pieces.filter((piece) => piece.iseq > iseq);
  }

  /** The daemon will not take this one. */
  refuse(iseq: number): void {
    this.#pieces = this.#pieces.filter((piece) => piece.iseq !== iseq);
  }

  /** After a reconnect to the same program: what is to be sent again. The rest is offered. */
  again(now: number): Piece[] {
    const old = this.#pieces.filter((piece) => now - piece.at > STALE_MS);
    this.#stale.push(...old);
    this.#pieces = this.#pieces.filter((piece) => now - piece.at <= STALE_MS);
    return this.#pieces;
  }

  /** Another program is there now: nothing that was meant for the last one is sent to it. */
  setAside(): void {
    this.#stale.push(...this.#pieces);
    this.#pieces = [];
  }

  /** Text that was never acknowledged and is too old to be sent unasked. */
  offered(): Uint8Array {
    const all = new Uint8Array(this.#stale.reduce((sum, piece) => sum + piece.bytes.length, 0));
    let at = 0;
    for (const piece of this.#stale) {
      all.set(piece.bytes, at);
      at += piece.bytes.length;
    }
    return all;
  }

  dropOffered(): void {
    this.#stale = [];
  }

  get oldest(): Piece | undefined {
    return this.#pieces[0];
  }

  #size(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
  }
}
