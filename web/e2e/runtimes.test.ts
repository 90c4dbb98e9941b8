/** Runtimes: how it stands with them, and sessions that live in another. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { barriers } from "./axe";
import { Visitor } from "./browser";
import { Daemon } from "./daemon";

let daemon: Daemon;
beforeAll(async () => {
  daemon = await Daemon.start();
  await daemon.addRuntime("box");
});
afterAll(() => daemon.stop());

test("runtimes are listed and asked, and a session is made in one", async () => {
  const visitor = await Visitor.arrive(daemon, "/diagnostics");
  const { page } = visitor;
  const row = page.getByRole("table", { name: "Runtimes" }).getByRole("row").filter({ hasText: "command" });
  await row.getByText("Not connected").waitFor();
  await row.getByRole("button", { name: "Check box" }).click();
  await row.getByText(/^answers in [\d.]+ [µm]s$/).waitFor();
  await row.getByText("Up", { exact: true }).waitFor();
  await row.getByText(/^trl \d/).waitFor();
  expect(await barriers(visitor)).toEqual([]);
  await visitor.picture("diagnostics-runtimes");

  await page.getByRole("link", { name: "Sessions" }).first().click();
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByLabel("Name").fill("far away");
  await page.getByLabel("Runtime").selectOption("box");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("heading", { name: "far away" }).waitFor();
  await page.getByRole("definition").getByText("box", { exact: true }).waitFor();
  const box = page.getByRole("textbox", { name: "Command" });
  await box.fill("echo from-$((20+22))");
  await box.press("Enter");
  await page.getByText("from-42").waitFor();
  await visitor.picture("session-elsewhere");
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("what is in the way is told to operators, and others cannot ask", async () => {
  const argv = ["sh", "-c", "echo nobody home >&2; exit 1"];
  await daemon.call("runtime.add", { name: "dead", kind: "command", argv });
  const visitor = await Visitor.arrive(daemon, "/diagnostics");
  const row = visitor.page.getByRole("row").filter({ hasText: "dead" });
  await row.getByRole("button", { name: "Check dead" }).click();
  await row.getByText("nobody home").waitFor();
  await row.getByText("does not answer").waitFor();
  await visitor.leave();

  const { token } = await daemon.token("guest", "viewer");
  const guest = await Visitor.arrive(daemon, "/diagnostics", {}, { token });
  await guest.page.getByRole("row").filter({ hasText: "dead" }).waitFor();
  expect(await guest.page.getByRole("button", { name: /^Check (box|dead)$/ }).count()).toBe(0);
  expect(await guest.page.getByText("nobody home").count()).toBe(0);
  await guest.leave();
});
