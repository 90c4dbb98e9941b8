/** Terminals in panels: the five scenarios a terminal has to survive, and what two people at one see of each other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "./daemon";
import { Visitor } from "./browser";

interface Listed {
  terminals: { terminal_id: string; state: string; cols: number; rows: number; destroy_in_s?: number }[];
}

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
afterAll(() => daemon.stop());

const find = async (id: string) =>
  (await daemon.call<Listed>("terminal.list")).terminals.find((one) => one.terminal_id === id);

/** A workspace of its own, so that tests do not see each other's terminals. */
let last = 0;
const fresh = () => `/w/test-${++last}`;

test("a reload brings the terminal back, and it goes on", async () => {
  const visitor = await Visitor.arrive(daemon, "/");
  await visitor.page.getByText("No terminals here").waitFor();
  await visitor.picture("workspace-empty");
  expect(visitor.page.url(), "the token is not in the address").toBe(`${daemon.address}/`);
  await visitor.newTerminal();
  await visitor.run("X=kept; echo one-$((40+2))");
  await visitor.sees(/one-42/);
  const before = await visitor.terminalId;
  await visitor.page.reload();
  await visitor.isLive();
  await visitor.sees(/one-42/);
  expect(await visitor.terminalId).toBe(before);
  await visitor.run("echo still-$X");
  await visitor.sees(/still-kept/);
  expect([...visitor.hosts]).toEqual([new URL(daemon.address).host]);
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});

test("closing a tab ends its terminal, unless that is taken back", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.run("echo before-$((1+1))");
  await visitor.sees(/before-2/);
  const id = await visitor.terminalId;
  const closeTab = () => visitor.page.getByTitle("Close", { exact: true }).first().click();

  await closeTab();
  await visitor.page.getByRole("button", { name: "Undo" }).waitFor();
  await visitor.picture("closing");
  expect((await find(id))?.destroy_in_s, "the daemon knows already").toBeGreaterThan(0);
  await visitor.page.getByRole("button", { name: "Undo" }).click();
  await visitor.isLive();
  await visitor.sees(/before-2/);
  expect((await find(id))?.destroy_in_s).toBeUndefined();
  // Not one key of what is typed now is taken for one that was typed before.
  await visitor.run("echo after-$((20+2))-whole");
  await visitor.sees(/^after-22-whole/m);

  await closeTab();
  // A browser that goes away now leaves nothing behind.
  await expect.poll(async () => (await find(id))?.destroy_in_s).toBeGreaterThan(0);
  await visitor.leave();
  await expect.poll(async () => (await find(id))?.state).not.toBe("running");
});

test("a lost connection is made again, and what was typed meanwhile is typed once", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.run("echo start");
  await visitor.sees(/^start/m);
  for (let round = 1; round <= 3; round++) {
    daemon.wire.cut("down");
    await visitor.page
      .locator('.panel[data-phase="waiting"], .panel[data-phase="connecting"]')
      .first()
      .waitFor();
    await visitor.type(`echo round-${round}-$((${round}*100))`);
    await visitor.page.keyboard.press("Enter");
    if (round === 3) {
      await visitor.page.getByText("Trying again").waitFor();
      await visitor.picture("connection-lost");
    }
    daemon.wire.mend();
    await visitor.isLive();
    await visitor.sees(new RegExp(`^round-${round}-${round}00$`, "m"));
  }
  const screen = await visitor.screen();
  expect(screen.match(/^round-\d-\d00$/gm)).toEqual(["round-1-100", "round-2-200", "round-3-300"]);
  await visitor.leave();
});

test("a daemon that was restarted gets a new terminal, and that is said", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  const before = await visitor.terminalId;
  await daemon.down();
  await visitor.page.locator('.panel:not([data-phase="live"])').first().waitFor();
  await daemon.up();
  await visitor.page.getByText("This is a new one").waitFor();
  await visitor.isLive();
  await visitor.picture("replaced");
  expect(await visitor.terminalId).not.toBe(before);
  await visitor.run("echo new-$((5*5))");
  await visitor.sees(/new-25/);
  await visitor.page.reload();
  await visitor.sees(/new-25/);
  await visitor.leave();
});

test("a daemon that was restarted while another page was shown leaves one terminal, and a reload finds it", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.page.getByRole("link", { name: "Sessions" }).click();
  await visitor.page.getByRole("heading", { name: "Sessions", level: 1 }).waitFor();
  await daemon.down();
  await daemon.up();
  await visitor.page.goBack();
  await visitor.page.getByText("This is a new one").waitFor();
  await visitor.isLive();
  const replaced = await visitor.terminalId;
  await visitor.page.reload();
  await visitor.isLive();
  expect(await visitor.terminalId).toBe(replaced);
  await visitor.leave();
});

test("an address of a terminal that is not there is a new terminal, and that is said", async () => {
  const visitor = await Visitor.arrive(daemon, `${fresh()}/t-nosuchid`);
  await visitor.page.getByText("This is a new one").waitFor();
  await visitor.isLive();
  expect(await visitor.terminalId).toMatch(/^t-/);
  expect(await visitor.terminalId).not.toBe("t-nosuchid");
  await visitor.leave();
});

test("two browsers at one terminal see the same, and either may type", async () => {
  const place = fresh();
  const one = await Visitor.arrive(daemon, place, { viewport: { width: 1280, height: 720 } });
  await one.newTerminal();
  const id = await one.terminalId;
  const other = await Visitor.arrive(daemon, place, {
    viewport: { width: 900, height: 520 },
    colorScheme: "light",
  });
  await other.isLive();
  expect(await other.terminalId, "a browser that is new here shows what there is").toBe(id);

  await one.run("echo from-one-$((2*2))");
  await other.sees(/from-one-4/);
  const wide = await find(id);
  await other.run("echo from-other-$((3*3))");
  await one.sees(/from-other-9/);
  await expect
    .poll(async () => (await find(id))?.cols, { message: "who types decides the size" })
    .toBeLessThan(wide?.cols ?? 0);
  await one.page.locator(".person").nth(1).waitFor();
  await one.picture("two-browsers-one");
  await other.picture("two-browsers-other");
  await one.page.getByRole("button", { name: "Fit to my window" }).click();
  await expect.poll(async () => (await find(id))?.cols).toBe(wide?.cols);
  // All of it is in sight, in smaller letters.
  await expect
    .poll(() =>
      other.page.evaluate(() => {
        const [host, drawn] = [".xterm-host", ".xterm-screen"].map((name) =>
          document.querySelector<HTMLElement>(name),
        );
        return (
          (drawn?.offsetWidth ?? 0) <= (host?.clientWidth ?? 0) &&
          (drawn?.offsetHeight ?? 0) <= (host?.clientHeight ?? 0)
        );
      }),
    )
    .toBe(true);
  await other.picture("two-browsers-smaller-window");

  await other.page.getByRole("button", { name: "Only watch" }).click();
  await other.isLive();
  await other.type("echo not-typed");
  await one.run("echo after-watching");
  await other.sees(/^after-watching/m);
  expect(await one.screen()).not.toMatch(/not-typed/);
  await one.leave();
  await other.leave();
});

test("only the daemon answers a program's questions", async () => {
  const place = fresh();
  const one = await Visitor.arrive(daemon, place);
  await one.newTerminal();
  const other = await Visitor.arrive(daemon, place);
  await other.isLive();
  // Everything xterm.js would answer, and how many answers came: the daemon's one each, though two are watching.
  await one.run(
    String.raw`stty -echo -icanon min 0 time 10; printf '\033[c\033[>c\033[5n\033[6n\033[?6n\033[?25$p\033[4$p\033P$qm\033\\'; A=$(dd bs=4096 count=1 2>/dev/null | tr '\033' '\n' | grep -c .); B=$(dd bs=4096 count=1 2>/dev/null | wc -c); stty sane; clear; echo "answers:$A more:$B"`,
  );
  await one.sees(/answers:\d+ more:0/);
  await other.sees(/answers:\d+ more:0/);
  // Focus reports on, colours and device asked: a client that attaches now is told to be like that, and types nothing.
  await one.run(String.raw`clear; printf '\033[?1004h'; cat -v`);
  await one.page.waitForFunction(() => document.hasFocus());
  await other.page.reload();
  await other.isLive();
  await other.leave();
  const third = await Visitor.arrive(daemon, place);
  await third.isLive();
  await third.leave();
  await one.type("end");
  await one.sees(/end/);
  expect(await one.screen()).not.toMatch(/\^\[/);
  await one.leave();
});

test("a program that ends is said to have, and makes place", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.run("exit 7");
  await visitor.page.getByText("The program ended with code 7.").waitFor();
  await visitor.page.reload();
  await visitor.page.getByText("The program ended with code 7.").waitFor();
  await visitor.page.getByRole("button", { name: "New terminal here" }).click();
  await visitor.isLive();
  await visitor.run("echo alive-$((6*7))");
  await visitor.sees(/alive-42/);
  await visitor.leave();
});

test("text on the screen can be found, and its size changed", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.run("for i in 1 2 3; do echo needle-$i; done");
  await visitor.sees(/needle-3/);
  await visitor.page.keyboard.press("Control+Shift+F");
  await visitor.page.getByRole("textbox", { name: "Find" }).fill("needle-");
  await visitor.page.getByText(/^\d of \d$/).waitFor();
  await visitor.picture("search");
  await visitor.page.keyboard.press("Escape");
  const before = (await find(await visitor.terminalId))?.cols ?? 0;
  await visitor.page.getByRole("button", { name: "Larger text" }).click({ clickCount: 4 });
  const id = await visitor.terminalId;
  await expect.poll(async () => (await find(id))?.cols).toBeLessThan(before);
  await visitor.leave();
});

test("a terminal that an agent made is seen, and leaving it does not end it", async () => {
  const made = await daemon.call<{ terminal_id: string }>("terminal.create", {
    name: "agent-made",
    workspace_id: "agents",
  });
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.page.getByRole("button", { name: "All terminals" }).click();
  await visitor.page.getByRole("button", { name: "agent-made" }).click();
  await visitor.isLive();
  await visitor.run("echo helped-$((7*7))");
  await visitor.sees(/helped-49/);
  await visitor.page.getByRole("tab", { name: "agent-made" }).waitFor();
  await visitor.picture("all-terminals");
  await visitor.page.getByTitle("Close", { exact: true }).first().click();
  await visitor.page.getByText("No terminals here").waitFor();
  expect((await find(made.terminal_id))?.destroy_in_s).toBeUndefined();
  await visitor.page.getByRole("link", { name: "agents" }).click();
  await visitor.isLive();
  await visitor.sees(/helped-49/);
  await visitor.leave();
});

test("tabs come back as they were left", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.newTerminal();
  await visitor.run("echo first-tab");
  await visitor.newTerminal();
  await expect.poll(() => visitor.page.getByRole("tab").count()).toBe(2);
  await visitor.run("echo second-tab");
  await visitor.sees(/^second-tab/m);
  await visitor.page.getByRole("link", { name: "Sessions" }).click();
  await visitor.page.getByRole("link", { name: "Terminals" }).click();
  await visitor.page.goBack();
  await visitor.page.goBack();
  await visitor.sees(/^second-tab/m);
  await visitor.page.reload();
  await visitor.sees(/^second-tab/m);
  await visitor.page.getByRole("tab").first().click();
  await visitor.sees(/^first-tab/m);
  await visitor.leave();
});

/** Where the cells of the terminal that is looked at are drawn. */
const drawn = (visitor: Visitor) =>
  visitor.page.evaluate(() => {
    const hosts = [...document.querySelectorAll<HTMLElement>(".xterm-host")];
    const host = hosts.find((one) => one.offsetParent !== null);
    const { x, y, width } = host?.querySelector(".xterm-screen")?.getBoundingClientRect() ?? new DOMRect();
    return { x, y, width, room: host?.clientWidth ?? 0 };
  });

test("an emoji takes two cells", async () => {
  const visitor = await Visitor.arrive(daemon, fresh());
  await visitor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await visitor.newTerminal();
  await visitor.run(String.raw`clear; printf '\360\237\230\200xyz\n'`);
  await visitor.sees(/^\S+xyz/m);
  const cols = (await find(await visitor.terminalId))?.cols ?? 0;
  const { x, y, width } = await drawn(visitor);
  const cell = width / cols;
  // Over the third cell of the first line.
  await visitor.page.mouse.move(x + 2.1 * cell, y + cell);
  await visitor.page.mouse.down();
  await visitor.page.mouse.move(x + 2.9 * cell, y + cell, { steps: 4 });
  await visitor.page.mouse.up();
  await visitor.page.keyboard.press("Control+Shift+C");
  await expect.poll(() => visitor.page.evaluate(() => navigator.clipboard.readText())).toBe("x");
  await visitor.leave();
});

test("a terminal is as wide as its panel, whatever draws it", async () => {
  let letDraw: () => void = () => undefined;
  const mayDraw = new Promise<void>((resolve) => (letDraw = resolve));
  const visitor = await Visitor.arrive(
    daemon,
    fresh(),
    {},
    {
      screens: "as people have it",
      // The terminal is there before the graphics card draws it, with letters of another width.
      prepare: (context) =>
        context.route(/addon-webgl/, async (route) => {
          await mayDraw;
          await route.continue();
        }),
    },
  );
  await visitor.newTerminal();
  await visitor.run("echo here");
  const id = await visitor.terminalId;
  await expect.poll(async () => (await find(id))?.cols).toBeGreaterThan(0);
  const drawnBy = () => visitor.page.locator(".xterm-screen canvas").count();
  expect(await drawnBy(), "elements of the page draw it").toBe(0);
  letDraw();
  await expect.poll(drawnBy).toBeGreaterThan(0);
  const missing = async () => {
    const cols = (await find(id))?.cols ?? 0;
    const { width, room } = await drawn(visitor);
    // The scroll bar takes 14 pixels.
    return Math.floor((room - 14) / (width / cols)) - cols;
  };
  await expect.poll(missing).toBe(0);
  await visitor.leave();
});
