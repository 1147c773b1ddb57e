#!/usr/bin/env node
/**
 * Starts the command line with the code that V8 compiled at an earlier start: compiling is a third of a start. V8 takes compiled code
 * for scripts, so the build makes scripts of the command line. `module.enableCompileCache` of Node 22 saves less than half as much.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { findStateRoot } from "../io/files/own-folders.ts";

/** The build replaces it by the file's name, which changes with its content. */
const MAIN = "main.cjs";
const CHUNKS = fileURLToPath(new URL("./chunks/", import.meta.url));

/** Modules of Node that take milliseconds, and that most commands do not use. */
const LATE = new Set(
  ["child_process", "dns/promises", "http", "https", "net", "tls", "v8", "vm", "worker_threads", "zlib"].map(
    (name) => `node:${name}`,
  ),
);

type Load = ((id: string) => unknown) & { import?: (id: string) => Promise<unknown> };
type Compiled = (exports: object, load: Load, module: object, file: string) => void;

/** Loads the scripts of the command line, each with its compiled code, and keeps what is not kept yet when the process exits. */
class Scripts {
  readonly #kept: string;
  #isOwn: boolean | undefined;
  readonly #modules = new Map<string, { exports: object }>();
  readonly #fresh = new Map<string, Script>();

  constructor(kept: string) {
    this.#kept = kept;
    process.on("exit", () => this.#keep());
  }

  load(name: string): unknown {
    const known = this.#modules.get(name);
    if (known) return known.exports;
    const loaded = { exports: {} };
    this.#modules.set(name, loaded);
    const filename = join(CHUNKS, name);
    const source = `(function(exports,require,module,__filename){${readFileSync(filename, "latin1")}\n})`;
    const script = new Script(source, { filename, cachedData: this.#read(name) });
    if (script.cachedDataRejected !== false) this.#fresh.set(name, script);
    const load: Load = (id) =>
      id.startsWith("./") ? this.load(id.slice(2)) : LATE.has(id) ? requireLate(id) : requireHere(id);
    // A script with compiled code cannot import by itself.
    load.import = (id) => import(id);
    (script.runInThisContext() as Compiled)(loaded.exports, load, loaded, filename);
    return loaded.exports;
  }

  /** V8 runs compiled code as it is, so a file that a full disk or a power cut has damaged must not reach it. */
  #read(name: string): Buffer | undefined {
    try {
      const file = join(this.#kept, name);
      if (!(this.#isOwn ??= isOwnFolder(this.#kept)) || !isOwn(file, "isFile")) return undefined;
      const kept = readFileSync(file);
      const code = kept.subarray(DIGEST_BYTES);
      return digestOf(code).equals(kept.subarray(0, DIGEST_BYTES)) ? code : undefined;
    } catch {
      return undefined;
    }
  }

  /** Also removes what earlier versions of Haft have left. The next start only takes longer if it fails. */
  #keep(): void {
    if (this.#fresh.size === 0) return;
    try {
      // The state folder itself is made by commands that need it.
      for (const folder of [dirname(this.#kept), this.#kept]) makeFolder(folder);
      if (!isOwnFolder(this.#kept)) return;
      for (const [name, script] of this.#fresh) {
        const unfinished = join(this.#kept, `${name}.${process.pid}`);
        const code = script.createCachedData();
        writeFileSync(unfinished, Buffer.concat([digestOf(code), code]), { mode: 0o600 });
        renameSync(unfinished, join(this.#kept, name));
      }
      const current = new Set(readdirSync(CHUNKS));
      for (const name of readdirSync(this.#kept))
        if (name.includes(".cjs") && !current.has(name)) rmSync(join(this.#kept, name), { force: true });
    } catch {
      // A read-only or full disk.
    }
  }
}

function makeFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
}

const DIGEST_BYTES = 20;

function digestOf(code: Buffer): Buffer {
  return createHash("sha1").update(code).digest();
}

/** Compiled code that another user could have put there is not used: neither through a link nor in a folder of theirs. */
function isOwn(path: string, kind: "isFile" | "isDirectory"): boolean {
  const stats = lstatSync(path);
  return (
    stats[kind]() && (process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0))
  );
}

/** The folder, the one above it and the state folder. */
function isOwnFolder(folder: string): boolean {
  const root = realpathSync(dirname(dirname(folder)));
  return [root, dirname(folder), folder].every((path) => isOwn(path, "isDirectory"));
}

/** Loads the module when one of its members is used. */
function requireLate(id: string): unknown {
  const loaded = (): object => requireHere(id) as object;
  return new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(loaded(), name) as unknown,
      has: (_, name) => Reflect.has(loaded(), name),
      ownKeys: () => Reflect.ownKeys(loaded()),
      getOwnPropertyDescriptor: (_, name) => ({
        value: Reflect.get(loaded(), name) as unknown,
        configurable: true,
        enumerable: true,
      }),
    },
  );
}

/** No sandboxed program may write there: what it holds is executed. Undefined if it cannot be used. */
function cacheFolder(): string | undefined {
  const root = findStateRoot();
  // The command says what is wrong with HAFT_STATE_DIR.
  return root && join(root, "compiled", `${process.version}-${process.arch}`);
}

const requireHere = createRequire(join(CHUNKS, MAIN));
const folder = process.versions["bun"] === undefined ? cacheFolder() : undefined;
if (folder === undefined) requireHere(join(CHUNKS, MAIN));
else new Scripts(folder).load(MAIN);
