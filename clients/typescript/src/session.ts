/** A session: one long-lived shell, whose state stays from command to command. */
import * as commands from "./commands.js";
import { unless } from "./errors.js";
import { Files } from "./files.js";
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";
import type { Data, Result } from "./values.js";

export class Session {
  readonly #links: Links;
  readonly id: string;

  constructor(links: Links, id: string) {
    this.#links = links;
    this.id = id;
  }

  /** Runs a command in the shell; as `run` of the client. */
  run(
    command: string,
    options: wire.SessionRunOptions & commands.Given & commands.Abortable = {},
  ): Promise<Result> {
    return commands.run(this.#links, command, this.#me, options);
  }

  stream(command: string, options: wire.SessionRunOptions & commands.Given = {}): commands.Stream {
    return commands.stream(this.#links, command, this.#me, options);
  }

  /** Runs a command in the shell that may outlive the call. */
  start(
    command: string,
    options: wire.StartOptions & { stdin?: Data | undefined } = {},
  ): Promise<commands.Process> {
    return commands.start(this.#links, command, this.#me, options);
  }

  /** Those of its workspace, or of the directory it was made in. */
  get files(): Files {
    return new Files(this.#links, this.#me);
  }

  info(): Promise<wire.SessionInfo> {
    return this.#links.ask("session.info", this.#me);
  }

  /** Opens it again if it was closed. */
  open(options: Omit<wire.GetParams, "session_id"> = {}): Promise<wire.SessionInfo> {
    return this.#links.ask("session.get", { ...this.#me, ...options });
  }

  /** What was run, newest first. */
  async history(options: Omit<wire.HistoryParams, "session_id"> = {}): Promise<wire.HistoryEntry[]> {
    return (await this.#links.ask("session.history", { ...this.#me, ...options })).entries;
  }

  /** Keeps the state of the shell; once this is back, it is on the disk. */
  checkpoint(options: { label?: string; files?: boolean } = {}): Promise<wire.CheckpointInfo> {
    return this.#links.ask("checkpoint.create", { ...this.#me, ...options });
  }

  async checkpoints(): Promise<wire.CheckpointInfo[]> {
    return (await this.#links.ask("checkpoint.list", this.#me)).checkpoints;
  }

  /** Goes on with a state that was kept. */
  restore(checkpointId: string): Promise<wire.Restored> {
    return this.#links.ask("checkpoint.restore", { ...this.#me, checkpoint_id: checkpointId });
  }

  /** A fresh shell under the same id. */
  reset(): Promise<wire.SessionInfo> {
    return this.#links.ask("session.reset", this.#me);
  }

  /** Ends what runs in it; false if that had ended by itself. */
  async cancel(): Promise<boolean> {
    return (await this.#links.ask("exec.cancel", this.#me)).cancelled;
  }

  /** Ends its processes; it can be opened again by its id, also by the next daemon. */
  close(): Promise<wire.SessionInfo> {
    return this.#links.ask("session.close", this.#me);
  }

  /** Ends it for good. */
  async destroy(): Promise<void> {
    await this.#links.ask("session.destroy", { ...this.#me, force: true });
  }

  /** `await using`: it ends with the block, unless it has ended already. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy().catch(unless("SESSION_NOT_FOUND", "SESSION_TERMINATED"));
  }

  get #me(): { session_id: string } {
    return { session_id: this.id };
  }
}
