import { expect, test } from "vitest";
import { en } from "./en";
import { zh } from "./zh";

const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

test("both languages say the same things", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test("both languages name the same parameters, and nothing is empty", () => {
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    expect(placeholders(zh[key]), key).toEqual(placeholders(en[key]));
    expect(en[key].trim() !== "" && zh[key].trim() !== "", key).toBe(true);
  }
});

test("Chinese texts are Chinese", () => {
  const latin = Object.entries(zh).filter(([key, text]) => text === en[key as keyof typeof en]);
  // Names and units that both languages write alike.
  const alike = ["app.name", "session.exit", "session.pid"];
  expect(latin.map(([key]) => key).filter((key) => !alike.includes(key))).toEqual([]);
});
