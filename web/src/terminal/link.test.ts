import { beforeEach, expect, test } from "vitest";
import { Link, type Call, type DialQuery, type Ear, type Size } from "./link";
import { parseFrame, type Told } from "./protocol";

/** A dialer, a screen and a clock that do what the test says. */
class Fake {
  dialed: { query: DialQuery; ear: Ear; sent: (string | Uint8Array)[]; hungUp: boolean }[] = [];
  shown: string[] = [];
  /** Callbacks of writes that the screen has not shown yet; `null` shows at once. */
  unshown: (() => void)[] | null = null;
  time = 1_000;
  timers: { at: number; then: () => void }[] = [];
  hidden = false;

  dial = (query: DialQuery, ear: Ear): Call => {
    const call = { query, ear, sent: [] as (string | Uint8Array)[], hungUp: false };
    this.dialed.push(call);
    return { send: (data) => call.sent.push(data), hangUp: () => (call.hungUp = true) };
  };
  write = (bytes: Uint8Array, done: () => void) => this.#show(new TextDecoder().decode(bytes), done);
  picture = (size: Size, bytes: Uint8Array, done: () => void) =>
    this.#show(`[${size.cols}x${size.rows}:${new TextDecoder().decode(bytes)}]`, done);
  resize = (size: Size) => this.shown.push(`<${size.cols}x${size.rows}>`);
  now = () => this.time;
  random = () => 0.5;
  isHidden = () => this.hidden;
  after = (ms: number, then: () => void) => {
    const timer = { at: this.time + ms, then };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((other) => other !== timer));
  };

  #show(text: string, done: () => void) {
    this.shown.push(text);
    if (this.unshown === null) done();
    else this.unshown.push(done);
  }

  pass(ms: number) {
    const until = this.time + ms;
    for (;;) {
      const [next] = this.timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.then();
    }
    this.time = until;
  }

  get last() {
    const call = this.dialed.at(-1);
    if (call === undefined) throw new Error("nobody dialed");
    return call;
  }
  tell(told: Partial<Told>) {
    this.last.ear.text(JSON.stringify(told));
  }
  greet(gen = "g1", more: Partial<Told> = {}) {
    this.tell({ type: "hello", gen, you: 1, drives: true, size_policy: "driver", presence: [], ...more });
  }
  frame(tag: number, offset: number, bytes: string | Uint8Array) {
    const body = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    const message = new Uint8Array(9 + body.length);
    message[0] = tag;
    new DataView(message.buffer).setBigUint64(1, BigInt(offset));
    message.set(body, 9);
    this.last.ear.bytes(message);
  }
  /** Attached, with an empty picture at 0. */
  attach(gen = "g1") {
    this.greet(gen);
    this.tell({ type: "resume", kind: "snapshot", offset: 0, cols: 80, rows: 24 });
    this.frame(2, 0, "");
    this.shown = [];
  }
  said(type: string) {
    const texts = this.last.sent.filter((data) => typeof data === "string");
    return texts
      .map((text) => JSON.parse(text) as { type: string; offset?: number })
      .filter((s) => s.type === type);
  }
  typed() {
    const frames = this.last.sent.filter((data) => typeof data !== "string");
    return frames.map((data) => {
      const frame = parseFrame(new Uint8Array([1, ...data.slice(1)]));
      return [frame?.offset, new TextDecoder().decode(frame?.bytes)];
    });
  }
}

let fake: Fake;
let link: Link;
const text = (text: string) => new TextEncoder().encode(text);
const phase = () => link.state.get().phase;

beforeEach(() => {
  fake = new Fake();
  link = new Link(fake, fake, fake, "me");
  link.setWindow({ cols: 100, rows: 30 });
  link.start("t-1", "drive");
});

test("it comes with its window, and goes on where it was", () => {
  expect(fake.last.query).toEqual({
    terminalId: "t-1",
    mode: "drive",
    client: "me",
    window: { cols: 100, rows: 30 },
  });
  fake.attach();
  fake.frame(1, 0, "hello");
  fake.last.ear.closed(1006);
  fake.pass(1000);
  expect(fake.dialed).toHaveLength(2);
  expect(fake.last.query).toMatchObject({ gen: "g1", since: 5 });
  fake.greet();
  fake.tell({ type: "resume", kind: "delta", offset: 5, cols: 80, rows: 24 });
  fake.frame(1, 5, " again");
  expect(fake.shown).toEqual(["hello", "<80x24>", " again"]);
});

test("bytes are shown once, in order, whatever comes", () => {
  fake.attach();
  fake.frame(1, 0, "abc");
  fake.frame(1, 0, "abc");
  fake.frame(1, 1, "bcd");
  expect(fake.shown).toEqual(["abc", "d"]);
  fake.frame(1, 9, "later");
  fake.frame(1, 14, "still later");
  expect(fake.said("resync")).toHaveLength(1);
  fake.tell({ type: "resync", reason: "asked for", offset: 20, cols: 90, rows: 20 });
  fake.frame(2, 20, "all");
  fake.frame(1, 20, "live");
  expect(fake.shown).toEqual(["abc", "d", "[90x20:all]", "live"]);
});

test("a character is never in two writes", () => {
  fake.attach();
  const [all] = [text("a漢b")];
  fake.frame(1, 0, all.subarray(0, 2));
  fake.frame(1, 2, all.subarray(2, 3));
  fake.frame(1, 3, all.subarray(3));
  expect(fake.shown).toEqual(["a", "漢b"]);
});

test("half a character waits through a lost connection", () => {
  fake.attach();
  const all = text("漢");
  fake.frame(1, 0, all.subarray(0, 1));
  fake.last.ear.closed(1006);
  fake.pass(1000);
  fake.greet();
  expect(fake.last.query.since).toBe(1);
  fake.tell({ type: "resume", kind: "delta", offset: 1, cols: 80, rows: 24 });
  fake.frame(1, 1, all.subarray(1));
  expect(fake.shown).toEqual(["<80x24>", "漢"]);
});

test("sizes come in their place between the bytes", () => {
  fake.attach();
  fake.frame(1, 0, "a");
  fake.tell({ type: "resize", at: 1, cols: 60, rows: 20 });
  fake.frame(1, 1, "b");
  expect(fake.shown).toEqual(["a", "<60x20>", "b"]);
  expect(link.state.get().size).toEqual({ cols: 60, rows: 20 });
});

test("what has been shown is acknowledged: much at once, little soon", () => {
  fake.attach();
  fake.unshown = [];
  fake.frame(1, 0, "x".repeat(20_000));
  fake.frame(1, 20_000, "y");
  fake.pass(1000);
  expect(fake.said("ack"), "nothing was shown yet").toEqual([]);
  fake.unshown.shift()?.();
  expect(fake.said("ack")).toEqual([{ type: "ack", offset: 20_000 }]);
  fake.unshown.shift()?.();
  expect(fake.said("ack")).toHaveLength(1);
  fake.pass(50);
  expect(fake.said("ack").at(-1)).toEqual({ type: "ack", offset: 20_001 });
});

test("a late sign from the screen is no acknowledgement on a new connection", () => {
  fake.attach();
  fake.unshown = [];
  fake.frame(1, 0, "x".repeat(20_000));
  fake.last.ear.closed(1006);
  fake.pass(1000);
  fake.greet("g2");
  fake.unshown.shift()?.();
  expect(fake.said("ack")).toEqual([]);
});

test("input is numbered, kept until it is taken, and sent again", () => {
  fake.attach();
  link.type(text("a"));
  link.type(text("b"));
  fake.tell({ type: "input_ack", iseq: 1 });
  fake.last.ear.closed(1006);
  link.type(text("c"));
  fake.pass(1000);
  expect(fake.typed(), "not before the greeting").toEqual([]);
  fake.greet();
  expect(fake.typed()).toEqual([
    [2, "b"],
    [3, "c"],
  ]);
});

test("a large paste goes in pieces that are bytes of their own", () => {
  fake.attach();
  link.type(text("p".repeat(70_000)));
  expect(fake.typed().map(([iseq, piece]) => [iseq, String(piece).length])).toEqual([
    [1, 32768],
    [2, 32768],
    [3, 4464],
  ]);
});

test("old input is offered, not sent", () => {
  fake.attach();
  link.type(text("rm -rf x\r"));
  fake.hidden = true;
  fake.last.ear.closed(1006);
  fake.pass(60_000);
  expect(fake.dialed, "nobody looks, so nobody dials").toHaveLength(1);
  link.wake();
  fake.greet();
  expect(fake.typed()).toEqual([]);
  expect(new TextDecoder().decode(link.state.get().offered)).toBe("rm -rf x\r");
  link.settleOffer("send");
  expect(fake.typed()).toEqual([[2, "rm -rf x\r"]]);
  expect(link.state.get().offered).toHaveLength(0);
});

test("input for one program is never sent to another", () => {
  fake.attach();
  fake.last.ear.closed(1006);
  link.type(text("secret\r"));
  fake.pass(1000);
  fake.greet("g2");
  expect(fake.typed()).toEqual([]);
  link.settleOffer("drop");
  expect(link.state.get().offered).toHaveLength(0);
});

test("what is typed before the first greeting is sent after it", () => {
  link.type(text("ls\r"));
  fake.greet();
  expect(fake.typed()).toEqual([[1, "ls\r"]]);
});

test("ten tries, further and further apart, then a button", () => {
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 10; attempt++) {
    expect(phase()).toEqual({ kind: "connecting", attempt });
    fake.last.ear.closed(1006);
    const before = fake.time;
    if (attempt < 10) fake.pass((fake.timers[0]?.at ?? 0) - fake.time);
    waits.push(fake.time - before);
  }
  expect(waits.slice(0, 9)).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000, 15000, 15000]);
  expect(phase()).toEqual({ kind: "gaveUp" });
  fake.pass(600_000);
  expect(fake.dialed).toHaveLength(10);
  link.retry();
  expect(phase()).toEqual({ kind: "connecting", attempt: 1 });
});

test("tries are counted anew after a connection that lasted", () => {
  for (let round = 0; round < 30; round++) {
    fake.greet();
    fake.pass(3000);
    fake.last.ear.closed(1006);
    fake.pass(1000);
    expect(phase().kind).toBe("connecting");
  }
});

test("one that is closed right after the greeting is not dialed for ever", () => {
  for (let round = 0; round < 10; round++) {
    fake.greet();
    fake.last.ear.closed(1006);
    fake.pass(20_000);
  }
  expect(phase()).toEqual({ kind: "gaveUp" });
});

test("no waiting when the network is back or the page is looked at", () => {
  fake.last.ear.closed(1006);
  expect(phase().kind).toBe("waiting");
  link.wake();
  expect(phase().kind).toBe("connecting");
});

test("a connection that only looks alive is left", () => {
  fake.attach();
  link.wake();
  expect(fake.said("history")).toHaveLength(1);
  fake.tell({ type: "history", lines: [] });
  fake.pass(20_000);
  expect(fake.dialed, "it answered").toHaveLength(1);
  link.type(text("x"));
  fake.pass(20_000);
  expect(fake.dialed, "input was not acknowledged, nor the question answered").toHaveLength(2);
  expect(fake.dialed[0]?.hungUp).toBe(true);
});

test.each([
  [4003, "forbidden"],
  [4004, "missing"],
  [4013, "waiting"],
  [1001, "waiting"],
  [1000, "waiting"],
])("closed with %d it is %s", (code, kind) => {
  fake.last.ear.closed(code);
  expect(phase().kind).toBe(kind);
});

test.each([
  [401, "loggedOut"],
  [403, "forbidden"],
  [429, "waiting"],
  [0, "waiting"],
])("refused with %d it is %s", (status, kind) => {
  fake.last.ear.refused(status);
  expect(phase().kind).toBe(kind);
});

test("a program that has ended is not dialed again", () => {
  fake.attach();
  fake.tell({ type: "exit", code: 130, signal: "INT", at: 0 });
  fake.last.ear.closed(1000);
  fake.pass(100_000);
  link.wake();
  link.type(text("x"));
  expect(phase()).toEqual({ kind: "ended", code: 130, signal: "INT" });
  expect([fake.dialed.length, fake.typed()]).toEqual([1, []]);
});

test("a program that ended with the daemon is asked for again", () => {
  fake.attach();
  fake.tell({ type: "exit", code: 129, signal: "HUP", at: 0 });
  fake.last.ear.closed(4013);
  expect(phase().kind).toBe("waiting");
  fake.pass(1000);
  fake.last.ear.closed(4004);
  expect(phase().kind).toBe("missing");
});

test("one that only watches types nothing, and its window is told all the same", () => {
  fake.attach();
  link.setMode("view");
  expect(fake.dialed[0]?.hungUp).toBe(true);
  expect(fake.last.query.mode).toBe("view");
  fake.greet("g1", { drives: false });
  link.type(text("x"));
  link.setWindow({ cols: 50, rows: 10 });
  expect(fake.typed()).toEqual([]);
  expect(fake.said("resize")).toEqual([{ type: "resize", cols: 50, rows: 10 }]);
});

test("what an old connection still says is not heard", () => {
  fake.attach();
  const old = fake.last.ear;
  link.setMode("view");
  old.closed(4004);
  old.text(JSON.stringify({ type: "exit", code: 0, signal: null, at: 0 }));
  expect(phase().kind).toBe("connecting");
});

test("nothing happens after it was stopped", () => {
  fake.attach();
  link.stop();
  fake.pass(100_000);
  link.wake();
  expect([fake.dialed.length, fake.last.hungUp, phase().kind]).toEqual([1, true, "stopped"]);
  expect(fake.timers).toEqual([]);
});

test("input the daemon refuses is not sent for ever", () => {
  fake.attach();
  link.type(text("x"));
  fake.tell({ type: "error", message: "full", iseq: 1 });
  expect(link.state.get().complaint).toBe("full");
  fake.last.ear.closed(1006);
  fake.pass(1000);
  fake.greet();
  expect(fake.typed()).toEqual([]);
});

test("noise is not a message", () => {
  fake.attach();
  fake.last.ear.text("not json");
  fake.last.ear.text('"x"');
  fake.last.ear.bytes(new Uint8Array([9, 9]));
  fake.frame(7, 0, "unknown");
  expect(phase().kind).toBe("live");
});
