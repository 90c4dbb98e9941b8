import { expect, test } from "vitest";
import { SseParser } from "./sse";

const stream =
  ': hello\nid: 6.0\nevent: output\ndata: {"a":1}\n\nid: 6.0.exit\r\nevent: exit\r\ndata: 1\ndata: 2\n\n:\n\n';
const events = [
  { id: "6.0", event: "output", data: '{"a":1}' },
  { id: "6.0.exit", event: "exit", data: "1\n2" },
];

test("events come out whole, wherever the text is cut", () => {
  expect(new SseParser().feed(stream)).toEqual(events);
  for (let cut = 0; cut < stream.length; cut++) {
    const parser = new SseParser();
    expect([...parser.feed(stream.slice(0, cut)), ...parser.feed(stream.slice(cut))]).toEqual(events);
  }
});
