/** The browser: the two windows of the web UI that the picture shows, and the picture that is made of them. */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { TOKEN, type Daemon } from "../e2e/daemon";
import { WORKSPACE } from "./scene";

const SCALE = 1.5;
const HEIGHT = 894;

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["TRL_CHROMIUM"] ?? "/usr/bin/chromium",
    // Without WebGL a terminal's text is in the page, where the script can wait for it.
    args: ["--no-sandbox", "--disable-3d-apis"],
    env: { ...process.env, FONTCONFIG_FILE: join(import.meta.dirname, "fonts.conf") },
  });
}

export async function openWindow(
  browser: Browser,
  daemon: Daemon,
  path: string,
  width: number,
): Promise<Page> {
  const context = await browser.newContext({
    locale: "en-US",
    colorScheme: "dark",
    reducedMotion: "reduce",
    viewport: { width, height: HEIGHT },
    deviceScaleFactor: SCALE,
  });
  await context.addInitScript(() => localStorage.setItem("trl.welcomed", "true"));
  const page = await context.newPage();
  await page.goto(`${daemon.address}${path}#token=${TOKEN}`);
  return page;
}

/** Terminals above each other, as dragging their tabs would arrange them. */
export function stackTerminals(
  page: Page,
  terminals: { id: string; name: string; weight: number }[],
): Promise<void> {
  const sets = terminals.map(({ id, name, weight }) => ({
    type: "tabset",
    weight,
    children: [{ type: "tab", component: "terminal", name, config: { terminalId: id, mode: "drive" } }],
  }));
  const layout = { layout: { type: "row", children: [{ type: "row", children: sets }] } };
  const kept = [`trl.layout.${WORKSPACE}`, JSON.stringify(layout)] as const;
  return page.evaluate(([key, text]) => localStorage.setItem(key, text), kept);
}

/** A part of the picture: the window's title and what it shows. */
export interface Shot {
  title: string;
  png: Buffer;
  width: number;
}

/** Takes a window as it is, without what lies left of `from` pixels. */
export async function take(page: Page, from = 0): Promise<Shot> {
  const width = (page.viewportSize()?.width ?? 0) - from;
  const png = await page.screenshot({ clip: { x: from, y: 0, width, height: HEIGHT } });
  return { title: await page.title(), png, width };
}

const STYLE = `
  body { margin: 0; display: flex; align-items: start; gap: 14px; width: max-content; font: 500 12px system-ui; }
  figure { margin: 0; overflow: hidden; border: 1px solid #3b424d; border-radius: 10px; background: #1b1f25; }
  figcaption { height: 28px; line-height: 28px; text-align: center; color: #99a1ac; }
  img { display: block; }
`;

/** Puts the windows side by side, and reduces the picture to a palette. */
export async function compose(browser: Browser, shots: Shot[], target: string): Promise<void> {
  const page = await browser.newPage({ deviceScaleFactor: SCALE, viewport: { width: 1600, height: 1000 } });
  const figures = shots.map(({ title, png, width }) => {
    const source = `data:image/png;base64,${png.toString("base64")}`;
    return `<figure><figcaption>${title}</figcaption><img width="${width}" src="${source}"></figure>`;
  });
  await page.setContent(`<!doctype html><style>${STYLE}</style>${figures.join("")}`);
  const png = await page.locator("body").screenshot({ omitBackground: true });
  await writeFile(
    target,
    execFileSync("pngquant", ["--quality=80-100", "--speed=1", "--strip", "-"], { input: png }),
  );
}
