import { expect, test } from "vitest";
import type { FileInfo } from "../api/types";
import { closed, EMPTY, keyOf, nameOf, opened, openPaths, ROOT, rows, withListing, type Tree } from "./tree";

const file = (path: string, kind: FileInfo["kind"] = "file", more: Partial<FileInfo> = {}): FileInfo => ({
  path,
  kind,
  size: 1,
  mode: "644",
  modified_at: "",
  version: "",
  ...more,
});
const read = (tree: Tree, path: { path: string }, ...entries: FileInfo[]) =>
  withListing(tree, path, { kind: "read", entries, truncated: false });
const seen = (tree: Tree) =>
  rows(tree).map(
    (row) => `${" ".repeat(row.depth)}${row.kind === "remark" ? JSON.stringify(row.remark) : row.name}`,
  );

test("directories stand first, and what is in them below them once they are open", () => {
  const src = file("src", "dir");
  let tree = read(EMPTY, ROOT, file("b.txt"), src, file("a.txt"));
  expect(seen(tree)).toEqual([" src", " a.txt", " b.txt"]);
  tree = opened(tree, src);
  expect(seen(tree)).toEqual([" src", '  "reading"', " a.txt", " b.txt"]);
  tree = read(tree, src, file("src/main.rs"));
  expect(seen(tree)).toEqual([" src", "  main.rs", " a.txt", " b.txt"]);
  expect(openPaths(tree).map(keyOf)).toEqual(["/", "/src"]);
  expect(seen(closed(tree, src))).toEqual([" src", " a.txt", " b.txt"]);
});

test("what cannot be shown is said in its place", () => {
  expect(seen(EMPTY)).toEqual([' "reading"']);
  expect(seen(read(EMPTY, ROOT))).toEqual([' "empty"']);
  expect(seen(withListing(EMPTY, ROOT, { kind: "failed", why: "no" }))).toEqual([' {"why":"no"}']);
  const many = withListing(EMPTY, ROOT, { kind: "read", entries: [file("a")], truncated: true });
  expect(seen(many)).toEqual([" a", ' "more"']);
});

test("a name that is not UTF-8 is shown as far as it can be read, and kept as it is", () => {
  const odd = file("ZGlyL/8=", "file", { path_encoding: "base64" });
  expect([nameOf(odd), keyOf(odd)]).toEqual(["\ufffd", "base64:ZGlyL/8="]);
  // A name that only looks like one of those is another.
  expect(keyOf(file("base64:x"))).toBe("/base64:x");
});
