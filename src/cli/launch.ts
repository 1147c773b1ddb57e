#!/usr/bin/env node
/**
 * Starts the command line with the code that V8 compiled at an earlier start: compiling is a third of a start. V8 takes compiled code
 * for scripts, so the build makes scripts of the command line. `module.enableCompileCache` of Node 22 saves less than half as much.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
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
      const kept = readFileSync(join(this.#kept, name));
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
      for (const [name, script] of this.#fresh) {
        const unfinished = join(this.#kept, `${name}.${process.pid}`);
        const code = script.createCachedData();
        writeFileSync(unfinished, Buffer.concat([digestOf(code), code]), { mode: 0o600 });
        renameSync(unfinished, join(this.#kept, name));
      }
      const current = new Set(readdirSync(CHUNKS));
      for (const name of readdirSync(this.#kept))
        if (!current.has(name)) rmSync(join(this.#kept, name), { force: true });
    } catch {
      // A read-only or full disk.
    }
  }
}

const DIGEST_BYTES = 20;

function digestOf(code: Buffer): Buffer {
  return createHash("sha1").update(code).digest();
}

/** Compiled code that another user can replace is not used. */
function isOwn(path: string): boolean {
  const { mode, uid } = statSync(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
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

/** No sandboxed program may write there: what it holds is executed. */
function cacheFolder(): string | undefined {
  try {
    const root = findStateRoot();
    // The command says what is wrong with HAFT_STATE_DIR.
    if (root === undefined) return undefined;
    const folder = join(root, "compiled", `${process.version}-${process.arch}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return isOwn(folder) && isOwn(dirname(folder)) ? folder : undefined;
  } catch {
    // A read-only or full disk.
    return undefined;
  }
}

const requireHere = createRequire(join(CHUNKS, MAIN));
const folder = process.versions["bun"] === undefined ? cacheFolder() : undefined;
if (folder === undefined) requireHere(join(CHUNKS, MAIN));
else new Scripts(folder).load(MAIN);
