import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The daemon that `npm run dev` speaks to. */
const daemon = process.env["TRL_HTTP"] ?? "http://127.0.0.1:7870";
const own = ["/api", "/rpc", "/metrics", "/openapi.json", "/healthz"];
/** As if the page were the daemon's own. */
const through = { target: daemon, changeOrigin: true, headers: { origin: daemon } };

export default defineConfig({
  // Of elements, too, see src/ui/jsx-runtime.ts.
  plugins: [react({ jsxImportSource: "#jsx" })],
  // Replaced by the daemon with a fresh one in every answer; see crates/trl/src/serve/http/ui.rs.
  html: { cspNonce: "TRL_NONCE" },
  build: {
    target: "es2023",
    // The daemon's policy lets nothing in by data address but pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Read, and removed, by scripts/compress.mjs.
    manifest: true,
    // The terminals' page: xterm.js and the tabs. `cargo xtask test` holds it to its bar.
    chunkSizeWarningLimit: 700,
    license: { fileName: "licenses.txt" },
  },
  server: {
    proxy: {
      ...Object.fromEntries(own.map((path) => [path, through])),
      "/ws": { ...through, ws: true },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
