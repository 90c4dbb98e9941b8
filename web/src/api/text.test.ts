import { expect, test } from "vitest";
import { bytesOf, decode } from "./text";

test("text comes in either encoding", () => {
  expect(decode("5L2g5aW9", "base64")).toBe("你好");
  expect(decode("你好", "utf-8")).toBe("你好");
  expect([...bytesOf("/wA=", "base64")]).toEqual([255, 0]);
});
