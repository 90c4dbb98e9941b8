import { expect, test } from "vitest";
import { bytesOf, decode, whyNot } from "./text";

test("text comes in either encoding", () => {
  expect(decode("5L2g5aW9", "base64")).toBe("你好");
  expect(decode("你好", "utf-8")).toBe("你好");
  expect([...bytesOf("/wA=", "base64")]).toEqual([255, 0]);
});

test("a refusal is told with its reason, if it has one", () => {
  expect(whyNot({ message: "a person said no", hint: "not today" })).toBe("a person said no: not today");
  expect(whyNot({ message: "no", hint: null })).toBe("no");
  expect(whyNot({ message: "no", hint: "" })).toBe("no");
});
