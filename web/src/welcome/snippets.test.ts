import { expect, test } from "vitest";
import { cliSnippet, httpSnippet, quoted } from "./snippets";

test("a socket is named only where trl would not find it", () => {
  const at = (socket: string | null) => cliSnippet({ origin: "http://x", socket }).split("\n")[0];
  for (const usual of [null, "/run/user/1000/trl/trl.sock", "/tmp/trl-1000/trl.sock"])
    expect(at(usual)).toMatch(/^trl session new/);
  expect(at("/tmp/my dir/a.sock")).toBe("export TRL_SOCKET_PATH='/tmp/my dir/a.sock'");
});

test("words are quoted for a shell", () => {
  expect([quoted("/a/b.c"), quoted("a b"), quoted("it's"), quoted("")]).toEqual([
    "/a/b.c",
    "'a b'",
    "'it'\\''s'",
    "''",
  ]);
  expect(httpSnippet({ origin: "http://127.0.0.1:7870", socket: null })).toContain(
    "curl -s http://127.0.0.1:7870/rpc \\\n",
  );
});
