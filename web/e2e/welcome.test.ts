/** The first visit: where it begins, what can be started there, and that what can be pasted works. */
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon, TOKEN } from "./daemon";
import { theBrowser, Visitor } from "./browser";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
afterAll(() => daemon.stop());

test("the first visit begins with what can be done here, the next one does not", async () => {
  const context = await (await theBrowser()).newContext({ locale: "en-US" });
  const page = await context.newPage();
  await page.goto(`${daemon.address}/#token=${TOKEN}`);
  await page.getByRole("heading", { name: "Welcome to TRL" }).waitFor();
  // All of it is in sight.
  const { height, room } = await page.evaluate(() => ({
    height: document.querySelector("main")?.scrollHeight ?? 0,
    room: document.querySelector("main")?.clientHeight ?? 0,
  }));
  expect(height).toBeLessThanOrEqual(room);
  await page.goto(`${daemon.address}/`);
  await page.getByText("No terminals here").waitFor();
  await context.close();
});

test("each starting point starts something", async () => {
  const visitor = await Visitor.arrive(daemon, "/welcome");
  const { page } = visitor;
  const start = async (name: string) => {
    await page.goto(`${daemon.address}/welcome`);
    await page.getByRole("button", { name }).click();
  };
  await start("A terminal here");
  await visitor.isLive();
  await visitor.run("echo begun-$((1+1))");
  await visitor.sees(/begun-2/);

  await start("A scratch session");
  await page.getByRole("heading", { name: "scratch" }).waitFor();
  await page.getByRole("textbox", { name: "Command" }).fill("echo $BASH_VERSION");
  await page.getByRole("textbox", { name: "Command" }).press("Enter");
  await page.getByText("exit 0", { exact: true }).waitFor();

  await start("A long build, watched");
  await page.getByRole("heading", { name: "build" }).waitFor();
  await page.getByText("module 1").waitFor();
  await page.getByRole("button", { name: "Cancel this command" }).click();
  await page.getByText("It was cancelled.").waitFor();

  await start("A full-screen program");
  await visitor.sees(/load average/);
  await visitor.picture("welcome-top");
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("what can be pasted works when it is", async () => {
  const visitor = await Visitor.arrive(daemon, "/welcome");
  const { page } = visitor;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const paste = async (tab: string) => {
    await page.getByRole("tab", { name: tab }).click();
    // The daemon of this test has a socket of its own, which the text has to name.
    await page.getByRole("tabpanel").getByText("export TRL_SOCKET_PATH").waitFor();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    const lines = text.split("\n").filter((line) => !line.startsWith("trl attach"));
    const { stdout } = await promisify(execFile)("bash", ["-e", "-c", lines.join("\n")], {
      cwd: daemon.dir,
      env: {
        PATH: `${dirname(process.env["TRL_BIN"] ?? "")}:${process.env["PATH"] ?? ""}`,
        HOME: daemon.dir,
        XDG_CONFIG_HOME: `${daemon.dir}/config`,
        // As the daemon of this test has it; a person's is in the file that `trl` reads by itself.
        TRL_AUTH_TOKEN: TOKEN,
      },
    });
    return stdout;
  };
  expect(await paste("Shell")).toMatch(/me in \/tmp\n$/);
  expect(await paste("Any method")).toMatch(/"exit_code":0[\s\S]*"sessions":\[/);
  expect(await paste("HTTP")).toMatch(/"stdout":"hello\\n"/);
  expect(await paste("Terminal")).toMatch(/^t-/);
  const screen = () =>
    daemon
      .call<{ terminals: { terminal_id: string; name: string | null }[] }>("terminal.list")
      .then(async ({ terminals }) => {
        const terminal_id = terminals.find(({ name }) => name === "shared")?.terminal_id;
        return (await daemon.call<{ text: string }>("terminal.screen", { terminal_id })).text;
      });
  await expect.poll(screen).toMatch(/^typed by an agent/m);
  await page.getByRole("tab", { name: "MCP" }).click();
  await page.getByText("this version has no MCP server yet").waitFor();
  await page.keyboard.press("ArrowRight");
  expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Shell");
  await visitor.leave();
});
