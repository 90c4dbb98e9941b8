import { expect, test } from "vitest";
import { parsePath, pathOf, type Route } from "./router";

const routes: [string, Route][] = [
  ["/", { page: "workspace", workspace: "main" }],
  ["/w/a%20b", { page: "workspace", workspace: "a b" }],
  ["/w/main/t-abc", { page: "workspace", workspace: "main", open: "t-abc" }],
  ["/sessions", { page: "sessions" }],
  ["/sessions/s-1", { page: "session", id: "s-1" }],
  ["/chat", { page: "chat" }],
  ["/chat/s-1", { page: "chat", session: "s-1" }],
  ["/history", { page: "history" }],
  ["/history/s-1", { page: "history", session: "s-1" }],
  ["/files", { page: "files" }],
  ["/files/session/s-1", { page: "files", of: { kind: "session", id: "s-1" } }],
  ["/files/workspace/a%20b", { page: "files", of: { kind: "workspace", id: "a b" } }],
  ["/cases", { page: "cases" }],
  ["/approvals", { page: "approvals" }],
  ["/diagnostics", { page: "diagnostics" }],
  ["/welcome", { page: "welcome" }],
];

test.each(routes)("%s is a page and has that address", (path, route) => {
  expect(parsePath(path)).toEqual(route);
  expect(pathOf(route)).toBe(path);
});

test("files of what is neither a session nor a workspace are of nothing", () => {
  expect(parsePath("/files/etc/passwd")).toEqual({ page: "files" });
});

test("what is no address is the first page", () => {
  expect(parsePath("/no/such/%E0%A4%A")).toEqual({ page: "workspace", workspace: "main" });
});
