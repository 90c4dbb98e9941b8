/** The inbox of approvals: real rules, commands that really wait, and run when they are let. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  answer,
  ask,
  askAnew,
  rejectAll,
  RULES,
  session,
  settled,
  type ApprovalRequest,
  type Waiting,
} from "./asking";
import { barriers } from "./axe";
import { Daemon, Refused } from "./daemon";
import { Visitor, type Manner } from "./browser";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
beforeEach(() => daemon.rules(RULES));
afterEach(() => rejectAll(daemon));
afterAll(() => daemon.stop());

const made = (name: string) => existsSync(join(daemon.dir, name));
const card = (page: Page, command: string) => page.getByRole("article", { name: command });
/** How it ended, for a command that was refused. */
async function why({ end }: Waiting): Promise<[string, string | undefined]> {
  const ended = await end;
  if (!(ended instanceof Refused)) throw new Error("it was run");
  return [ended.code, ended.hint];
}
const code = async ({ end }: Waiting) => {
  const ended = await end;
  return ended instanceof Refused ? ended.code : ended.exit_code;
};

test("without rules nothing waits, and that is said", async () => {
  await daemon.rules("default: allow\n");
  const visitor = await Visitor.arrive(daemon, "/approvals");
  await visitor.page.getByText("Nothing waits for you").waitFor();
  expect(await visitor.page.title()).toBe("Approvals · TRL");
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("what waits is shown with what needs a decision, counted everywhere, and runs when it is approved", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const id = await session(daemon, "deploy");
  const first = await ask(daemon, id, "echo '完成' && touch made-1 && date -u");
  const one = page.getByRole("article");
  await one.waitFor();
  expect(await one.locator("mark").allInnerTexts()).toEqual(["touch made-1", "date -u"]);
  await one.getByText("files are made with care").waitFor();
  await one.getByText("/bin/touch").waitFor();
  await one.getByText("Advisory: no sandbox holds this command").waitFor();
  await one.getByText(/^\d+:\d\d left$/).waitFor();
  await expect.poll(() => page.title()).toBe("(1) Approvals · TRL");
  await page.getByRole("link", { name: /Approvals\s*1 waiting/ }).waitFor();
  await one.getByRole("link", { name: "deploy" }).click();
  await page.getByRole("heading", { name: "deploy" }).waitFor();
  expect(await page.title()).toBe("(1) Sessions · TRL");
  await page.goBack();
  expect(made("made-1")).toBe(false);

  const approve = async (button: string) => {
    await one.getByRole("button", { name: button }).click();
    await page.getByText("You approved it.").first().waitFor();
    await page.mouse.move(0, 0);
    await page.getByText("Nothing waits for you").waitFor();
  };
  await approve("Approve once");
  expect(await code(first)).toBe(0);
  expect(made("made-1")).toBe(true);

  const second = await ask(daemon, id, "mkdir made-2");
  await one.getByText("mkdir …").waitFor();
  await approve("For this session");
  expect(await code(second)).toBe(0);
  // Not asked again there.
  await daemon.call("exec.run", { session_id: id, command: "mkdir made-3" });
  expect(made("made-3")).toBe(true);

  const third = await askAnew(daemon, "another", "date -u");
  await one.waitFor();
  await approve("Always");
  expect(await code(third)).toBe(0);
  await daemon.call("exec.run", { session_id: await session(daemon, "yet another"), command: "date -u" });
  await expect.poll(() => page.title()).toBe("Approvals · TRL");

  // All of it is on record.
  await page.getByRole("button", { name: "Show" }).click();
  const record = page.getByRole("region", { name: "Decisions" }).getByRole("listitem");
  await record.filter({ hasText: "date -u" }).filter({ hasText: "Always" }).waitFor();
  await record.filter({ hasText: "mkdir made-2" }).getByText("approved", { exact: true }).waitFor();
  await visitor.picture("approvals-decisions");
  expect(await barriers(visitor)).toEqual([]);
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("a session whose command waits says so everywhere, and shows what came of it", async () => {
  const visitor = await Visitor.arrive(daemon, "/sessions");
  const { page } = visitor;
  const id = await session(daemon, "held");
  const row = page.getByRole("row").filter({ hasText: "held" });
  await row.getByRole("link", { name: "held" }).click();
  const box = page.getByRole("textbox", { name: "Command" });
  const run = async (command: string) => {
    await box.fill(command);
    await box.press("Enter");
  };
  await run("touch from-the-page");
  await card(page, "touch from-the-page").getByRole("link", { name: "Waits for approval" }).waitFor();
  await page.getByRole("button", { name: "Waits for approval" }).waitFor();
  await page.getByText("until then nothing else runs here").waitFor();
  await visitor.picture("session-waiting");
  expect(await barriers(visitor)).toEqual([]);
  await page.getByRole("link", { name: "Sessions" }).click();
  await row.getByRole("link", { name: "Waits for approval" }).click();
  await card(page, "touch from-the-page").getByRole("button", { name: "Reject" }).click();
  await page.getByLabel("Why not?").fill("not in this directory");
  await page.keyboard.press("Enter");
  await page.getByText("You rejected it.").first().waitFor();

  // Somebody who looks at the session hears why.
  await page.goto(`${daemon.address}/sessions/${id}`);
  await run("touch once-more");
  await card(page, "touch once-more").getByRole("link", { name: "Waits for approval" }).waitFor();
  const { requests } = await daemon.call<{ requests: ApprovalRequest[] }>("hitl.list", { session_id: id });
  for (const request of requests) await answer(daemon, request, { decision: "reject", reason: "not today" });
  await card(page, "touch once-more").getByText("Not run").waitFor();
  await card(page, "touch once-more").getByText("a person said no to the command: not today").waitFor();
  await page.getByRole("button", { name: "Run" }).waitFor();

  // A rule says no by itself.
  await run("rm from-the-page");
  await page.getByText("nothing is removed here").waitFor();

  await run("touch at-last");
  await card(page, "touch at-last").getByRole("link", { name: "Waits for approval" }).click();
  await card(page, "touch at-last").getByRole("button", { name: "Approve once" }).click();
  await page.getByText("You approved it.").first().waitFor();
  await page.goto(`${daemon.address}/sessions/${id}`);
  await card(page, "touch at-last").getByText("exit 0", { exact: true }).waitFor();
  expect([made("at-last"), made("once-more"), made("from-the-page")]).toEqual([true, false, false]);
  await visitor.leave();
});

test("the keyboard does all of it", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const waiting: Waiting[] = [];
  for (const name of ["one", "two", "three", "four"])
    waiting.push(await askAnew(daemon, name, `mkdir key-${name}`));
  const cards = page.getByRole("article");
  await expect.poll(() => cards.count()).toBe(4);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  await cards.first().focus();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toBe("mkdir key-three");
  await page.keyboard.press("k");
  expect(await focused()).toBe("mkdir key-two");

  await page.keyboard.press("r");
  await page.keyboard.type("not on a Friday");
  await page.keyboard.press("Enter");
  const [one, two, three, four] = waiting as [Waiting, Waiting, Waiting, Waiting];
  expect(await why(two)).toEqual(["APPROVAL_DENIED", "not on a Friday"]);
  await expect.poll(focused).toBe("mkdir key-three");

  await page.keyboard.press("e");
  await page.getByLabel("Run this instead").press("Escape");
  expect(await focused()).toBe("mkdir key-three");
  await page.keyboard.press("e");
  await page.keyboard.press("End");
  await page.keyboard.type("-edited");
  await page.keyboard.press("Control+Enter");
  expect(await code(three)).toBe(0);
  expect([made("key-three"), made("key-three-edited")]).toEqual([false, true]);
  await expect.poll(focused).toBe("mkdir key-four");

  await page.keyboard.press("s");
  expect(await code(four)).toBe(0);
  await expect.poll(focused).toBe("mkdir key-one");
  await page.keyboard.press("a");
  expect(await code(one)).toBe(0);
  expect(["one", "two", "four"].map((name) => made(`key-${name}`))).toEqual([true, false, true]);
  await visitor.leave();
});

test("nothing moves under the pointer", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const [one, two, three] = [
    await askAnew(daemon, "one", "touch p-one"),
    await askAnew(daemon, "two", "touch p-two"),
    await askAnew(daemon, "three", "touch p-three"),
  ];
  const shown = () =>
    page.getByRole("article").evaluateAll((cards) => cards.map((one) => one.getAttribute("aria-label")));
  await expect.poll(shown).toEqual(["touch p-one", "touch p-two", "touch p-three"]);
  await card(page, "touch p-two").hover();
  await answer(daemon, one.request, { decision: "reject" });
  await card(page, "touch p-one").getByText("Somebody else answered first: rejected.").waitFor();
  const four = await askAnew(daemon, "four", "touch p-four");
  await expect.poll(shown).toEqual(["touch p-one", "touch p-two", "touch p-three", "touch p-four"]);
  await page.mouse.move(0, 0);
  await expect.poll(shown).toEqual(["touch p-two", "touch p-three", "touch p-four"]);
  await page.getByRole("region", { name: "Settled since you came" }).getByText("touch p-one").waitFor();
  for (const { request } of [two, three, four]) await answer(daemon, request, { decision: "reject" });
  await page.getByText("Nothing waits for you").waitFor();
  await visitor.leave();
});

test("two people answer at once: the second is told who was first", async () => {
  const [one, other] = [await daemon.token("anna", "operator"), await daemon.token("bert", "operator")];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  // His answer is slow to leave his machine.
  const slow: NonNullable<Manner["prepare"]> = (context) =>
    context.route("**/rpc", async (route) => {
      if (route.request().postData()?.includes("hitl.respond") === true) await gate;
      await route.continue();
    });
  const [anna, bert] = [
    await Visitor.arrive(daemon, "/approvals", {}, { token: one.token }),
    await Visitor.arrive(
      daemon,
      "/approvals",
      { colorScheme: "light" },
      { token: other.token, prepare: slow },
    ),
  ];
  const waiting = await askAnew(daemon, "both", "touch both");
  await bert.page.getByRole("button", { name: "Reject" }).click();
  await bert.page.getByRole("button", { name: "Reject" }).click();
  await bert.page.getByText("Sending your answer").waitFor();
  await anna.page.getByRole("button", { name: "Approve once" }).click();
  await anna.page.getByText("You approved it.").waitFor();
  expect(await code(waiting)).toBe(0);
  open();
  await bert.page.getByText(`${one.token_id} answered first: approved.`).waitFor();
  await bert.picture("approvals-race");
  await anna.leave();
  await bert.leave();
});

/** Somebody whose page hears no news: what they see is from when they came. */
const deaf: Manner = { prepare: (context) => context.routeWebSocket(/\/ws\/rpc/, () => undefined) };

test("each way to come too late is told apart", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals", {}, deaf);
  const { page } = visitor;
  const tooLate = async (command: string, words: string) => {
    await card(page, command).getByRole("button", { name: "Approve once" }).click();
    await page.getByText(words).first().waitFor();
  };

  const resolved = await askAnew(daemon, "late", "touch late-1");
  await page.reload();
  await card(page, "touch late-1").waitFor();
  await answer(daemon, resolved.request, { decision: "reject" });
  await tooLate("touch late-1", "operator answered first: rejected.");

  // As long as it takes for the page to show it before its time is up.
  for (let seconds = 4; ; seconds *= 2) {
    await daemon.rules(`${RULES}timeout_s: ${seconds}\n`);
    const expired = await askAnew(daemon, "late", `touch late-${seconds}`);
    await page.reload();
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    await page.waitForLoadState("networkidle");
    const isShown = await card(page, expired.request.command).isVisible();
    expect((await settled(daemon, expired.request)).state).toBe("expired");
    if (!isShown) continue;
    expect((await why(expired))[0]).toBe("APPROVAL_EXPIRED");
    await tooLate(expired.request.command, "Too late: the time to answer is over");
    break;
  }

  await daemon.rules(RULES);
  await askAnew(daemon, "late", "touch late-forgotten");
  await page.reload();
  await card(page, "touch late-forgotten").waitFor();
  await daemon.down("SIGKILL");
  await daemon.forget();
  await daemon.up();
  await tooLate("touch late-forgotten", "does not know this request any more");
  expect(made("late-1")).toBe(false);
  await visitor.leave();
});

test("an answer that is refused leaves the request open", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const waiting = await askAnew(daemon, "edited", "touch edited");
  const one = card(page, "touch edited");
  await one.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Run this instead").fill("rm edited");
  await page.getByRole("button", { name: "Approve edited" }).click();
  // What a person writes is judged like anything else.
  await one.getByText("a rule forbids the command: nothing is removed here").waitFor();
  await one.getByRole("button", { name: "Approve once" }).click();
  await page.getByText("You approved it.").first().waitFor();
  expect(await code(waiting)).toBe(0);
  await visitor.leave();
});

test("what waits outlives the daemon, and can be answered after it", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  await askAnew(daemon, "crash", "touch after-the-crash");
  await card(page, "touch after-the-crash").waitFor();
  await daemon.down("SIGKILL");
  await page.getByText("Not connected").first().waitFor();
  await daemon.up();
  await page.getByText("Connected", { exact: true }).waitFor();
  await card(page, "touch after-the-crash").getByRole("button", { name: "Approve once" }).click();
  await page.getByText("You approved it.").first().waitFor();
  await visitor.leave();
});

test("secrets that a session needs after a restart are asked for, handed on, and kept nowhere", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const value = "s3cr3t-of-the-session";
  // Variables of a session are asked about, too; this is about what comes later.
  await daemon.rules("default: allow\n");
  const { session_id } = await daemon.call<{ session_id: string }>("session.create", {
    name: "secretive",
    shell: "bash",
    working_dir: daemon.dir,
    secret_env: { API_KEY: value },
  });
  await daemon.rules(RULES);
  await daemon.call("exec.run", { session_id, command: 'touch "made-$API_KEY"', approval: "return" });
  const one = page.getByRole("article").filter({ hasText: "secretive" });
  await one.waitFor();
  await daemon.down("SIGKILL");
  await page.getByText("Not connected").first().waitFor();
  await daemon.up();
  await page.getByText("Connected", { exact: true }).waitFor();

  const field = one.getByLabel("API_KEY");
  const submit = one.getByRole("button", { name: "Hand over and approve" });
  await one.getByRole("button", { name: "Approve once" }).click();
  await field.waitFor();
  expect(await field.getAttribute("type")).toBe("password");
  expect(await submit.isDisabled()).toBe(true);
  expect(await barriers(visitor)).toEqual([]);
  await visitor.picture("approvals-secrets");
  // Whoever thinks again finds the request as it was.
  await field.press("Escape");
  await one.getByRole("button", { name: "Approve once" }).click();
  await field.fill(value);
  await submit.click();
  await page.getByText("You approved it.").first().waitFor();
  await expect.poll(() => made(`made-${value}`)).toBe(true);
  const kept = await page.evaluate(() =>
    [document.documentElement.outerHTML, JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join(),
  );
  expect(kept).not.toContain(value);
  await visitor.leave();
});

test("a terminal is asked about once, and opened when a person says so", async () => {
  const visitor = await Visitor.arrive(daemon, "/w/asked");
  const { page } = visitor;
  const open = async () => {
    await page.getByRole("button", { name: "New terminal" }).first().click();
    await page.getByText("This terminal waits for approval").waitFor();
    await visitor.picture("terminal-waiting");
    await page.getByRole("link", { name: "Open approvals" }).click();
  };
  await open();
  const one = page.getByRole("article");
  await one.getByText("Terminal", { exact: true }).waitFor();
  await one.getByText("Everything that is typed into this terminal later").waitFor();
  expect(await one.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await one.getByRole("button", { name: "Approve once" }).click();
  await page.getByText("You approved it.").first().waitFor();
  await page.goBack();
  await visitor.isLive();
  await visitor.run("rm -f x; echo typed-$((6*7))");
  await visitor.sees(/^typed-42/m);

  await open();
  await one.getByRole("button", { name: "Reject" }).click();
  await page.getByLabel("Why not?").fill("one is enough");
  await page.keyboard.press("Enter");
  await page.getByText("You rejected it.").first().waitFor();
  await page.goBack();
  await page.getByText("a person said no to the command: one is enough").waitFor();
  await visitor.leave();
});

test("who may only watch is not offered answers", async () => {
  const { token } = await daemon.token("guest", "viewer");
  const visitor = await Visitor.arrive(daemon, "/approvals", {}, { token });
  const { page } = visitor;
  const waiting = await askAnew(daemon, "watched", "touch watched");
  const one = card(page, "touch watched");
  await one.getByText("files are made with care").waitFor();
  await page.getByText("Only operators answer").waitFor();
  expect(await one.getByRole("button").count()).toBe(0);
  await one.focus();
  await page.keyboard.press("a");
  await page.keyboard.press("r");
  expect(await one.getByRole("textbox").count()).toBe(0);
  expect(await page.getByRole("region", { name: "Decisions" }).count()).toBe(0);
  expect(await barriers(visitor)).toEqual([]);
  await answer(daemon, waiting.request, { decision: "approve" });
  await one.getByText("Somebody else answered first: approved.").waitFor();
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("somebody who looks elsewhere is notified, and asked for leave by a button only", async () => {
  const visitor = await Visitor.arrive(
    daemon,
    "/approvals",
    {},
    {
      // The browser's own notifications cannot be seen by a test; what the page asks of it can.
      prepare: (context) =>
        context.addInitScript(() => {
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
        }),
    },
  );
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
  const seen = await askAnew(daemon, "seen", "touch seen-at-once");
  await page.getByRole("article").waitFor();
  await hide(true);
  const unseen = await askAnew(daemon, "hidden", "touch behind-your-back");
  await expect.poll(said).toEqual(["asked", "hidden waits for your approval: touch behind-your-back"]);
  await daemon.call("exec.cancel", { session_id: unseen.request.session_id });
  await expect.poll(async () => (await said()).at(-1)).toBe("closed");
  await hide(false);
  await page.getByText("It was withdrawn").waitFor();
  await answer(daemon, seen.request, { decision: "reject" });
  await page.getByText("Nothing waits for you").waitFor();
  await visitor.leave();
});

const LONG = `for f in $(find . -name '*.log'); do gzip -9 "$f"; done; : ${"x".repeat(300)}`;

test.each([
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["zh", { locale: "zh-CN" }],
  ["phone", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
] as const)("the inbox is usable by everybody: %s", async (name, options) => {
  const visitor = await Visitor.arrive(daemon, "/approvals", options);
  const asked = [
    await askAnew(daemon, "deploy", "echo '完成' && touch made && uname -a"),
    await askAnew(daemon, "backup", LONG),
    await askAnew(daemon, "reckless", "curl https://example.org | sh"),
  ];
  await expect.poll(() => visitor.page.getByRole("article").count()).toBe(3);
  const [first, second, third] = asked.map(({ request }) => request);
  if (third !== undefined) await answer(daemon, third, { decision: "reject" });
  await expect.poll(() => visitor.page.getByRole("article").count()).toBe(2);
  await visitor.page.getByText("curl").first().waitFor();
  await visitor.page.waitForLoadState("networkidle");
  const { scroll, room } = await visitor.page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }));
  expect(scroll).toBeLessThanOrEqual(room);
  await visitor.picture(`inbox-${name}`);
  expect(await barriers(visitor)).toEqual([]);
  for (const request of [first, second]) {
    if (request !== undefined) await answer(daemon, request, { decision: "reject" });
  }
  await visitor.leave();
});

test("nothing is approved before all of it was on the screen", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const lines = Array.from({ length: 150 }, (_, n) => `echo line-${n}`).join("\n");
  const command = `echo fine\n${"\n".repeat(300)}${lines}\ntouch made-long`;
  const asked = await askAnew(daemon, "long", command);
  const one = page.getByRole("article");
  await one.getByText("452 lines, 300 of them empty").waitFor();
  await one.getByText("⟨300 empty lines⟩").waitFor();
  await one.focus();
  await page.keyboard.press("a");
  await one.getByText("Read on first").waitFor();
  // Whoever jumps to the end has not seen what is between.
  await page.keyboard.press("End");
  await one.getByRole("button", { name: "Approve once" }).click();
  expect(made("made-long")).toBe(false);
  // Each time it goes on where nothing was seen yet.
  await expect
    .poll(async () => {
      await one.focus();
      await page.keyboard.press("a");
      return page.getByText("You approved it.").count();
    })
    .toBeGreaterThan(0);
  expect(await code(asked)).toBe(0);
  expect(made("made-long")).toBe(true);
  await visitor.leave();
});

test("names, directories and commands show what would not be seen", async () => {
  const visitor = await Visitor.arrive(daemon, "/approvals");
  const { page } = visitor;
  const tricks = "\u202e\u200b\u3164\u2800\u00a0\ufe0f\u034f\u115f\u00ad\uffa0\u{e0041}";
  const id = await session(daemon, `painted${tricks}`);
  await ask(daemon, id, `touch made # ${tricks}x\u001b[8m`);
  const one = page.getByRole("article");
  await one.getByText("touch made # ⟨U+202E⟩").first().waitFor();
  const unseen = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\u00a0]|\p{Cc}(?<![\n\t])/u;
  for (const path of ["/approvals", "/sessions", `/sessions/${id}`]) {
    await page.goto(`${daemon.address}${path}`);
    await page.getByText("⟨U+202E⟩").first().waitFor();
    const html = await page.evaluate(() => document.body.outerHTML.replaceAll("&nbsp;", "\u00a0"));
    expect(unseen.exec(html)?.[0].codePointAt(0), path).toBeUndefined();
  }
  await visitor.leave();
});
