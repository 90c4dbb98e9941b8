/** Server-Sent Events over `fetch`, because an `EventSource` cannot send a token. */
import { delayBefore, MOST_TRIES } from "./backoff";
import { ApiError, request } from "./http";

export interface SseEvent {
  id: string;
  event: string;
  data: string;
}

/** Text in, events out. Pure. */
export class SseParser {
  #rest = "";
  #event: SseEvent = { id: "", event: "", data: "" };

  feed(text: string): SseEvent[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line.replace(/\r$/, "")));
  }

  #line(line: string): SseEvent[] {
    if (line === "") {
      const done = this.#event;
      this.#event = { id: done.id, event: "", data: "" };
      return done.data === "" ? [] : [done];
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.#event.id = value;
    if (name === "event") this.#event.event = value;
    if (name === "data") this.#event.data += (this.#event.data === "" ? "" : "\n") + value;
    return [];
  }
}

/**
 * Follows a stream to its end, through lost connections: each time it goes on after the last event that was heard, the first
 * time after the one that is named.
 */
export async function follow(
  path: string,
  heard: (event: SseEvent) => void,
  signal: AbortSignal,
  after = "",
): Promise<void> {
  let last = after;
  for (let attempt = 1; attempt <= MOST_TRIES; attempt++) {
    try {
      const response = await request(path, { signal, headers: last === "" ? {} : { "Last-Event-ID": last } });
      if (response.status === 204 || response.body === null) return;
      const parser = new SseParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const event of parser.feed(value)) {
          attempt = 0;
          last = event.id;
          heard(event);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      // A refusal stays one.
      if (error instanceof ApiError && error.status !== 0) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delayBefore(attempt + 1, Math.random)));
    if (signal.aborted) return;
  }
}
