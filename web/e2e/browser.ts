/** The browser, and what the tests do on its pages. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { expect } from "vitest";
import { TOKEN, type Daemon } from "./daemon";

const executablePath = process.env["TRL_CHROMIUM"] ?? "/usr/bin/chromium";
const pictures = process.env["TRL_SCREENSHOTS"] ?? join(import.meta.dirname, "../../target/web-screenshots");
mkdirSync(pictures, { recursive: true });

/** Whether speed is measured; only on a machine that does nothing else. */
export const BARS = process.env["TRL_BARS"] !== undefined;

let browser: Promise<Browser> | null = null;

/** Started once; it ends with the process. */
export function theBrowser(): Promise<Browser> {
  browser ??= chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return browser;
}

/** How somebody comes. */
export interface Manner {
  screens?: "readable" | "as people have it";
  /** The operator's, unless told otherwise. */
  token?: string;
  prepare?: (context: BrowserContext) => Promise<unknown>;
}

export class Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the page complained of: errors, refused resources, broken policies. */
  readonly complaints: string[] = [];
  /** Where it sent requests to. */
  readonly hosts = new Set<string>();

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(message.text());
    });
    page.on("request", (request) => this.hosts.add(new URL(request.url()).host));
  }

  static async arrive(
    daemon: Daemon,
    path = "/",
    options: BrowserContextOptions = {},
    { screens = "readable", token = TOKEN, prepare = () => Promise.resolve() }: Manner = {},
  ): Promise<Visitor> {
    const context = await (
      await theBrowser()
    ).newContext({ locale: "en-US", colorScheme: "dark", ...options });
    // The text of a screen is only in the page when it is there for screen readers.
    await context.addInitScript((screenReader: boolean) => {
      const key = "trl.terminal.look";
      if (localStorage.getItem(key) === null)
        localStorage.setItem(key, JSON.stringify({ fontSize: 13, screenReader }));
      // The first visit is a test of its own.
      localStorage.setItem("trl.welcomed", "true");
    }, screens === "readable");
    await prepare(context);
    const visitor = new Visitor(context, await context.newPage());
    await visitor.page.goto(`${daemon.address}${path}#token=${token}`);
    return visitor;
  }

  async picture(name: string): Promise<void> {
    await this.page.screenshot({ path: join(pictures, `${name}.png`) });
  }

  async leave(): Promise<void> {
    await this.context.close();
  }

  // ---- terminals

  async newTerminal(): Promise<void> {
    await this.page
      .getByRole("button", { name: /New terminal|新建终端/ })
      .first()
      .click();
    await this.isLive();
  }

  async isLive(): Promise<void> {
    await this.page.locator('.panel[data-phase="live"]:visible').first().waitFor();
  }

  get terminalId(): Promise<string> {
    return this.page
      .locator(".panel:visible")
      .first()
      .getAttribute("data-terminal")
      .then((id) => id ?? "");
  }

  /** Types at the terminal that is looked at, as a person does. */
  async type(text: string): Promise<void> {
    await this.page.locator(".panel:visible .xterm-helper-textarea").first().focus();
    await this.page.keyboard.type(text);
  }

  async run(command: string): Promise<void> {
    await this.type(command);
    await this.page.keyboard.press("Enter");
  }

  screen(): Promise<string> {
    return this.page.evaluate(() => {
      const trees = [...document.querySelectorAll<HTMLElement>(".xterm-accessibility-tree")];
      const shown = trees.find((tree) => tree.closest<HTMLElement>(".panel")?.offsetParent != null);
      const rows = [...(shown?.children ?? [])].map((row) =>
        row.textContent.replaceAll("\u00a0", " ").trimEnd(),
      );
      return rows.join("\n").trimEnd();
    });
  }

  async sees(wanted: RegExp): Promise<void> {
    await expect.poll(() => this.screen()).toMatch(wanted);
  }
}
