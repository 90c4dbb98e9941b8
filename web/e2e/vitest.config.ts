import { defineConfig } from "vitest/config";

/** The real daemon and a real browser: one after the other, in one process, so that the browser is started once. */
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    isolate: false,
    pool: "threads",
    // Nothing here is about speed: a slow machine only takes longer.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
