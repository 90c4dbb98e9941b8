// Writes src/api/schema.gen.ts: the types of the wire, from the description that the daemon's own types make.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../docs/openapi.json", import.meta.url);
const target = new URL("../src/api/schema.gen.ts", import.meta.url);

const document = JSON.parse(await readFile(source, "utf8"));
const named = (schema) => `components["schemas"]["${schema.$ref.split("/").at(-1)}"]`;
const map = (name, rows) => `export interface ${name} {\n${rows.join("\n")}\n}\n`;

const methods = Object.entries(document["x-trl-methods"]).map(
  ([method, { params, result }]) => `  "${method}": { params: ${named(params)}; result: ${named(result)} };`,
);
const text = [
  "// Made by scripts/api-types.mjs from docs/openapi.json.",
  astToString(await openapiTS(document)),
  map("Methods", methods),
].join("\n");

const before = await readFile(target, "utf8").catch(() => "");
if (before !== text) await writeFile(target, text);
