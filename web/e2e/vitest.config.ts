import { defineConfig } from "vitest/config";

/** The real daemon and a real browser: one after the other, in one process, so that the browser is started once. */
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    isolate: false,
    pool: "threads",
    testTimeout: 40_000,
    hookTimeout: 40_000,
  },
});
