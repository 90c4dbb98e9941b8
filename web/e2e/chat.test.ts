/** Talking to the agent of a session: what it says and does, questions in their place, stopping, coming back. */
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentCase, agentSession, say } from "./agent";
import { barriers } from "./axe";
import { Visitor } from "./browser";
import { Daemon } from "./daemon";

let daemon: Daemon;
beforeAll(async () => {
  daemon = await Daemon.start();
  await agentCase(daemon, "coder");
});
afterAll(() => daemon.stop());

const box = (page: Page) => page.getByRole("textbox", { name: "Message" });
const agentIs = (page: Page, standing: string) => page.locator(`[data-agent="${standing}"]`).waitFor();
const newest = (page: Page) => page.locator(".message").last().locator(".answer");

async function tell(page: Page, text: string): Promise<void> {
  await box(page).fill(text);
  await box(page).press("Enter");
}

test("a conversation begins with a case, and shows text, thoughts, the plan, tools and what runs", async () => {
  const visitor = await Visitor.arrive(daemon, "/welcome");
  const { page } = visitor;
  await page.getByRole("button", { name: "Talk to an agent" }).click();
  await page.getByLabel("Agent of the case").selectOption("coder");
  await page.getByLabel("Directory").fill(daemon.dir);
  await visitor.picture("chat-new");
  expect(await barriers(visitor)).toEqual([]);
  await page.getByRole("button", { name: "Start a conversation" }).click();
  await page.getByText("Nothing was said yet").waitFor();
  await agentIs(page, "absent");

  await box(page).fill(
    "plan\nthink about <i>it</i>\nsay Here is <b>bold</b>: **not**.\ntool Change the file",
  );
  await box(page).press("Shift+Enter");
  await box(page).pressSequentially("run echo out-$((40+2))");
  await box(page).press("Enter");
  const message = newest(page);
  await message.getByRole("region", { name: "Plan" }).getByText("1 of 2 done").waitFor();
  await message.getByText("Here is <b>bold</b>: **not**.").waitFor();
  const tool = message.getByRole("article", { name: "Change the file" });
  await tool.getByText("done", { exact: true }).waitFor();
  expect(await tool.locator(".diff pre > span").allInnerTexts()).toEqual(["- a", "+ b"]);
  const command = message.getByRole("article", { name: "run", exact: true });
  await command.locator(".output").getByText("out-42").waitFor();
  await command.getByText("exit 0", { exact: true }).waitFor();
  await message.getByText("What it thinks").click();
  await message.getByText("about <i>it</i>").waitFor();
  await agentIs(page, "warm");
  expect(await message.locator("b, i, strong").count()).toBe(0);

  await page.getByText("fake-agent 0.1").waitFor();
  await visitor.picture("chat");
  await page.emulateMedia({ colorScheme: "light" });
  await visitor.picture("chat-light");
  expect(await barriers(visitor)).toEqual([]);
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("a question is answered in its place, and the inbox has it too", async () => {
  const id = await agentSession(daemon, "asking");
  const visitor = await Visitor.arrive(daemon, `/sessions/${id}`);
  const { page } = visitor;
  await page.locator(".session-head").getByRole("link", { name: "Chat" }).click();
  await tell(page, "say before\nask Push to main\nsay after");
  const card = newest(page).locator(".request");
  await card.getByText("Push to main").first().waitFor();
  await agentIs(page, "waiting");
  expect(await card.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await visitor.picture("chat-asked");
  expect(await barriers(visitor)).toEqual([]);
  await page.getByRole("link", { name: /^Approvals/ }).click();
  await page.getByRole("article").getByRole("link", { name: "asking" }).click();
  await card.getByRole("button", { name: "Approve once" }).click();
  await newest(page).getByText("answer: yesafter").waitFor();
  await newest(page).getByText("allowed · Allow").waitFor();
  await expect.poll(() => card.count()).toBe(0);

  // A command of the agent's that a rule asks about.
  await daemon.rules("default: allow\nrules:\n- ask: [touch]\n  reason: with care\n");
  await tell(page, "run touch asked-for");
  await card.getByText("with care").waitFor();
  await card.getByRole("button", { name: "Reject" }).click();
  await page.getByLabel("Why not?").press("Escape");
  // Escape left the form; it did not stop the agent.
  await agentIs(page, "waiting");
  await card.getByRole("button", { name: "Approve once" }).click();
  await newest(page).getByText("exit 0: ").waitFor();
  expect(existsSync(join(daemon.dir, "work/asked-for"))).toBe(true);
  await daemon.rules("default: allow\n");
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("after a reload or a lost connection nothing is lost and nothing is there twice; Escape stops", async () => {
  const id = await agentSession(daemon, "followed");
  const visitor = await Visitor.arrive(daemon, `/chat/${id}`);
  const { page } = visitor;
  const gate = join(daemon.dir, "work/gate");
  const wait = (n: number) =>
    `run echo live-${n}; until [ -e ${gate}-${n} ]; do sleep 0.05; done; echo past-${n}`;
  await tell(page, ["say one ", wait(1), "say two ", wait(2), "say three", "hang"].join("\n"));
  const message = newest(page);
  await message.locator(".prose").getByText("one").waitFor();
  await message.locator(".output").getByText("live-1", { exact: true }).waitFor();
  await page.reload();
  await message.locator(".prose").getByText("one").waitFor();
  await message.locator(".output").getByText("live-1", { exact: true }).waitFor();
  await writeFile(`${gate}-1`, "");
  await message.locator(".prose").getByText("two").waitFor();
  await page.locator('[data-phase="online"]').waitFor();
  daemon.wire.cut("down");
  await page.locator('[data-phase="waiting"]').waitFor();
  await writeFile(`${gate}-2`, "");
  daemon.wire.mend();
  await message.locator(".prose").getByText("hanging").waitFor();
  const answer = (await message.locator(".prose").allInnerTexts()).join(" ").replace(/\s+/g, " ");
  expect(answer).toBe("one exit 0: live-1 past-1 two exit 0: live-2 past-2 threehanging");
  expect(await page.locator(".message").count()).toBe(1);
  await visitor.picture("chat-running");
  await box(page).press("Escape");
  await message.getByText("Stopped.").waitFor();
  await agentIs(page, "warm");
  await Promise.all([rm(`${gate}-1`), rm(`${gate}-2`)]);
  await visitor.leave();
});

test("a case leads to its agent", async () => {
  const visitor = await Visitor.arrive(daemon, "/cases");
  const { page } = visitor;
  await page
    .getByRole("article", { name: "coder" })
    .getByRole("button", { name: "Talk to its agent" })
    .click();
  await tell(page, "say from the case");
  await newest(page).getByText("from the case").waitFor();
  await visitor.leave();
});

test("what went wrong is told in words, with what to do, and can be sent again", async () => {
  await agentCase(daemon, "broken", ["--auth"]);
  const id = await agentSession(daemon, "broken", "broken");
  const visitor = await Visitor.arrive(daemon, `/chat/${id}`);
  const { page } = visitor;
  await tell(page, "say hello");
  await newest(page).getByText("It wants to be logged in first").waitFor();
  await agentIs(page, "absent");
  await visitor.picture("chat-error");
  expect(await barriers(visitor)).toEqual([]);
  await newest(page).getByRole("button", { name: "Send again" }).click();
  await expect.poll(() => page.getByText("It wants to be logged in first").count()).toBe(2);
  await visitor.leave();
});

test("the daemon ends under it: that is said, and what was asked is still asked", async () => {
  const id = await agentSession(daemon, "cut");
  const visitor = await Visitor.arrive(daemon, `/chat/${id}`);
  const { page } = visitor;
  await tell(page, "say before\nask Deploy\nsay after");
  await newest(page).locator(".request").waitFor();
  await daemon.down("SIGKILL");
  await daemon.up();
  await newest(page).getByText("The daemon ended while the agent worked on this").waitFor();
  await newest(page).locator(".request").getByRole("button", { name: "Approve once" }).click();
  await newest(page).getByRole("button", { name: "Send again" }).click();
  await newest(page).getByText("answer: yesafter").waitFor();
  expect(await page.locator(".message").count()).toBe(2);
  await visitor.leave();
});

test("an old conversation is opened from the history, older messages come when they are wanted, on a phone in Chinese", async () => {
  const id = await agentSession(daemon, "long");
  for (let n = 1; n <= 24; n++) await say(daemon, id, `say answer-${n}.`);
  await daemon.call("session.close", { session_id: id });
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const visitor = await Visitor.arrive(daemon, `/history/${id}`, {
    ...phone,
    locale: "zh-CN",
    colorScheme: "light",
  });
  const { page } = visitor;
  await page.locator(".page-head").getByRole("link", { name: "对话" }).click();
  await page.getByText("answer-24.", { exact: true }).waitFor();
  expect(await page.getByText("answer-2.", { exact: true }).count()).toBe(0);
  await page.locator(".blocks").evaluate((log) => log.scrollTo(0, -log.scrollHeight));
  await page.getByText("answer-1.", { exact: true }).waitFor();
  await expect.poll(() => page.locator(".message").count()).toBe(24);
  // It goes on where it was.
  await page.getByRole("textbox", { name: "消息" }).fill("recall\nplan\ntool 修改文件\nrun seq 1 5");
  await page.getByRole("button", { name: "发送" }).click();
  await page.getByText(/message 25 of/).waitFor();
  // Who says something sees what comes of it.
  await expect.poll(() => page.locator(".blocks").evaluate((log) => log.scrollTop)).toBe(0);
  await agentIs(page, "warm");
  await visitor.picture("chat-phone");
  await page.emulateMedia({ colorScheme: "dark" });
  await visitor.picture("chat-phone-dark");
  expect(await barriers(visitor)).toEqual([]);
  await visitor.leave();
});
