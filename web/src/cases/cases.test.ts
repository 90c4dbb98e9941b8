import { expect, test } from "vitest";
import type { CaseInfo } from "../api/types";
import { fieldsOf, lineOf, standingOf, trustOf } from "./cases";

const one = (more: Partial<CaseInfo> = {}): CaseInfo => ({
  case_id: "ci",
  source: "/etc/ci.yaml",
  origin: "config",
  trusted: true,
  default: false,
  digest: "d",
  ...more,
});
const errors = [{ message: "no" }];

test("a case is broken, not trusted, or good", () => {
  expect(standingOf(one())).toBe("good");
  expect(standingOf(one({ trusted: false }))).toBe("untrusted");
  expect(standingOf(one({ trusted: false, errors }))).toBe("broken");
});

test("only what a workspace has can be trusted, and only if it can be read", () => {
  expect(trustOf(one())).toBeNull();
  const theirs = { origin: "workspace", trusted: false } as const;
  expect(trustOf(one(theirs))).toBe("give");
  expect(trustOf(one({ ...theirs, trusted: true }))).toBe("take");
  expect(trustOf(one({ ...theirs, errors }))).toBeNull();
  expect(trustOf(one({ ...theirs, digest: null }))).toBeNull();
});

test("an error is where an editor finds it", () => {
  expect([
    lineOf({ message: "", line: 12, column: 3 }),
    lineOf({ message: "", line: 4 }),
    lineOf({ message: "" }),
  ]).toEqual(["12:3", "4", ""]);
});

test("what a case says is shown, and no more", () => {
  expect(fieldsOf({ shell: "bash", env: { A: "1" }, argv: null, labels: {}, timeout_s: 0 })).toEqual([
    { name: "shell", text: "bash" },
    { name: "env", text: '{\n  "A": "1"\n}' },
    { name: "timeout_s", text: "0" },
  ]);
});
