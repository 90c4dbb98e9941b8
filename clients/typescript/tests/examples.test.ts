/** Every example runs, says what it should, and ends by itself. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Daemon } from "./daemon.js";

const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));

const SAID: Record<string, string> = {
  "approvals.js": "echo removed is pending\napproved\nremoved\n",
  "live.js": "line 1, line 2, line 3 exit 0\npattern\nanswered at byte 6\nended with 0\n42\n",
  "many.js": "0 1 2 3 4 5 6 7 8 9\ncancelled: true\nAbortError: This operation was aborted\n",
  "quickstart.js":
    "7 hello oops\ntimed out: true after writing 5 bytes\nme in /usr\nrolled_back me\nSESSION_NOT_FOUND\n",
};

for (const name of readdirSync(EXAMPLES)) {
  test(`the example ${name} says what it should`, async () => {
    const daemon = await Daemon.start();
    if (name === "approvals.js") daemon.rules("{default: ask}");
    const done = await promisify(execFile)(process.execPath, [EXAMPLES + name], { env: daemon.env });
    assert.deepEqual([done.stdout, done.stderr], [SAID[name], ""]);
    await daemon.remove();
  });
}
