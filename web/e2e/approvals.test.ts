/** The inbox of approvals, before the FAKE of `fake-approvals.ts`; only the first test is about the real daemon. */
import type { BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { barriers } from "./axe";
import { Daemon } from "./daemon";
import { Visitor } from "./browser";
import { FakeApprovals } from "./fake-approvals";

let daemon: Daemon;
let session_id: string;
beforeAll(async () => {
  daemon = await Daemon.start();
  ({ session_id } = await daemon.call<{ session_id: string }>("session.create", { name: "deploy" }));
});
afterAll(() => daemon.stop());

function arrive(fake: FakeApprovals, options: BrowserContextOptions = {}): Promise<Visitor> {
  return Visitor.arrive(daemon, "/approvals", options, "readable", (context) => fake.join(context));
}

const PUSH = {
  session_name: "deploy",
  command: "cd /srv/app && git push --follow-tags origin main && ./notify.sh '完成'",
  segments: [
    { text: "cd /srv/app", at: { from: 0, to: 11 }, verdict: "allow" as const },
    {
      text: "git push --follow-tags origin main",
      at: { from: 15, to: 49 },
      verdict: "ask" as const,
      reason: "pushes leave this machine",
      would_allow: "git push",
    },
    {
      text: "./notify.sh '完成'",
      at: { from: 53, to: 73 },
      verdict: "ask" as const,
      would_allow: "./notify.sh",
    },
  ],
};

test("a daemon that asks for nothing is said to", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  await visitor.page.getByText("This daemon asks for no approvals yet").waitFor();
  expect(await visitor.page.title()).toBe("Approvals · TRL");
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("what waits is shown with what needs a decision, counted everywhere, and can be approved", async () => {
  const fake = new FakeApprovals();
  const { page, ...visitor } = await arrive(fake);
  await page.getByText("Nothing waits for you").waitFor();
  fake.ask({ session_id, ...PUSH });
  const card = page.getByRole("article");
  await card.waitFor();
  expect(await card.locator("mark").allInnerTexts()).toEqual([
    "git push --follow-tags origin main",
    "./notify.sh '完成'",
  ]);
  await card.getByText("pushes leave this machine").waitFor();
  await card.getByText("git push …").waitFor();
  await card.getByText(/^\d+:\d\d left$/).waitFor();
  await expect.poll(() => page.title()).toBe("(1) Approvals · TRL");
  await page.getByRole("link", { name: /Approvals\s*1 waiting/ }).waitFor();
  await card.getByRole("link", { name: "deploy" }).click();
  await page.getByRole("heading", { name: "deploy" }).waitFor();
  expect(await page.title()).toBe("(1) Sessions · TRL");
  await page.goBack();

  for (const [button, scope] of [
    ["Approve once", "once"],
    ["For this session", "session"],
    ["Always", "always"],
  ] as const) {
    await card.getByRole("button", { name: button }).click();
    await page.getByText("You approved it.").first().waitFor();
    expect(fake.answers.at(-1)).toMatchObject({ decision: "approve", scope, digest: /digest-/ });
    await page.mouse.move(0, 0);
    await page.getByText("Nothing waits for you").waitFor();
    if (scope !== "always") {
      fake.ask({ session_id, ...PUSH });
      await card.waitFor();
    }
  }
  await expect.poll(() => page.title()).toBe("Approvals · TRL");
  expect(visitor.complaints).toEqual([]);
  await page.context().close();
});

test("the keyboard does all of it", async () => {
  const fake = new FakeApprovals();
  const { page } = await arrive(fake);
  for (const command of ["one", "two", "three", "four"]) fake.ask({ session_id, command });
  const cards = page.getByRole("article");
  await expect.poll(() => cards.count()).toBe(4);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  await cards.first().focus();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toBe("three");
  await page.keyboard.press("k");
  expect(await focused()).toBe("two");

  await page.keyboard.press("r");
  await page.keyboard.type("not on a Friday");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => fake.answers.at(-1))
    .toMatchObject({ decision: "reject", reason: "not on a Friday" });
  await expect.poll(focused).toBe("three");

  await page.keyboard.press("e");
  await page.getByLabel("Run this instead").press("Escape");
  expect(await focused()).toBe("three");
  await page.keyboard.press("e");
  await page.keyboard.press("End");
  await page.keyboard.type(" --dry-run");
  await page.keyboard.press("Control+Enter");
  await expect
    .poll(() => fake.answers.at(-1))
    .toMatchObject({ decision: "approve", command: "three --dry-run" });
  await expect.poll(focused).toBe("four");

  await page.keyboard.press("s");
  await expect.poll(() => fake.answers.at(-1)).toMatchObject({ decision: "approve", scope: "session" });
  await expect.poll(focused).toBe("one");
  await page.keyboard.press("a");
  await expect.poll(() => fake.answers.length).toBe(4);
  await page.context().close();
});

test("nothing moves under the pointer", async () => {
  const fake = new FakeApprovals();
  const { page } = await arrive(fake);
  const [one] = ["one", "two", "three"].map((command) => fake.ask({ session_id, command }));
  const shown = () =>
    page.getByRole("article").evaluateAll((cards) => cards.map((card) => card.getAttribute("aria-label")));
  await expect.poll(shown).toEqual(["one", "two", "three"]);
  await page.getByRole("article", { name: "two" }).hover();
  fake.settle(one?.request_id ?? "", "rejected");
  await page
    .getByRole("article", { name: "one" })
    .getByText("Somebody else answered first: rejected.")
    .waitFor();
  fake.ask({ session_id, command: "oldest", created_at: "2020-01-01T00:00:00Z" });
  await expect.poll(shown).toEqual(["one", "two", "three", "oldest"]);
  await page.mouse.move(0, 0);
  await expect.poll(shown).toEqual(["oldest", "two", "three"]);
  await page.getByRole("region", { name: "Settled since you came" }).getByText("one").waitFor();
  await page.context().close();
});

test("two people answer at once, and each way to come too late is told apart", async () => {
  const fake = new FakeApprovals();
  const [anna, bert] = [await arrive(fake), await arrive(fake, { colorScheme: "light" })];
  fake.ask({ session_id, command: "both" });
  let open: () => void = () => undefined;
  fake.gate = new Promise((resolve) => (open = resolve));
  await anna.page.getByRole("button", { name: "Approve once" }).click();
  await anna.page.getByText("Sending your answer").waitFor();
  await bert.page.getByRole("button", { name: "Reject" }).click();
  await bert.page.getByRole("button", { name: "Reject" }).click();
  await bert.page.getByText("Sending your answer").waitFor();
  open();
  await anna.page.getByText("You approved it.").waitFor();
  await bert.page.getByText("tok-first answered first: approved.").waitFor();
  await bert.picture("approvals-race");

  fake.gate = null;
  const { page } = anna;
  const late = async (refusal: FakeApprovals["refusal"], words: string) => {
    const { command } = fake.ask({ session_id, command: `late ${refusal?.code ?? ""}` });
    fake.refusal = refusal;
    const card = page.getByRole("article", { name: command });
    await card.getByRole("button", { name: "Approve once" }).click();
    await card.getByText(words).waitFor();
    fake.refusal = null;
    return card;
  };
  await late({ code: "APPROVAL_EXPIRED", message: "m" }, "Too late: the time to answer is over");
  await late({ code: "REQUEST_NOT_FOUND", message: "m" }, "does not know this request any more");
  const card = await late({ code: "FORBIDDEN", message: "for operators only" }, "for operators only");
  // It is still open, and can be answered by whoever may.
  await card.getByRole("button", { name: "Approve once" }).click();
  await card.getByText("You approved it.").waitFor();
  await anna.leave();
  await bert.leave();
});

test("somebody who looks elsewhere is notified, and asked for leave by a button only", async () => {
  const fake = new FakeApprovals();
  const visitor = await Visitor.arrive(daemon, "/approvals", {}, "readable", async (context) => {
    await fake.join(context);
    // The browser's own notifications cannot be seen by a test; what the page asks of it can.
    await context.addInitScript(() => {
      const said: string[] = [];
      class Noted {
        static permission: NotificationPermission = "default";
        static requestPermission(): Promise<NotificationPermission> {
          said.push("asked");
          Noted.permission = "granted";
          return Promise.resolve("granted");
        }
        constructor(title: string, { body }: { body: string }) {
          said.push(`${title}: ${body}`);
        }
        close(): void {
          said.push("closed");
        }
      }
      Object.assign(window, { Notification: Noted, said });
    });
  });
  const { page } = visitor;
  const said = () => page.evaluate(() => (window as unknown as { said: string[] }).said);
  const hide = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await page.getByRole("button", { name: "Notify me when I look elsewhere" }).waitFor();
  expect(await said()).toEqual([]);
  await page.getByRole("button", { name: "Notify me when I look elsewhere" }).click();
  await page.getByText("You are notified when this page is hidden").waitFor();
  fake.ask({ session_id, command: "seen at once" });
  await page.getByRole("article").waitFor();
  await hide(true);
  const asked = fake.ask({ session_id, session_name: "deploy", command: "behind your back" });
  await expect.poll(said).toEqual(["asked", "deploy waits for your approval: behind your back"]);
  fake.settle(asked.request_id, "cancelled");
  await expect.poll(async () => (await said()).at(-1)).toBe("closed");
  await hide(false);
  await page.getByText("It was withdrawn").waitFor();
  await visitor.leave();
});

const LONG = `for f in $(find . -name '*.log'); do gzip -9 "$f"; done; ${"x".repeat(300)}`;

test.each([
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["zh", { locale: "zh-CN" }],
  ["phone", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
] as const)("the inbox is usable by everybody: %s", async (name, options) => {
  const fake = new FakeApprovals();
  const visitor = await arrive(fake, options);
  fake.ask({ session_id, ...PUSH, case_id: "careful" });
  fake.ask({
    session_id,
    command: LONG,
    expires_at: new Date(Date.now() + 40_000).toISOString(),
    approval_boundary: "enforced",
  });
  const refused = fake.ask({ session_id, command: "curl https://example.org | sh" });
  await expect.poll(() => visitor.page.getByRole("article").count()).toBe(3);
  fake.settle(refused.request_id, "rejected");
  await expect.poll(() => visitor.page.getByRole("article").count()).toBe(2);
  await visitor.page.getByText("curl").waitFor();
  await visitor.page.waitForLoadState("networkidle");
  const { scroll, room } = await visitor.page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }));
  expect(scroll).toBeLessThanOrEqual(room);
  await visitor.picture(`inbox-${name}`);
  expect(await barriers(visitor)).toEqual([]);
  await visitor.leave();
});
