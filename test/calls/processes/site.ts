// A workspace with its store, and the processes that work in it. Those that nobody kills are started once and reused.
import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredCall } from "../../../src/calls/stored-call.ts";
import { readCalls } from "../../../src/store/calls.ts";
import type { SqlDatabase } from "../../../src/store/database.ts";
import { openStore, type Store } from "../../../src/store/store.ts";
import { stateFolderOf } from "../../../src/io/files/state-folder.ts";
import { ROOT } from "../../architecture/read-entries.ts";
import {
  LibraryParty,
  McpParty,
  runCommand,
  SERVER_TOKEN,
  ServerParty,
  type Start,
  startProcess,
  type Told,
} from "./parties.ts";

export interface Programs {
  cli: string;
  library: string;
}

export interface SiteOptions {
  base: string;
  programs: Programs;
  /** Of a PostgreSQL database. Default: SQLite in the state folder. */
  storeUrl?: string;
  /** Of a Redis that wakes the workers. */
  redisUrl?: string;
  /** Added to the configuration of every process. */
  config?: Record<string, unknown>;
}

const LANGUAGES = ["C", "C.UTF-8", "de_DE.UTF-8", "zh_CN.UTF-8", "tr_TR.UTF-8"];
const UMASKS = ["022", "077", "002", "027"];
/** How long the parties that wait say that they wait. */
const HOLD_MS = 60_000;
/** The MCP server that does not wait long. */
const SHORT_HOLD_MS = 150;

export interface Party {
  readonly pid: number | undefined;
  /** Whether it was killed. */
  readonly isDead: boolean;
  kill(): void;
}

function partyOf(child: ChildProcess): Party {
  return {
    pid: child.pid,
    get isDead() {
      return child.signalCode === "SIGKILL";
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/** Processes that are dead are deleted from the table of Haft. A copy says which pid each had. */
async function keepProcesses(database: SqlDatabase): Promise<void> {
  // A run that goes on has them.
  if (await database.hasTable("processes")) return;
  const copy = "INSERT INTO processes (id, pid) VALUES (NEW.id, NEW.pid)";
  const statements =
    database.engine === "sqlite"
      ? [`CREATE TRIGGER keep_process AFTER INSERT ON owners BEGIN ${copy}; END`]
      : [
          `CREATE FUNCTION keep_process() RETURNS trigger AS $$ BEGIN ${copy}; RETURN NEW; END $$ LANGUAGE plpgsql`,
          "CREATE TRIGGER keep_process AFTER INSERT ON owners FOR EACH ROW EXECUTE FUNCTION keep_process()",
        ];
  for (const sql of ["CREATE TABLE processes (id TEXT PRIMARY KEY, pid INTEGER)", ...statements])
    await database.run(sql);
}

export class Site {
  readonly folder: string;
  readonly store: Store;
  readonly #base: string;
  readonly #programs: Programs;
  readonly #urls: Record<string, string> = {};
  readonly #config: Record<string, unknown>;
  readonly #ledger: string;
  readonly #roles = new Map<string, LibraryParty | McpParty | ServerParty>();
  readonly #fresh: Party[] = [];
  #variations = 0;
  #isClosed = false;

  private constructor({ base, programs, storeUrl, redisUrl, config = {} }: SiteOptions, folder: string, store: Store) {
    this.#base = base;
    this.#programs = programs;
    if (storeUrl !== undefined) this.#urls["HAFT_STORE_URL"] = storeUrl;
    if (redisUrl !== undefined) this.#urls["HAFT_REDIS_URL"] = redisUrl;
    this.#config = config;
    this.folder = folder;
    this.store = store;
    this.#ledger = join(base, "ledger");
    writeFileSync(this.#ledger, "", { mode: 0o666, flag: "a" });
  }

  static async open(options: SiteOptions): Promise<Site> {
    const folder = join(options.base, "work");
    mkdirSync(folder, { recursive: true });
    const stateFolder = stateFolderOf(folder, { env: { HAFT_STATE_DIR: join(options.base, "state") } });
    mkdirSync(stateFolder, { recursive: true });
    const store = await openStore(options.storeUrl === undefined ? { stateFolder } : { url: options.storeUrl });
    await keepProcesses(store.database);
    return new Site(options, folder, store);
  }

  /** The process that ran this call, or runs it. */
  async pidOf({ owner }: StoredCall): Promise<number | undefined> {
    const [row] = await this.store.database.all<{ pid: number }>("SELECT pid FROM processes WHERE id = ?", [
      owner ?? "",
    ]);
    return row?.pid;
  }

  /** Whether this process was killed. */
  async wasKilled(pid: number | undefined): Promise<boolean> {
    const party = this.#fresh.find((one) => one.pid === pid);
    // Other processes may see its death before its parent does.
    for (let tries = 0; party && !party.isDead && tries < 50; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return party?.isDead ?? false;
  }

  /** The processes in which the effect of this payment happened: one, if it happened once. */
  effectsOf(item: string): number[] {
    return this.effects().get(item) ?? [];
  }

  /** The same for each payment. */
  effects(): Map<string, number[]> {
    const effects = new Map<string, number[]>();
    for (const line of readFileSync(this.#ledger, "utf8").split("\n").slice(0, -1)) {
      const [item = "", pid] = line.split(" ");
      effects.set(item, [...(effects.get(item) ?? []), Number(pid)]);
    }
    return effects;
  }

  /** The questions about this payment, oldest first. */
  async rowsOf(item: string): Promise<StoredCall[]> {
    const rows = await this.store.calls.questions({ max: 1000 });
    return rows.filter(({ question }) => (question?.input as { item?: string } | undefined)?.item === item);
  }

  /** The rows of calls with these ids, oldest first. */
  async rowsOfCalls(callIds: readonly string[]): Promise<StoredCall[]> {
    if (callIds.length === 0) return [];
    const where = `WHERE call_id IN (${callIds.map(() => "?").join(", ")}) ORDER BY created_at`;
    return readCalls(
      this.store.database,
      where,
      callIds.map((id) => JSON.stringify(id)),
    );
  }

  /** Calls that have not ended. */
  async openCalls(): Promise<StoredCall[]> {
    return readCalls(this.store.database, "WHERE state <> 'ended'", []);
  }

  library(waits: boolean): LibraryParty {
    return this.#role(waits ? "library that waits" : "library", () => this.freshLibrary(waits));
  }

  mcp(holds: boolean): McpParty {
    return this.#role(holds ? "MCP that holds" : "MCP", () => this.freshMcp(holds));
  }

  /** Started again if it was killed: jobs need a worker. */
  server(): ServerParty {
    return this.#role("server", () => {
      const server = this.freshServer();
      void server.ended.then(() => (this.#isClosed ? undefined : this.server()));
      return server;
    });
  }

  otherServer(): ServerParty {
    return this.#role("other server", () => this.freshServer());
  }

  freshLibrary(waits: boolean, failAt?: string): LibraryParty {
    const args = [this.folder, waits ? String(HOLD_MS) : "0"];
    return this.#keep(new LibraryParty(this.#start(this.#programs.library, args, failAt)));
  }

  freshMcp(holds: boolean, failAt?: string): McpParty {
    const hold = holds ? `${HOLD_MS / 1000}s` : `${SHORT_HOLD_MS}ms`;
    const args = ["mcp", "--folder", this.folder, "--hold", hold];
    return this.#keep(new McpParty(this.#start(this.#programs.cli, args, failAt)));
  }

  freshServer(failAt?: string): ServerParty {
    const args = ["serve", this.folder, "--port", "0", "--no-open", "--jsonl"];
    return this.#keep(new ServerParty(this.#start(this.#programs.cli, args, failAt)));
  }

  /** A process that runs background calls and nothing else. */
  freshWorker(): Party {
    const child = startProcess(this.#start(this.#programs.cli, ["worker", "-C", this.folder, "--quiet"], undefined));
    child.stdin!.on("error", () => undefined).end();
    child.stdout!.resume();
    child.stderr!.resume();
    return this.#keep(partyOf(child));
  }

  /** Runs `haft WORDS` in this workspace. `env` replaces variables. */
  command(
    words: readonly string[],
    { failAt, env = {} }: { failAt?: string; env?: Record<string, string | undefined> } = {},
  ): Party & { told: Promise<Told & { code: number | null }>; close(): Promise<void> } {
    const start = this.#start(this.#programs.cli, [...words, "-C", this.folder, "--json"], failAt);
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined) delete start.env[name];
      else start.env[name] = value;
    }
    const child = startProcess(start);
    const told = runCommand(child);
    return this.#keep(Object.assign(partyOf(child), { told, close: async () => void (await told) }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const party of this.#fresh) party.kill();
    await this.store.close();
  }

  #role<P extends LibraryParty | McpParty | ServerParty>(name: string, start: () => P): P {
    const known = this.#roles.get(name);
    const running = known && !known.isDead ? known : start();
    this.#roles.set(name, running);
    return running as P;
  }

  #keep<P extends Party>(party: P): P {
    this.#fresh.push(party);
    return party;
  }

  /** The next variation of what must have no effect. */
  #start(program: string, args: readonly string[], failAt: string | undefined): Start {
    const n = this.#variations++;
    const home = join(this.#base, `home-${n}`);
    const cwd = join(this.#base, `cwd-${n % 3}`);
    mkdirSync(join(home, ".config", "haft"), { recursive: true });
    mkdirSync(cwd, { recursive: true });
    // In the process of Haft: its fail points end that process.
    const plugins = [{ from: join(ROOT, "test/calls/processes/ledger-plugin.mjs"), inProcess: true }];
    writeFileSync(join(home, ".config", "haft", "config.json"), JSON.stringify({ ...this.#config, plugins }));
    const env: Record<string, string> = {
      PATH: n % 2 === 0 ? `/opt/bin-${n}:${process.env["PATH"]}` : `${process.env["PATH"]}:/opt/bin-${n}`,
      LANG: LANGUAGES[n % LANGUAGES.length]!,
      HOME: home,
      HAFT_STATE_DIR: join(this.#base, "state"),
      HAFT_SERVER_TOKEN: SERVER_TOKEN,
      LEDGER: this.#ledger,
      ...this.#urls,
    };
    if (failAt !== undefined) env["HAFT_FAIL_AT"] = failAt;
    return { program, args, env, cwd, umask: UMASKS[n % UMASKS.length]! };
  }
}
