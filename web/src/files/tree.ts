/**
 * A tree of files, read directory by directory when it is opened. Pure.
 *
 * A path that is not UTF-8 comes in base64, and goes back like that; people see what can be read of it.
 */
import type { FileInfo, FileKind } from "../api/types";
import { decode } from "../api/text";

/** A path as the daemon knows it. */
export interface Path {
  path: string;
  path_encoding?: FileInfo["path_encoding"];
}

export type Listing =
  | { kind: "reading" }
  | { kind: "failed"; why: string }
  | { kind: "read"; entries: readonly FileInfo[]; truncated: boolean };

export interface Tree {
  /** What is known of a directory, by the key of its path. */
  listings: ReadonlyMap<string, Listing>;
  open: ReadonlySet<string>;
}

export const ROOT: Path = { path: "" };

export const EMPTY: Tree = { listings: new Map(), open: new Set([keyOf(ROOT)]) };

export function keyOf({ path, path_encoding }: Path): string {
  return path_encoding === "base64" ? `base64:${path}` : `/${path}`;
}

/** What people see of a path. */
export function shown({ path, path_encoding }: Path): string {
  return decode(path, path_encoding ?? "utf-8");
}

export function nameOf(path: Path): string {
  const text = shown(path);
  return text.slice(text.lastIndexOf("/") + 1);
}

export function withListing(tree: Tree, path: Path, listing: Listing): Tree {
  return { ...tree, listings: new Map(tree.listings).set(keyOf(path), listing) };
}

export function opened(tree: Tree, path: Path): Tree {
  return { ...tree, open: new Set(tree.open).add(keyOf(path)) };
}

export function closed(tree: Tree, path: Path): Tree {
  const open = new Set(tree.open);
  open.delete(keyOf(path));
  return { ...tree, open };
}

/** Open directories whose entries are to be read anew: all that are shown. */
export function openPaths(tree: Tree): Path[] {
  return [ROOT, ...rows(tree).flatMap((row) => (row.kind === "dir" && row.isOpen ? [row.file] : []))];
}

export type Row =
  | { kind: FileKind; key: string; depth: number; name: string; file: FileInfo; isOpen: boolean }
  /** Something is to be said of a directory's entries. */
  | { kind: "remark"; key: string; depth: number; remark: "reading" | "more" | "empty" | { why: string } };

/** What is to be seen, from top to bottom. */
export function rows(tree: Tree, of: Path = ROOT, depth = 1): Row[] {
  const key = keyOf(of);
  const remark = (remark: Extract<Row, { kind: "remark" }>["remark"]): Row => ({
    kind: "remark",
    key: `${key} remark`,
    depth,
    remark,
  });
  const listing = tree.listings.get(key);
  if (listing === undefined || listing.kind === "reading") return [remark("reading")];
  if (listing.kind === "failed") return [remark({ why: listing.why })];
  if (listing.entries.length === 0) return [remark("empty")];
  const shown = [...listing.entries].sort(dirsFirst).flatMap((file): Row[] => {
    const isOpen = file.kind === "dir" && tree.open.has(keyOf(file));
    const row: Row = { kind: file.kind, key: keyOf(file), depth, name: nameOf(file), file, isOpen };
    return isOpen ? [row, ...rows(tree, file, depth + 1)] : [row];
  });
  return listing.truncated ? [...shown, remark("more")] : shown;
}

function dirsFirst(a: FileInfo, b: FileInfo): number {
  return Number(b.kind === "dir") - Number(a.kind === "dir") || nameOf(a).localeCompare(nameOf(b));
}
