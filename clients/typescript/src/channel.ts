/** What a client needs of the place it runs in: Node (`node/`) or a browser (`browser.ts`). */

/** One connection, as whole messages. */
export interface Channel {
  send(message: string | Uint8Array): void;
  /** What comes, to its end. Nothing is read that nobody asks for, where that can be had. */
  readonly messages: AsyncIterable<string | Uint8Array>;
  close(): void;
  /** Whether somebody waits for something on it; where nobody does, it keeps no program from ending. */
  await(isAwaited: boolean): void;
}

/** The way to a daemon. */
export interface Door {
  /** A conversation of requests and replies. */
  open(): Promise<Channel>;
  /** A WebSocket of another kind. */
  attach(path: string, protocol: string): Promise<Channel>;
  /** To be presented as the first request; a conversation over HTTP has presented it already. */
  readonly token: string | undefined;
}
