import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../../core/error.ts";
import { buildTable, type Machine, type TableRules } from "./build-table.ts";
import {
  bubblewrapCommand,
  describeFailure,
  type EngineName,
  findBubblewrap,
  findLauncher,
  findMachine,
  findPerl,
  runSync,
  SEATBELT,
  seatbeltCommand,
  TableFolder,
  type TableRunner,
} from "./engines.ts";
import { ViewFolder } from "./view.ts";
import { stateRootOf } from "../files/state-folder.ts";
import { ACCESS } from "./landlock.ts";
import { readLauncherReport, type RefusalReporting, refusedCalls } from "./refusals.ts";
import { type ConfinementProfile, pathRules, readableSystem } from "./profiles.ts";

/** An engine that has passed its self-test. */
export interface Engine {
  name: EngineName;
  machine: Machine;
  /** Executes tables. */
  runner: readonly string[];
  /** The program `bwrap`. */
  bubblewrap?: string;
}

/** One line of a self-test. */
export interface SelfTestLine {
  profile: ConfinementProfile;
  engine: EngineName;
  /** Undefined: passed. */
  problem?: string;
}

/** The engine of each profile, and how it was chosen. */
export interface FoundEngines {
  look?: Engine;
  work?: Engine;
  tests: readonly SelfTestLine[];
  /** Whether views report what a command was refused. Undefined: not tried. */
  refusalReporting?: RefusalReporting;
}

export interface FindOptions {
  /** Where tables are kept. */
  tables: TableFolder;
  launcher?: () => TableRunner;
  perl?: () => TableRunner;
  bubblewrap?: () => string | undefined;
  /** Reports another version of Landlock than the kernel has. For tests. */
  abi?: number;
}

/**
 * Tries the engines in order and takes for each profile the first one that works. "Works" is tried, not guessed: a
 * confined process tries to read a secret, write, change a mode, open a socket and signal a process. All must fail,
 * and a program must start.
 */
export function findEngines(options: FindOptions): FoundEngines {
  const { tables, launcher = findLauncher, perl = findPerl, bubblewrap = findBubblewrap } = options;
  const tests: SelfTestLine[] = [];
  const candidates: Partial<Record<EngineName, Engine>> = {};
  const problems: Partial<Record<EngineName, string>> = {};
  const own = tryRunner(launcher, options);
  if ("machine" in own) {
    candidates.landlock = { name: "landlock", ...own };
    candidates.namespaces = { name: "namespaces", ...own };
    const program = bubblewrap();
    if (program === undefined) problems.bubblewrap = "bubblewrap is not installed";
    else candidates.bubblewrap = { name: "bubblewrap", ...own, bubblewrap: program };
  } else {
    for (const name of ["landlock", "namespaces", "bubblewrap"] as const) problems[name] = own.why;
    const other = tryRunner(perl, options);
    if ("machine" in other) candidates.perl = { name: "perl", ...other };
    else problems.perl = other.why;
  }
  if (process.platform === "darwin" && existsSync(SEATBELT))
    candidates.seatbelt = { name: "seatbelt", machine: NO_MACHINE, runner: [] };
  const choose = (profile: ConfinementProfile, order: readonly EngineName[]): Engine | undefined => {
    for (const name of order) {
      const engine = candidates[name];
      const known = problems[name];
      if (engine === undefined && known === undefined) continue;
      const problem = engine ? testEngine(engine, profile, tables) : known;
      tests.push({ profile, engine: name, problem });
      if (engine && problem === undefined) return engine;
    }
    return undefined;
  };
  // With namespaces a command that only reads does not see the sizes of secrets either.
  const look = choose("look", ["namespaces", "landlock", "perl", "seatbelt"]);
  const work = choose("work", ["namespaces", "bubblewrap", "landlock", "perl", "seatbelt"]);
  return { look, work, tests, refusalReporting: tryReporting(work, tables) };
}

/** seatbelt executes no tables. */
const NO_MACHINE: Machine = { architecture: "arm64", abi: 0, uid: -1, gid: -1 };

function tryRunner(
  find: () => TableRunner,
  { tables, abi }: FindOptions,
): { machine: Machine; runner: readonly string[] } | { why: string } {
  try {
    const runner = find();
    if (runner.command === undefined) return { why: runner.why };
    const found = findMachine(runner, tables);
    if (!("machine" in found)) return found;
    return { machine: { ...found.machine, abi: abi ?? found.machine.abi }, runner: runner.command };
  } catch (error) {
    return { why: errorMessage(error) };
  }
}

/**
 * Whether views of this engine report what a command was refused. Tried too: a command in a view opens a hidden file,
 * calls `unshare` and connects to a UNIX socket, and the report must have all three.
 */
function tryReporting(engine: Engine | undefined, tables: TableFolder): RefusalReporting {
  if (!engine) return { isReported: false, why: "commands cannot be confined here" };
  if (engine.name !== "namespaces")
    return { isReported: false, why: `commands are confined by ${engine.name}, which has no views` };
  let folder: string | undefined;
  try {
    folder = realpathSync(mkdtempSync(join(tables.path, "self-test-")));
    const why = reportProblem(engine, folder);
    return why === undefined ? { isReported: true } : { isReported: false, why };
  } catch (error) {
    return { isReported: false, why: errorMessage(error) };
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function reportProblem(engine: Engine, folder: string): string | undefined {
  const view = new ViewFolder(join(folder, "views"), { isReported: true });
  try {
    return problemOfView(engine, view, folder);
  } finally {
    view.removeNow();
  }
}

function problemOfView(engine: Engine, view: ViewFolder, folder: string): string | undefined {
  const [workspace, outside] = [join(folder, "workspace"), join(folder, "outside")];
  const [hidden, secret] = [join(workspace, "hidden"), join(folder, ".env")];
  mkdirSync(workspace);
  for (const path of [hidden, secret, outside]) writeFileSync(path, CONTENT);
  view.add(workspace, "workspace");
  view.hide(hidden, { isReadOnly: false });
  view.addOutside(undefined);
  const read = readableSystem({ home: "/nonexistent", path: "" });
  const closed = { paths: new Set([secret]), inodes: new Set<string>() };
  const { overlays, outside: written, watched } = view;
  const rules: TableRules = {
    paths: pathRules({ read, write: [workspace], closed }).rules,
    metadata: true,
    network: "none",
    memoryBytes: 2 ** 32,
    isUnasked: true,
    namespaces: { ...NOTHING_MOUNTED, writable: [workspace], overlays, outside: written, watched },
  };
  const table = new TableFolder(folder).write(
    buildTable(engine.machine, rules, { secret, outside, process: process.pid }),
  );
  const result = runSync([...engine.runner, table, "/bin/cat", hidden], { cwd: workspace });
  if (result.status !== 0) return describeFailure(result);
  const report = readLauncherReport(watched.report);
  const refused = report && refusedCalls(report, engine.machine.architecture).map(({ subject }) => subject);
  const isComplete = result.stdout === "" && report?.used?.has(0) === true;
  const isWhole = isComplete && ["unshare", "/none"].every((subject) => refused?.includes(subject));
  return isWhole ? undefined : "the kernel does not report everything that it refuses";
}

/** The problem of an engine, or undefined if everything forbidden failed and a program started. */
export function testEngine(engine: Engine, profile: ConfinementProfile, tables: TableFolder): string | undefined {
  let folder: string | undefined;
  try {
    // Not in the folder for temporary files: namespaces cover that.
    folder = realpathSync(mkdtempSync(join(tables.path, "self-test-")));
    // Its table is removed with it: no other process can use it.
    return tryForbidden(engine, { profile, folder, tables: new TableFolder(folder) });
  } catch (error) {
    return errorMessage(error);
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

const CONTENT = "planted by the self-test";

function tryForbidden(
  engine: Engine,
  { profile, folder, tables }: { profile: ConfinementProfile; folder: string; tables: TableFolder },
): string | undefined {
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  // In `look` the secret is beside readable files, in `work` outside the workspace.
  const secret = join(profile === "look" ? workspace : folder, ".env");
  const outside = join(folder, "outside");
  for (const path of [secret, outside, join(workspace, "readable")]) writeFileSync(path, CONTENT);
  chmodSync(outside, 0o600);
  const closed = { paths: new Set([secret]), inodes: new Set<string>() };
  const system = readableSystem({ home: "/nonexistent", path: "" });
  const [read, write] = profile === "look" ? [[...system, workspace], []] : [system, [workspace]];
  if (engine.name === "seatbelt") {
    const rules = { read, write, closed: [...closed.paths], readOnly: [], network: false };
    const result = runSync([
      ...seatbeltCommand(rules),
      "/bin/sh",
      "-c",
      FORBIDDEN,
      "sh",
      secret,
      outside,
      `${process.pid}`,
    ]);
    return result.status === 0 ? undefined : describeFailure(result);
  }
  const { rules: paths } = pathRules({ read, write, closed });
  const rules: TableRules = {
    paths: [...paths, { path: join(workspace, "readable"), access: ACCESS.readFile, isFolder: false }],
    metadata: profile === "work",
    network: "none",
    memoryBytes: 2 ** 32,
  };
  if (engine.name === "namespaces") {
    const readOnly = [join(workspace, "readable")];
    const isLook = profile === "look";
    rules.namespaces = { ...NOTHING_MOUNTED, writable: write, readOnly, ownNetwork: !isLook, seesProcesses: isLook };
  }
  const isPerl = engine.name === "perl";
  const table = tables.write(
    buildTable(engine.machine, rules, { secret, outside, process: process.pid }, { supervise: !isPerl }),
  );
  const command = [...engine.runner, table, "/bin/true"];
  if (engine.bubblewrap !== undefined) {
    const own = { ...NOTHING_MOUNTED, write: [workspace], terminal: false, cwd: workspace };
    command.splice(
      0,
      engine.runner.length + 1,
      ...bubblewrapCommand({ ...own, program: engine.bubblewrap, table, launcher: engine.runner[0] ?? "" }),
    );
  }
  const result = runSync(command, { cwd: workspace });
  if (result.status !== 0) return describeFailure(result);
  const isUnchanged = readFileSync(outside, "utf8") === CONTENT && (statSync(outside).mode & 0o777) === 0o600;
  return isUnchanged ? undefined : "a confined process changed a file";
}

/** For an engine that executes no tables. Each of these must fail. */
const FORBIDDEN = `
for attempt in 'cat "$1"' 'echo x >> "$2"' 'chmod 777 "$2"' 'kill -0 "$3"' 'nc -z -w 1 127.0.0.1 1'; do
  if sh -c "$attempt" sh "$1" "$2" "$3" > /dev/null 2>&1; then echo "possible: $attempt" >&2; exit 1; fi
done
`;

const NOTHING_MOUNTED = {
  writable: [],
  pinned: [],
  readOnly: [],
  hiddenFiles: [],
  hiddenFolders: [],
  binds: [],
  ownNetwork: true,
  processes: 512,
};

let known: { key: string; engines: FoundEngines } | undefined;

/** The folder for tables, below the state folders of all workspaces. */
export function tableFolderPath(): string {
  return join(stateRootOf(), "sandbox");
}

/** The engines of this machine. Tried at the first use, then remembered by this process. */
export function machineEngines(): FoundEngines {
  const folder = tableFolderPath();
  const key = `${folder} ${process.geteuid?.()}`;
  if (known?.key !== key) known = { key, engines: findEngines({ tables: usableFolder(folder) }) };
  return known.engines;
}

/** The folder, or a private one for temporary files if it cannot be written. */
export function usableFolder(folder: string): TableFolder {
  try {
    const tables = new TableFolder(folder);
    rmSync(mkdtempSync(join(tables.path, "try-")), { recursive: true });
    return tables;
  } catch {
    return new TableFolder(mkdtempSync(join(tmpdir(), "haft-sandbox-")));
  }
}
