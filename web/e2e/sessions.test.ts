/** Sessions: the list that follows what happens, and a session with its commands. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "./daemon";
import { Visitor } from "./browser";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
afterAll(() => daemon.stop());

test("the list follows what happens elsewhere", async () => {
  const visitor = await Visitor.arrive(daemon, "/sessions");
  await visitor.page.getByText("No sessions yet").waitFor();
  const { session_id } = await daemon.call<{ session_id: string }>("session.create", {
    name: "build",
    shell: "bash",
  });
  const row = visitor.page.getByRole("row").filter({ hasText: "build" });
  await row.getByText("Ready").waitFor();
  const running = daemon.call("exec.run", { session_id, command: "echo working; sleep 60" });
  await row.getByText("Running").waitFor();
  await row.getByText("echo working; sleep 60").waitFor();
  await visitor.picture("sessions-running");
  await daemon.call("exec.cancel", { session_id });
  await running;
  await row.getByText("Idle").waitFor();
  await daemon.call("session.close", { session_id });
  await visitor.page.getByRole("heading", { name: "History" }).waitFor();
  await row.getByRole("button", { name: "Open again" }).click();
  await visitor.page.getByRole("heading", { name: "build" }).waitFor();
  // What ran before is still to be read, and it runs again.
  await visitor.page
    .getByRole("article", { name: "echo working" })
    .getByText("working", { exact: true })
    .waitFor();
  const box = visitor.page.getByRole("textbox", { name: "Command" });
  await box.fill("echo again-$((20+22))");
  await box.press("Enter");
  await visitor.page.getByText("again-42").waitFor();
  // The same from its own page.
  await visitor.page.getByRole("button", { name: "Close", exact: true }).click();
  await visitor.page.getByText("Closed").first().waitFor();
  await visitor.picture("session-closed");
  await visitor.page.getByRole("button", { name: "Open again" }).click();
  await visitor.page.getByText("Ready").first().waitFor();
  await box.waitFor();
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("a session runs commands and shows what comes of them, as it comes", async () => {
  const visitor = await Visitor.arrive(daemon, "/sessions");
  const { page } = visitor;
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByLabel("Name").fill("by hand");
  await page.getByLabel("Shell").fill("bash");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("heading", { name: "by hand" }).waitFor();
  const box = page.getByRole("textbox", { name: "Command" });
  const run = async (command: string) => {
    await box.fill(command);
    await box.press("Enter");
  };
  const block = (command: string) => page.getByRole("article", { name: command });

  await run("echo out-$((6*7)); echo err-$((6*8)) >&2; exit 3");
  await block("echo out").getByText("exit 3", { exact: true }).waitFor();
  await block("echo out").getByText("out-42").waitFor();
  await expect.poll(() => block("echo out").locator(".stderr").innerText()).toContain("err-48");

  await run(String.raw`printf '\033[1;31mred\033[0m <b>plain</b> \033[38;5;21mblue\033[0m\n'`);
  const red = page.locator(".output .fg-1.sgr-bold");
  await expect.poll(() => red.innerText()).toBe("red");
  expect(await page.locator(".output").last().innerText()).toContain("red <b>plain</b> blue");
  expect(await page.locator('.output span[style*="rgb"]').innerText()).toBe("blue");

  await run(
    "echo first; read -r line < fifo-that-is-not-there || true; for i in 1 2 3; do echo live-$i; done; sleep 60",
  );
  await block("echo first").getByText("live-3").waitFor();
  await visitor.picture("session-running");
  await page.reload();
  await block("echo first").getByText("live-3").waitFor();
  await block("echo first").getByRole("button", { name: "Cancel this command" }).click();
  await block("echo first").getByText("It was cancelled.").waitFor();

  await run("seq 1 400000");
  await block("seq 1 400000").getByText("exit 0", { exact: true }).waitFor();
  await page.reload();
  await block("seq 1 400000")
    .getByText(/of stdout are not shown here/)
    .first()
    .waitFor();
  const saved = page.waitForEvent("download");
  await block("seq 1 400000").getByRole("button", { name: "Save what is kept" }).first().click();
  expect((await saved).suggestedFilename()).toMatch(/^e-.*stdout\.txt$/);
  await visitor.picture("session");

  page.once("dialog", (dialog) => void dialog.accept());
  await page.getByRole("button", { name: "Destroy" }).click();
  await page.getByText("Terminated").first().waitFor();
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("diagnostics show figures and trouble", async () => {
  const visitor = await Visitor.arrive(daemon, "/diagnostics");
  const { page } = visitor;
  await page.getByText("Commands run").waitFor();
  await page.getByRole("table", { name: "Runtimes" }).getByText("Up", { exact: true }).waitFor();
  const store = page.getByRole("region", { name: "Store" });
  await store.getByText("Writes refused").waitFor();
  const { session_id } = await daemon.call<{ session_id: string }>("session.create", {});
  for (let i = 0; i < 5; i++) await daemon.call("exec.run", { session_id, command: "true" });
  await daemon.call("exec.run", { session_id, command: "sleep 9", timeout_s: 0.2 });
  await page.getByText("A command ran out of time").waitFor();
  await page.getByText("A shell was lost and replaced").waitFor();
  // Something ran between two looks at the figures, so there is something to draw.
  const chart = (title: string) => page.getByRole("figure").filter({ hasText: title });
  for (const title of ["Commands", "Command time", "Wait before start", "Memory of the daemon", "Output"]) {
    await expect
      .poll(async () => {
        await daemon.call("exec.run", { session_id, command: "seq 1 1000" });
        return chart(title).first().locator("path.series-0").getAttribute("d");
      })
      .toMatch(/M[\d.]+ [\d.]+h0/);
  }
  await visitor.picture("diagnostics-busy");
  await visitor.leave();
});

test("what the doctor finds is shown, worst first", async () => {
  const { rows } = await daemon.call<{ rows: { title: string; status: string }[] }>("system.doctor", {});
  const visitor = await Visitor.arrive(daemon, "/diagnostics");
  const findings = visitor.page.getByRole("region", { name: "Checks of the machine" }).getByRole("listitem");
  await expect.poll(() => findings.count()).toBe(rows.length);
  const worst = ["bad", "warn", "ok", "info"].find((health) => rows.some(({ status }) => status === health));
  const first = rows.find(({ status }) => status === worst);
  await findings
    .first()
    .getByText(first?.title ?? "", { exact: true })
    .waitFor();
  await findings.filter({ hasText: "store.db: " }).waitFor();
  await findings.filter({ hasText: "history.max_age_s" }).waitFor();
  await visitor.picture("diagnostics-doctor");
  await visitor.leave();
});
