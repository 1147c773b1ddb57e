import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "vite";
import { ROOT } from "../architecture/read-entries.ts";

const CACHE = join(ROOT, "node_modules", ".cache", "haft-console");
/** What the console is built from. */
const SOURCES = ["console", "src/contracts", "src/api", "src/core"];
const POLL_MS = 100;
/** A build takes seconds. A lock that is older belongs to a process that was killed. */
const STALE_LOCK_MS = 120_000;
const KEPT_BUILDS = 3;
/** Part of the key: what this file does has changed. */
const FORMAT = "2";

/** The folder of the built console. All test files share one build; it is made again if a source has changed. */
export async function buildConsole(): Promise<string> {
  const folder = join(CACHE, hashSources());
  const lock = `${folder}.lock`;
  mkdirSync(CACHE, { recursive: true });
  while (!existsSync(folder)) {
    if (!take(lock)) {
      await sleep(POLL_MS);
      continue;
    }
    const fresh = `${folder}.${process.pid}`;
    try {
      if (existsSync(folder)) break;
      await buildInto(fresh);
      removeOldBuilds();
      renameSync(fresh, folder);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return folder;
}

/** As it is published: the test runner names another environment, and React would be its larger and slower development build. */
async function buildInto(outDir: string): Promise<void> {
  const environment = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    const configFile = join(ROOT, "console", "vite.config.ts");
    await build({ configFile, logLevel: "error", build: { outDir } });
  } finally {
    process.env["NODE_ENV"] = environment;
  }
}

/** Whether this process has the lock: only one of several can create a folder. */
function take(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

function removeOldBuilds(): void {
  const builds = readdirSync(CACHE)
    .filter((name) => /^[\da-f]{64}$/.test(name))
    .map((name) => ({ path: join(CACHE, name), at: statSync(join(CACHE, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of builds.slice(KEPT_BUILDS - 1)) rmSync(path, { recursive: true, force: true });
}

function hashSources(): string {
  const hash = createHash("sha256").update(FORMAT);
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of [join(ROOT, "package-lock.json"), ...files.sort()]) {
    hash.update(`\0${file}\0`).update(readFileSync(file));
  }
  return hash.digest("hex");
}
