/** What is kept: the history of what was run, the files of a session, the cases. Each where the daemon has it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, type TestContext } from "vitest";
import { session } from "./asking";
import { barriers } from "./axe";
import { Daemon } from "./daemon";
import { Visitor } from "./browser";

let daemon: Daemon;
let methods: string[];
beforeAll(async () => {
  daemon = await Daemon.start();
  ({ methods } = await daemon.call<{ methods: string[] }>("system.info"));
});
afterAll(() => daemon.stop());

/** A daemon without the method has no such page, and there is nothing to test. */
function needs({ skip }: TestContext, method: string): void {
  skip(!methods.includes(method), `the daemon has no ${method}`);
}

test("a page is shown if the daemon has what it needs", async () => {
  const visitor = await Visitor.arrive(daemon, "/sessions");
  await visitor.page.getByText("Connected", { exact: true }).waitFor();
  await visitor.page.waitForLoadState("networkidle");
  for (const [name, method] of [
    ["History", "session.history"],
    ["Files", "fs.list"],
    ["Cases", "case.list"],
  ] as const) {
    const links = visitor.page.getByRole("navigation").getByRole("link", { name });
    expect(await links.count(), name).toBe(methods.includes(method) ? 1 : 0);
  }
  await visitor.leave();
});

test("what was run is found again, also by the next daemon", async (context) => {
  needs(context, "session.history");
  const session_id = await session(daemon, "lived");
  const run = (command: string) => daemon.call("exec.run", { session_id, command });
  await run("echo needle-in-the-output");
  for (let i = 0; i < 60; i++) await run(`echo straw-${i}`);
  await run("seq 1 200000");
  await run("exit 3");
  await daemon.down();
  await daemon.up();
  const visitor = await Visitor.arrive(daemon, "/history");
  const { page } = visitor;
  const block = (command: string) => page.getByRole("article", { name: command, exact: true });
  await block("exit 3").getByText("exit 3", { exact: true }).nth(1).waitFor();
  await block("seq 1 200000").getByText("Output (").click();
  await block("seq 1 200000").getByText("of stdout were not kept").waitFor();
  await block("seq 1 200000").getByText("200000").last().waitFor();
  expect(await block("echo needle-in-the-output").count()).toBe(0);
  await page.getByRole("button", { name: "Older" }).click();
  await block("echo needle-in-the-output").waitFor();
  expect(await page.getByRole("button", { name: "Older" }).count()).toBe(0);

  await page.getByRole("searchbox").fill("needle");
  await page.getByRole("searchbox").press("Enter");
  await expect.poll(() => page.getByRole("article").count()).toBe(1);
  await block("echo needle-in-the-output").getByText("Output (").click();
  await visitor.picture("history");
  expect(await barriers(visitor)).toEqual([]);
  await page.getByRole("searchbox").fill("haystack");
  await page.getByRole("searchbox").press("Enter");
  await page.getByText("Nothing was found.").waitFor();

  // What is run meanwhile comes by itself, and a session has a history of its own.
  await page.goto(`${daemon.address}/history/${session_id}`);
  await block("exit 3").waitFor();
  await daemon.call("session.get", { session_id });
  await run("echo just-now");
  await block("echo just-now").waitFor();
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("a session that a killed daemon had is listed, and can be opened again", async (context) => {
  needs(context, "session.history");
  const session_id = await session(daemon, "cut off");
  await daemon.call("exec.run", { session_id, command: "echo before" });
  const running = daemon.call("exec.run", { session_id, command: "sleep 600" }).catch(() => undefined);
  const visitor = await Visitor.arrive(daemon, "/sessions");
  const row = visitor.page.getByRole("row").filter({ hasText: "cut off" });
  await row.getByText("Running").waitFor();
  await daemon.down("SIGKILL");
  await running;
  await daemon.up();
  await row.getByText("Interrupted").waitFor();
  await visitor.picture("sessions-interrupted");
  await row.getByRole("button", { name: "Open again" }).click();
  await visitor.page.getByRole("heading", { name: "cut off" }).waitFor();
  await visitor.page.getByText("Ready").first().waitFor();
  // Nobody knows how far it came.
  await visitor.page.goto(`${daemon.address}/history/${session_id}`);
  await visitor.page
    .getByRole("article", { name: "sleep 600" })
    .getByText("Unknown", { exact: true })
    .waitFor();
  await visitor.leave();
});

test("files are shown in their tree, text as text and anything else without harm", async (context) => {
  needs(context, "fs.list");
  // Not beside the daemon's own files, which are nobody's to read.
  const work = await mkdtemp(join(tmpdir(), "trl-e2e-files-"));
  onTestFinished(() => rm(work, { recursive: true, force: true }));
  await mkdir(join(work, "src/deep"), { recursive: true });
  await writeFile(join(work, "src/deep/main.rs"), 'fn main() { println!("你好"); }\n');
  await writeFile(join(work, "notes.txt"), "<script>alert(1)</script>\n\u202Eevil\n");
  await writeFile(join(work, "photo.bin"), new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]));
  await writeFile(join(work, "long.log"), "a line of a long file\n".repeat(30_000));
  await writeFile(join(work, "nothing"), "");
  const made = await daemon.call<{ session_id: string }>("session.create", {
    name: "worker",
    working_dir: work,
  });
  const visitor = await Visitor.arrive(daemon, "/files");
  const { page } = visitor;
  await page.getByRole("combobox", { name: "Whose files" }).selectOption({ label: "worker" });
  expect(new URL(page.url()).pathname).toBe(`/files/session/${made.session_id}`);
  const item = (name: string) => page.getByRole("treeitem", { name, exact: true });
  const content = page.getByRole("region", { name: "Content" });
  await item("notes.txt").click();
  await content.getByText("<script>alert(1)</script>").waitFor();
  await content.getByText("⟨U+202E⟩evil").waitFor();

  await item("photo.bin").click();
  await content.getByText("This is no text").waitFor();
  await content.getByText("89 50 4e 47 00").waitFor();
  await item("nothing").click();
  await content.getByText("The file is empty.").waitFor();

  await item("long.log").click();
  const shown = content.getByText(/of 660.0 kB are shown/);
  const first = await shown.textContent();
  await content.getByRole("button", { name: "Show more" }).click();
  // One click at a time: the next one is for what has come by then.
  await expect.poll(() => shown.textContent()).not.toBe(first);
  await content.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => content.getByRole("button", { name: "Show more" }).count()).toBe(0);
  const saved = page.waitForEvent("download");
  await content.getByRole("button", { name: "Save" }).click();
  expect((await saved).suggestedFilename()).toBe("long.log");

  // By keyboard: up to the first directory, into it, and into the file.
  await item("long.log").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await item("deep").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await item("main.rs").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await content.getByText("你好").waitFor();
  await visitor.picture("files");
  expect(await barriers(visitor)).toEqual([]);

  await writeFile(join(work, "src/new.txt"), "new\n");
  await page.getByRole("button", { name: "Read again" }).click();
  await item("new.txt").waitFor();
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("cases are shown with what is wrong with them, and those of a workspace can be trusted", async (context) => {
  needs(context, "case.list");
  const cases = join(daemon.dir, "config/trl/cases");
  await mkdir(cases, { recursive: true });
  await writeFile(join(cases, "careful.yaml"), "description: Asks first.\nshell: bash\ntimeout_s: 20\n");
  await writeFile(join(cases, "broken.yaml"), "description: Not right.\nshel: bash\n");
  const visitor = await Visitor.arrive(daemon, "/cases");
  const { page } = visitor;
  const one = (name: string) => page.getByRole("article", { name, exact: true });
  await one("careful").getByText("Asks first.").waitFor();
  await one("careful").getByText("good", { exact: true }).waitFor();
  await one("careful").getByText("What it says").click();
  await one("careful").getByText("timeout_s").waitFor();
  await one("broken").getByText("broken", { exact: true }).last().waitFor();
  await one("broken").getByText(/^2\b/).waitFor();
  await visitor.picture("cases");
  expect(await barriers(visitor)).toEqual([]);

  if (methods.includes("workspace.create")) {
    const made = await daemon.call<{ dir: string }>("workspace.create", { workspace_id: "shared" });
    await mkdir(join(made.dir, ".trl/cases"), { recursive: true });
    await writeFile(join(made.dir, ".trl/cases/theirs.yaml"), "description: By an agent.\nenv: {A: b}\n");
    await page.reload();
    await page.getByRole("combobox", { name: "Also of a workspace" }).selectOption("shared");
    await one("theirs").getByText("not trusted").waitFor();
    await one("theirs").getByText("Without effect until it is trusted: env").waitFor();
    page.once("dialog", (dialog) => void dialog.accept());
    await one("theirs").getByRole("button", { name: "Trust", exact: true }).click();
    await one("theirs").getByText("good", { exact: true }).waitFor();
    await one("theirs").getByRole("button", { name: "Trust no longer" }).click();
    await one("theirs").getByText("not trusted").waitFor();
  }
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});
