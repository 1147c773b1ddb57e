// node --import typescript-hooks.mjs FILE.ts: runs TypeScript as tsx does, on every Node that Haft supports.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transpile } from "./transpile.mjs";

if (isMainThread) register(import.meta.url);

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith("file:") || !/\.m?ts$/.test(url)) return next(url, context);
  const file = fileURLToPath(url);
  return { format: "module", shortCircuit: true, source: transpile(file, readFileSync(file, "utf8")) };
}
