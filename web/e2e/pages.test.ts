/** Getting in, and every page: for people who do not use a mouse, read Chinese, or hold a phone. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { barriers } from "./axe";
import { Daemon, TOKEN } from "./daemon";
import { BARS, theBrowser, Visitor } from "./browser";

let daemon: Daemon;
let session: string;
let methods: string[];
beforeAll(async () => {
  daemon = await Daemon.start();
  ({ methods } = await daemon.call<{ methods: string[] }>("system.info"));
  session = await lived();
});
afterAll(() => daemon.stop());

test("a token lets in, a wrong one does not, and one that is revoked throws out", async () => {
  const context = await (await theBrowser()).newContext({ locale: "en-US" });
  const page = await context.newPage();
  await page.goto(`${daemon.address}/sessions`);
  await page.getByRole("heading", { name: "Log in to TRL" }).waitFor();
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").getByText("not a valid token").waitFor();

  const made = await daemon.token("guest", "operator");
  await page.getByLabel("Token").fill(made.token);
  await page.keyboard.press("Enter");
  await page.getByRole("navigation").waitFor();
  expect(new URL(page.url()).pathname).toBe("/sessions");
  await page.reload();
  await page.getByRole("navigation").waitFor();

  await daemon.call("token.revoke", { token_id: made.token_id });
  await page.getByText("Your token is not valid any more").waitFor();
  expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain(made.token);
  await context.close();
});

test("the page comes with strict rules, and comes fast", async () => {
  const response = await fetch(`${daemon.address}/`, { headers: { Accept: "text/html" } });
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/default-src 'none'; script-src 'self';/);
  expect(policy.replace("style-src-attr 'unsafe-inline'", "")).not.toMatch(/unsafe/);
  const [script] = /\/assets\/[^"]+\.js/.exec(await response.text()) ?? [];
  const asset = await fetch(`${daemon.address}${script ?? ""}`, { headers: { "Accept-Encoding": "gzip" } });
  expect(asset.headers.get("cache-control")).toMatch(/immutable/);
  expect(asset.headers.get("content-encoding")).toBe("gzip");

  const visitor = await Visitor.arrive(daemon, "/sessions");
  await visitor.page.getByRole("heading", { level: 1 }).waitFor();
  await visitor.page.reload();
  await visitor.page.getByRole("heading", { level: 1 }).waitFor();
  const paint = await visitor.page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
  );
  console.log(`first paint after ${paint.toFixed(0)} ms`);
  if (BARS) expect(paint).toBeLessThan(500);
  await visitor.leave();
});

const LONG = `cargo build --release --workspace --features ${"very-long-feature-name,".repeat(12)}last`;

/** A session that has seen much: colours, errors, a command longer than the page, one that was stopped. */
async function lived(): Promise<string> {
  const { session_id } = await daemon.call<{ session_id: string }>("session.create", {
    name: "build",
    shell: "bash",
    working_dir: "/usr",
  });
  for (const command of [
    String.raw`printf '\033[1;32m   Compiling\033[0m app v1.0\n\033[33mwarning\033[0m: unused\n\033[31;1merror\033[0m\n'`,
    "ls /nonexistent; false",
    `echo '${LONG}'`,
    "exit 3",
  ])
    await daemon.call("exec.run", { session_id, command });
  return session_id;
}

/** The last word of some is the method without which there is no such page. */
const pages = [
  ["workspace", "/"],
  ["sessions", "/sessions"],
  ["session", "/sessions/ID"],
  ["history", "/history", "session.history"],
  ["files", "/files/session/ID", "fs.list"],
  ["cases", "/cases", "case.list"],
  ["approvals", "/approvals"],
  ["diagnostics", "/diagnostics"],
  ["welcome", "/welcome"],
] as const;

/** Goes to a page and waits until it is there. */
async function visit(visitor: Visitor, name: string, path: string): Promise<void> {
  await visitor.page.goto(`${daemon.address}${path.replace("ID", session)}`);
  await visitor.page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
  if (name === "session") await visitor.page.locator(".output .fg-2").first().waitFor();
  await visitor.page.waitForLoadState("networkidle");
}

test.each([
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["zh", { locale: "zh-CN" }],
  ["zh-light", { locale: "zh-CN", colorScheme: "light" }],
] as const)("every page is usable by everybody: %s", async (look, options) => {
  const visitor = await Visitor.arrive(daemon, `/w/${look}`, options);
  await visitor.newTerminal();
  await visitor.run("ls --color=always /");
  for (const [name, path, needs] of pages) {
    if (needs !== undefined && !methods.includes(needs)) continue;
    if (name !== "workspace") await visit(visitor, name, path);
    await visitor.picture(`${name}-${look}`);
    expect(await barriers(visitor), `${name}, ${look}`).toEqual([]);
  }
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("the login page is usable by everybody", async () => {
  const visitor = await Visitor.arrive(daemon, "/");
  await visitor.page.getByRole("button", { name: "Log out" }).click();
  await visitor.page.getByText("You have logged out.").waitFor();
  await visitor.picture("login");
  expect(await barriers(visitor)).toEqual([]);
  await visitor.leave();
});

test("the UI speaks Chinese to those whose browser does, and to those who choose it", async () => {
  const visitor = await Visitor.arrive(daemon, "/", { locale: "zh-CN" });
  await visitor.page.getByRole("link", { name: "会话" }).waitFor();
  expect(await visitor.page.getAttribute("html", "lang")).toBe("zh-CN");
  await visitor.newTerminal();
  await visitor.run(String.raw`printf '\344\275\240\345\245\275\n'`);
  await visitor.sees(/^你好/m);
  await visitor.page.getByRole("button", { name: "切换到 English" }).click();
  await visitor.page.getByRole("link", { name: "Sessions" }).waitFor();
  await visitor.leave();
});

test("a phone shows every page, and its keyboard does not resize the terminal", async () => {
  const phone = {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  };
  const visitor = await Visitor.arrive(daemon, "/w/phone", phone);
  await visitor.newTerminal();
  await visitor.run("echo on-a-phone");
  await visitor.sees(/^on-a-phone/m);
  await visitor.page.getByRole("button", { name: "Control C" }).tap();
  await visitor.sees(/\^C/);
  await visitor.picture("phone-workspace");
  expect(await visitor.page.getAttribute("meta[name=viewport]", "content")).toMatch(
    /interactive-widget=overlays-content/,
  );
  for (const [name, path, needs] of pages) {
    if (needs !== undefined && !methods.includes(needs)) continue;
    if (name !== "workspace") await visit(visitor, name, path);
    const { scroll, room } = await visitor.page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      room: document.documentElement.clientWidth,
    }));
    expect(scroll, `${name} fits`).toBeLessThanOrEqual(room);
    await visitor.picture(`phone-${name}`);
    expect(await barriers(visitor), name).toEqual([]);
  }
  await visitor.leave();
});

test("the keyboard reaches everything, and leaves a terminal", async () => {
  const visitor = await Visitor.arrive(daemon, "/w/keys");
  await visitor.newTerminal();
  await visitor.type("x");
  await visitor.page.keyboard.press("Control+F6");
  const label = () => visitor.page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  expect(await label()).toBe("Only watch");
  await visitor.page.keyboard.press("Tab");
  expect(await label()).toBe("Text for screen readers");
  await visitor.leave();
});

test("a token in the query is not taken", async () => {
  const context = await (await theBrowser()).newContext({ locale: "en-US" });
  const page = await context.newPage();
  await page.goto(`${daemon.address}/?token=${TOKEN}`);
  await page.getByRole("heading", { name: "Log in to TRL" }).waitFor();
  await context.close();
});
