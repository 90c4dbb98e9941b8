/** Running commands: to their end, as a stream, or as a process that stays. */
import { refusal, TrlError } from "./errors.js";
import { Feed } from "./feed.js";
import type { Push } from "./link.js";
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";
import {
  chunkOf,
  Outcome,
  Progress,
  resultOf,
  sliceOf,
  toWire,
  type Chunk,
  type Data,
  type Result,
  type Slice,
} from "./values.js";

/** What `run` and `stream` take beside the options of the wire. */
export interface Given {
  stdin?: Data | undefined;
  /** What becomes of the command when nobody waits for it any more: it is cancelled unless told otherwise. */
  on_disconnect?: wire.OnDisconnect | undefined;
}

export interface Abortable {
  /** Gives up waiting; `on_disconnect` says what becomes of the command. */
  signal?: AbortSignal | undefined;
}

/** The longest the daemon waits in one call. */
const LONGEST_WAIT_S = 600;

type Place = { session_id?: string };

function runParams(
  command: string,
  place: Place,
  { stdin, on_disconnect = "cancel", ...options }: wire.RunOptions & Given,
): wire.RunParams {
  const given = stdin === undefined ? undefined : toWire(stdin);
  const input = given && { stdin: given.data, stdin_encoding: given.encoding };
  return { command, ...options, ...input, ...place, on_disconnect };
}

export async function run(
  links: Links,
  command: string,
  place: Place,
  { signal, ...options }: wire.RunOptions & Given & Abortable,
): Promise<Result> {
  const params = runParams(command, place, options);
  if (params.on_disconnect === "cancel") return resultOf(await links.askAlone("exec.run", params, signal));
  signal?.throwIfAborted();
  return resultOf(await orAborted(links.ask("exec.run", params), signal));
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

export function stream(
  links: Links,
  command: string,
  place: Place,
  options: wire.RunOptions & Given,
): Stream {
  return new Stream(links, runParams(command, place, options));
}

export async function start(
  links: Links,
  command: string | readonly string[],
  place: Place,
  { stdin, ...options }: wire.StartOptions & { stdin?: Data | undefined },
): Promise<Process> {
  const what = typeof command === "string" ? { command } : { argv: [...command] };
  const input = stdin === undefined ? undefined : { stdin: toWire(stdin) };
  // It is not followed, so the reply says how far it has come.
  const progress = (await links.ask("exec.start", {
    ...what,
    ...options,
    ...input,
    ...place,
  })) as wire.Progress;
  return new Process(links, progress.execution_id, progress);
}

/** A command whose output comes as it is written; afterwards `outcome` says how it ended. */
export class Stream extends Feed<"exec.stream", Chunk> {
  readonly #links: Links;
  #started: wire.StreamStarted | undefined;
  #outcome: Outcome | undefined;

  constructor(links: Links, params: wire.RunParams) {
    super(links, "exec.stream", params);
    this.#links = links;
  }

  get executionId(): string {
    if (this.#started === undefined) throw new TrlError("NOT_YET", "the stream is not open yet");
    return this.#started.execution_id;
  }

  /** While a person has to be asked before it begins. */
  get requestId(): string | undefined {
    return this.#started?.request_id ?? undefined;
  }

  get outcome(): Outcome {
    if (this.#outcome === undefined) throw new TrlError("NOT_YET", "the command has not ended yet");
    return this.#outcome;
  }

  /** Reads on to the end, and says how it ended. */
  async wait(): Promise<Outcome> {
    while (!(await this.next()).done);
    return this.outcome;
  }

  /** Writes to its stdin, which must be open (`open_stdin: true`). */
  async write(data: Data): Promise<void> {
    await this.#links.ask("exec.input", { execution_id: this.executionId, ...toWire(data) });
  }

  async closeStdin(): Promise<void> {
    await this.#links.ask("exec.input", { execution_id: this.executionId, close: true });
  }

  /** Ends it: TERM, a grace, KILL. The outcome still comes. */
  async cancel(): Promise<void> {
    await this.#links.ask("exec.cancel", { execution_id: this.executionId });
  }

  /** To everything it started: `INT`, `TERM`, ... */
  async signal(name: string): Promise<void> {
    await this.#links.ask("exec.signal", { execution_id: this.executionId, signal: name });
  }

  protected override begun(reply: wire.StreamStarted): void {
    this.#started = reply;
  }

  protected override heard(push: Push): Chunk | undefined | "over" {
    if (push.method === "exec.output") return chunkOf(push.params);
    if (push.method === "exec.refused") throw refusal({ ...push.params.error });
    if (push.method !== "exec.exit") return undefined;
    this.#outcome = new Outcome(push.params);
    return "over";
  }
}

/** A process that may outlive the call that started it; any client can go on with it by its id. */
export class Process {
  readonly #links: Links;
  readonly executionId: string;
  /** How far it had come when it was started, with its first output. */
  readonly started: Progress | undefined;

  constructor(links: Links, executionId: string, progress?: wire.Progress) {
    this.#links = links;
    this.executionId = executionId;
    this.started = progress && new Progress(progress);
  }

  /** Where it runs, with `tty`. */
  get terminalId(): string | undefined {
    return this.started?.raw.terminal_id ?? undefined;
  }

  /** While a person has to be asked before it begins. */
  get requestId(): string | undefined {
    return this.started?.raw.request_id ?? undefined;
  }

  /** Writes to its stdin; with `yield_ms` waits for what it says to that. */
  async write(data: Data, options: { yield_ms?: number } = {}): Promise<Progress | undefined> {
    const reply = await this.#links.ask("exec.input", { ...this.#me, ...toWire(data), ...options });
    return reply.progress ? new Progress(reply.progress) : undefined;
  }

  async closeStdin(): Promise<void> {
    await this.#links.ask("exec.input", { ...this.#me, close: true });
  }

  /**
   * Waits for a pattern, silence, so many bytes, or the end, whichever is first; `reason` says which it was. Waiting changes
   * nothing about the process. Without a `timeout_s` it is for as long as it takes.
   */
  async wait(options: Omit<wire.Until, "exit"> & { timeout_s?: number } = {}): Promise<Progress> {
    const { timeout_s = Infinity, ...wanted } = options;
    const until = Object.keys(wanted).length > 0 ? wanted : { exit: true };
    for (let left = timeout_s; ; left -= LONGEST_WAIT_S) {
      const limit = Math.min(left, LONGEST_WAIT_S);
      const waited = await this.#links.ask("exec.wait", { ...this.#me, until, timeout_s: limit });
      if (waited.reason !== "timeout" || left <= LONGEST_WAIT_S) return new Progress(waited);
    }
  }

  /** Waits for the end, and says how it ended. */
  async outcome(): Promise<Outcome> {
    const { outcome } = await this.wait();
    if (outcome === undefined) throw new TrlError("NOT_YET", "the process has not ended yet");
    return outcome;
  }

  /** Reads any range, and moves nothing. */
  async output(since = 0, options: { stream?: wire.Stream; limit?: number } = {}): Promise<Slice> {
    return sliceOf(await this.#links.ask("exec.output", { ...this.#me, since, ...options }));
  }

  /** To everything it started; says how many processes got it. */
  async signal(name: string): Promise<number> {
    return (await this.#links.ask("exec.signal", { ...this.#me, signal: name })).processes;
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#links.ask("exec.resize", { ...this.#me, cols, rows });
  }

  /** Ends it, and comes back once it is over. False: it had ended by itself. */
  async cancel(options: { signal?: string; grace_s?: number } = {}): Promise<boolean> {
    return (await this.#links.ask("exec.cancel", { ...this.#me, ...options })).cancelled;
  }

  /** Ends it without a grace. */
  kill(): Promise<boolean> {
    return this.cancel({ signal: "KILL" });
  }

  get #me(): { execution_id: string } {
    return { execution_id: this.executionId };
  }
}
