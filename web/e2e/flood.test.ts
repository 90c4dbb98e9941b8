/** Much output: the page stays usable, and its memory does not grow. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "./daemon";
import { BARS, Visitor } from "./browser";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
afterAll(() => daemon.stop());

declare global {
  interface Window {
    longTasks: number[];
  }
}

test("50 MB of output do not freeze the page", async () => {
  const visitor = await Visitor.arrive(daemon, "/w/flood", {}, { screens: "as people have it" });
  await visitor.newTerminal();
  const id = await visitor.terminalId;
  await visitor.page.evaluate(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
    }).observe({ type: "longtask" });
  });
  await visitor.run("seq 1 6500000; echo over-$((1+1))");
  const shown = async () =>
    (await daemon.call<{ text: string }>("terminal.screen", { terminal_id: id })).text;
  await expect.poll(shown, { timeout: 170_000, interval: 250 }).toMatch(/over-2/);
  const tasks = await visitor.page.evaluate(() => window.longTasks);
  const longest = Math.max(0, ...tasks);
  console.log(`longest task ${longest.toFixed(0)} ms, ${tasks.length} over 50 ms`);
  if (BARS) expect(longest).toBeLessThan(200);
  await visitor.run("clear; echo usable-$((2+2))");
  await expect.poll(shown).toMatch(/usable-4/);
  await visitor.picture("after-flood");
  await visitor.leave();
});

test("reconnecting ten times does not cost memory", async () => {
  const visitor = await Visitor.arrive(daemon, "/w/memory", {}, { screens: "as people have it" });
  await visitor.newTerminal();
  await visitor.run("seq 1 5000");
  const session = await visitor.context.newCDPSession(visitor.page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize;
  };
  const again = async () => {
    daemon.wire.cut();
    await visitor.page.locator('.panel:not([data-phase="live"])').first().waitFor();
    // The network is back; nobody waits for the next try.
    await visitor.page.evaluate(() => window.dispatchEvent(new Event("online")));
    await visitor.isLive();
  };
  for (let i = 0; i < 2; i++) await again();
  const before = await heap();
  for (let i = 0; i < 10; i++) await again();
  const grown = (await heap()) - before;
  console.log(`grown by ${(grown / 1000).toFixed(0)} kB of ${(before / 1e6).toFixed(1)} MB`);
  expect(grown).toBeLessThan(2_000_000);
  await visitor.leave();
});
