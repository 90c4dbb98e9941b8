import { expect, test } from "vitest";
import type { Health } from "../api/types";
import { worstFirst } from "./doctor";

test("the worst comes first, and those of one kind stay in order", () => {
  const row = (id: string, status: Health) => ({ id, title: id, status, value: "v" });
  const rows = [row("a", "info"), row("b", "ok"), row("c", "bad"), row("d", "warn"), row("e", "ok")];
  expect(worstFirst(rows).map(({ id }) => id)).toEqual(["c", "d", "b", "e", "a"]);
});
