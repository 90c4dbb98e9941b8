import { expect, test } from "vitest";
import { takeFromFragment } from "./token";

test("a token is taken out of the fragment, and the rest stays", () => {
  expect(takeFromFragment("#token=abc")).toEqual({ token: "abc", rest: "" });
  expect(takeFromFragment("#a=1&token=abc&b=2")).toEqual({ token: "abc", rest: "#a=1&b=2" });
  expect(takeFromFragment("#token=")).toEqual({ token: null, rest: "" });
  expect(takeFromFragment("#x")).toEqual({ token: null, rest: "#x" });
  expect(takeFromFragment("")).toEqual({ token: null, rest: "" });
});
