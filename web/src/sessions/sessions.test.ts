import { expect, test } from "vitest";
import type { ExecutionInfo, SessionInfo } from "../api/types";
import { arrange, canOpen, isOver } from "./sessions";

const session = (session_id: string, state: SessionInfo["state"], last_activity: string) =>
  ({ session_id, state, last_activity }) as SessionInfo;
const execution = (session_id: string, command: string, created_at: string) =>
  ({ session_id, command, created_at }) as ExecutionInfo;

test("live sessions come first, the busiest of them on top, each with its last command", () => {
  const listed = arrange(
    [session("a", "closed", "9"), session("b", "idle", "1"), session("c", "running", "2")],
    [
      execution("c", "old", "1"),
      execution("c", "new", "2"),
      execution("b", "only", "1"),
      { command: "on a terminal" } as ExecutionInfo,
    ],
  );
  expect(listed.map(({ session, last }) => [session.session_id, last?.command])).toEqual([
    ["c", "new"],
    ["b", "only"],
    ["a", undefined],
  ]);
});

test("one whose daemon was killed is over, and can be opened like a closed one", () => {
  const all = [
    "uninitialized",
    "creating",
    "ready",
    "running",
    "waiting_hitl",
    "idle",
    "closed",
    "terminated",
  ] as const;
  expect(all.filter(isOver)).toEqual(["uninitialized", "closed", "terminated"]);
  expect(all.filter(canOpen)).toEqual(["uninitialized", "closed"]);
});
