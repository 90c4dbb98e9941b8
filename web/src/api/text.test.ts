import { expect, test } from "vitest";
import { bytesOf, decode, readable } from "./text";

test("text comes in either encoding", () => {
  expect(decode("5L2g5aW9", "base64")).toBe("你好");
  expect(decode("你好", "utf-8")).toBe("你好");
  expect([...bytesOf("/wA=", "base64")]).toEqual([255, 0]);
});

test.each([
  ["\x1b[1;31mred\x1b[0m plain", "red plain"],
  ["\x1b]0;title\x07text", "text"],
  ["a\r\nb\r\n", "a\nb\n"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
])("%j reads as %j", (from, to) => expect(readable(from)).toBe(to));
