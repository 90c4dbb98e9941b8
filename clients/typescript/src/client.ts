/** The client: where everything begins. Knows nothing of the place it runs in; that is its door's business. */
import { Approvals } from "./approvals.js";
import type { Door } from "./channel.js";
import * as commands from "./commands.js";
import { Events } from "./feed.js";
import { Files } from "./files.js";
import { Links } from "./links.js";
import { Runtimes } from "./runtimes.js";
import { Session } from "./session.js";
import { Terminal } from "./terminal.js";
import type * as wire from "./types.gen.js";
import { pending, type Data, type Result } from "./values.js";

/** Methods that may be called without params. */
type Plain = {
  [M in keyof wire.Methods]: {} extends wire.Methods[M]["params"] ? M : never;
}[keyof wire.Methods];

export class DaemonClient {
  readonly #links: Links;
  readonly approvals: Approvals;
  readonly runtimes: Runtimes;

  constructor(door: Door) {
    this.#links = new Links(door);
    this.approvals = new Approvals(this.#links);
    this.runtimes = new Runtimes(this.#links);
  }

  /** Calls any method of the wire. */
  call<M extends Plain>(method: M, params?: wire.Methods[M]["params"]): Promise<wire.Methods[M]["result"]>;
  call<M extends keyof wire.Methods>(
    method: M,
    params: wire.Methods[M]["params"],
  ): Promise<wire.Methods[M]["result"]>;
  call(method: keyof wire.Methods, params: object = {}): Promise<unknown> {
    return this.#links.ask(method, params as never);
  }

  /**
   * Runs a command in a throw-away session. One that fails or times out is a result, not an exception.
   *
   * Whoever stops waiting (`signal`, the end of this process) ends the command, unless `on_disconnect` is "continue". Those
   * run over one connection, the others over one each.
   */
  run(command: string, options: wire.RunOptions & commands.Given & commands.Abortable = {}): Promise<Result> {
    return commands.run(this.#links, command, {}, options);
  }

  /** Runs a command, and gives what it writes as it comes. */
  stream(command: string, options: wire.RunOptions & commands.Given = {}): commands.Stream {
    return commands.stream(this.#links, command, {}, options);
  }

  /**
   * Starts a process that may outlive the call: text for a shell, or a program with its arguments. Its stdin stays open for
   * `write` unless given here; `tty: true` puts it on a terminal.
   */
  start(
    command: string | readonly string[],
    options: wire.StartOptions & { stdin?: Data | undefined } = {},
  ): Promise<commands.Process> {
    return commands.start(this.#links, command, {}, options);
  }

  /** One that was started before, by anybody. */
  processById(id: string): commands.Process {
    return new commands.Process(this.#links, id);
  }

  /** A new session. */
  async session(options: wire.SessionOptions = {}): Promise<Session> {
    const made = await this.#links.ask("session.create", options);
    if ("request_id" in made) throw pending(made);
    return new Session(this.#links, made.session_id);
  }

  /** One there is; `open` opens it again if it was closed. */
  sessionById(id: string): Session {
    return new Session(this.#links, id);
  }

  /** A new terminal with this program, or the user's shell. */
  async terminal(argv?: readonly string[], options: wire.TerminalOptions = {}): Promise<Terminal> {
    const program = argv && { argv: [...argv] };
    const made = await this.#links.ask("terminal.create", { ...options, ...program });
    return new Terminal(this.#links, made.terminal_id);
  }

  terminalById(id: string): Terminal {
    return new Terminal(this.#links, id);
  }

  /** Files of a workspace, or of a session. */
  files(place: { workspace_id: string } | { session_id: string }): Files {
    return new Files(this.#links, place);
  }

  /** What happens, until it is closed. */
  events(options: wire.SubscribeParams = {}): Events {
    return new Events(this.#links, "events.subscribe", options);
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#links.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
