/**
 * Makes the picture at the top of the README, `docs/images/trl.png`: the web UI of a daemon in which an agent works.
 *
 * Everything in the picture is the running product: the commands, their output, the request and the terminals. Only the
 * agent has a script in place of a model (`agent.mjs`). Needs chromium, git, npm, pngquant and vim; looks best with the
 * fonts Inter and Droid Sans Fallback (Debian: `fonts-inter fonts-droid-fallback pngquant vim`).
 */
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "../e2e/daemon";
import { PROJECT, configureVim, fillProject, startSession, startTerminal, writeCase } from "./scene";
import { compose, openWindow, stackTerminals, startBrowser, take } from "./windows";

const TARGET = join(import.meta.dirname, "../../docs/images/trl.png");
const CHAT_WIDTH = 770;
const TERMINALS_WIDTH = 726;

const cleanups: (() => Promise<unknown>)[] = [];
let daemon: Daemon;
let browser: Browser;

beforeAll(async () => {
  daemon = await Daemon.start();
  cleanups.unshift(() => daemon.stop());
  // Fails if the directory exists: it may be somebody's.
  await mkdir(PROJECT);
  cleanups.push(() => rm(PROJECT, { recursive: true }));
  browser = await startBrowser();
  cleanups.unshift(() => browser.close());
});
afterAll(async () => {
  for (const cleanUp of cleanups) await cleanUp();
});

test("the picture of the README", async () => {
  await fillProject(daemon);
  await writeCase(daemon);
  await configureVim(daemon);

  const terminals = await openTerminals();
  const chat = await openWindow(
    browser,
    daemon,
    `/chat/${await startSession(daemon, "fix totals")}`,
    CHAT_WIDTH,
  );
  await askAgent(chat, "Totals are off by a cent. Fix it and push.");
  await typeTest(terminals);

  const rail = (await terminals.locator(".rail").boundingBox())?.width;
  await mkdir(dirname(TARGET), { recursive: true });
  await compose(browser, [await take(chat), await take(terminals, rail)], TARGET);
});

/** Opens the terminals before the agent begins, so that the tests are seen to fail first. */
async function openTerminals(): Promise<Page> {
  const tests = await startTerminal(daemon, "tests", ["npm", "run", "--silent", "watch"]);
  const vim = await startTerminal(daemon, "vim", ["vim", "test/cart.test.js"]);
  const page = await openWindow(browser, daemon, "/sessions", TERMINALS_WIDTH);
  await stackTerminals(page, [
    { id: tests, name: "tests", weight: 30 },
    { id: vim, name: "vim", weight: 70 },
  ]);
  await page.getByRole("link", { name: "Terminals" }).click();
  await expect.poll(() => screen(page, 0)).toContain("2 failed");
  return page;
}

/** Sends the agent a message, and waits until a command of the agent waits for approval. */
async function askAgent(page: Page, message: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(message);
  await page.keyboard.press("Enter");
  const request = page.locator(".request");
  await request.getByRole("button", { name: "Reject" }).waitFor();
  await request.focus();
  const hidden = await page.locator(".blocks").evaluate((log) => log.scrollHeight - log.clientHeight);
  expect(hidden, "pixels of the conversation that do not fit into the window").toBe(0);
}

/** Types another test into vim, as a person does while the agent waits. */
async function typeTest(page: Page): Promise<void> {
  await expect.poll(() => screen(page, 0)).toContain("3 passed");
  await page.locator(".panel").nth(1).locator(".xterm-helper-textarea").focus();
  await page.keyboard.type(
    'Go\ntest("half a cent is rounded up", () => {\n  assert.equal(total([{ price: 0.005, count: 3 }]), 2);\n});',
  );
  await expect.poll(() => screen(page, 1)).toMatch(/half a cent[^]*\}\);[^]*INSERT/);
}

/** The text on the screen of a terminal, in the order of the panels. */
async function screen(page: Page, panel: number): Promise<string> {
  return page.locator(".panel").nth(panel).locator(".xterm-rows").innerText();
}
