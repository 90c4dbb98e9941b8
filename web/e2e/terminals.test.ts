import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "./daemon";
import { Visitor } from "./browser";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start()));
afterAll(() => daemon.stop());

test("a reload brings the terminal back, and it goes on", async () => {
  const visitor = await Visitor.arrive(daemon);
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
  await visitor.picture("workspace");
  expect([...visitor.hosts]).toEqual([new URL(daemon.address).host]);
  expect(visitor.complaints).toEqual([]);
  await visitor.leave();
});
