/** Files of a workspace or of a session, through the daemon. */
import { Watch } from "./feed.js";
import type { Links } from "./links.js";
import type * as wire from "./types.gen.js";
import { pending, toBytes, toText, toWire, type Data } from "./values.js";

type Options<M extends keyof wire.Methods, Named extends string> = Omit<
  wire.Methods[M]["params"],
  Named | "session_id" | "workspace_id"
>;

/** Paths are relative to the root. One that is no UTF-8 is base64, with `path_encoding`. */
export class Files {
  readonly #links: Links;
  readonly #place: { session_id?: string } | { workspace_id?: string };

  constructor(links: Links, place: { session_id?: string } | { workspace_id?: string }) {
    this.#links = links;
    this.#place = place;
  }

  /** All of it, in as many pieces as it takes. */
  async read(path: string): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let offset: number | null | undefined = 0; offset != null;) {
      const piece: wire.FileSlice = await this.#links.ask("fs.read", { ...this.#place, path, offset });
      pieces.push(toBytes(piece.data, piece.encoding));
      offset = piece.next;
    }
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
    return whole;
  }

  async readText(path: string): Promise<string> {
    return toText(await this.read(path));
  }

  /** All of it or nothing. `if_version` makes it conditional: a version, or "" for "only where nothing is". */
  async write(
    path: string,
    data: Data,
    options: Options<"fs.write", "path" | "data" | "encoding"> = {},
  ): Promise<wire.FileWritten> {
    return done(await this.#links.ask("fs.write", { ...this.#place, path, ...toWire(data), ...options }));
  }

  stat(path?: string): Promise<wire.FileInfo> {
    return this.#links.ask("fs.stat", { ...this.#place, path });
  }

  list(path?: string, options: Options<"fs.list", "path"> = {}): Promise<wire.FileList> {
    return this.#links.ask("fs.list", { ...this.#place, path, ...options });
  }

  async mkdir(path: string, options: Options<"fs.mkdir", "path"> = {}): Promise<wire.DirMade> {
    return done(await this.#links.ask("fs.mkdir", { ...this.#place, path, ...options }));
  }

  async move(
    path: string,
    to: string,
    options: Options<"fs.move", "path" | "to"> = {},
  ): Promise<wire.FileMoved> {
    return done(await this.#links.ask("fs.move", { ...this.#place, path, to, ...options }));
  }

  async remove(path: string, options: Options<"fs.remove", "path"> = {}): Promise<wire.FileRemoved> {
    return done(await this.#links.ask("fs.remove", { ...this.#place, path, ...options }));
  }

  /** Files by a pattern of their path; `.gitignore` is honoured. */
  async glob(pattern: string, options: Options<"fs.glob", "pattern"> = {}): Promise<string[]> {
    const { files } = await this.#links.ask("fs.glob", { ...this.#place, pattern, ...options });
    return files.map((file) => file.path);
  }

  /** Lines by a regular expression. */
  grep(pattern: string, options: Options<"fs.grep", "pattern"> = {}): Promise<wire.Matches> {
    return this.#links.ask("fs.grep", { ...this.#place, pattern, ...options });
  }

  /** What changes below a directory, until it is closed. */
  watch(path?: string, options: Options<"fs.watch", "path"> = {}): Watch {
    return new Watch(this.#links, "fs.watch", { ...this.#place, path, ...options });
  }
}

function done<T extends object>(reply: T | wire.ChangeWaiting): T {
  if ("request_id" in reply) throw pending(reply as wire.ChangeWaiting);
  return reply;
}
