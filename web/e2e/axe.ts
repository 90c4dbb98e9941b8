/** What keeps people from using a page, as axe sees it. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import type { Visitor } from "./browser";

declare global {
  interface Window {
    axe: { run(root: Document, options: RunOptions): Promise<AxeResults> };
  }
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function barriers(visitor: Visitor): Promise<string[]> {
  await visitor.page.evaluate(axe);
  const { violations } = await visitor.page.evaluate(() =>
    window.axe.run(document, {
      resultTypes: ["violations"],
      runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"],
    }),
  );
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`,
  );
}
