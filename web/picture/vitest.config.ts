import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = join(import.meta.dirname, "../..");

/** `npm run picture`: makes `docs/images/trl.png`. Vitest runs the script, so that it can use the daemon of `e2e/`. */
export default defineConfig({
  test: {
    include: ["picture/make.ts"],
    environment: "node",
    testTimeout: 180_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    env: { TRL_BIN: process.env["TRL_BIN"] ?? join(root, "target/debug/trl") },
  },
});
