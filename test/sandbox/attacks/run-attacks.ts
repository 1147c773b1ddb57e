// A program: runs attacks in one profile of one engine as the current user, and prints what they reached.
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createPathPolicy } from "../../../src/io/files/path-policy.ts";
import { createFiles } from "../../../src/io/files/files.ts";
import { TableFolder } from "../../../src/io/sandbox/engines.ts";
import { type ConfinedCommand, openSandbox, type Sandbox } from "../../../src/io/sandbox/sandbox.ts";
import { type FoundEngines, tableFolderPath } from "../../../src/io/sandbox/self-test.ts";
import { engineFor } from "./engine-for.ts";
import { Fixture, Surroundings } from "./fixture.ts";
import { ATTACKS, type NamedAttack } from "./lists/index.ts";
import { isInstalled } from "./is-installed.ts";
import { numbersOfCalls } from "./call-numbers.ts";

export interface Order {
  /** `none`: without a sandbox, to show that the attacks work. */
  engine: string;
  profile: "look" | "work";
  /** Where the fixture is created. */
  folder: string;
  /** Runs every nth attack, from `first`. */
  every?: number;
  first?: number;
  /** Only attacks whose list and name contain it. */
  only?: string;
}

export interface Outcome {
  problem?: string;
  ran: number;
  skipped: string[];
  /** Attacks that ended by the time limit. */
  late: string[];
  effects: { attack: string; what: string[] }[];
}

const LIMIT_MS = 15_000;
const MAX_OUTPUT = 4_000_000;

class AttackRun {
  readonly #order: Order;
  readonly #fixture: Fixture;
  readonly #surroundings: Surroundings;
  readonly #engines: FoundEngines | undefined;
  readonly #outcome: Outcome = { ran: 0, skipped: [], late: [], effects: [] };
  #sandbox: Sandbox | undefined;
  #ledger = new Map<string, string>();

  constructor(order: Order, engines: FoundEngines | undefined) {
    this.#order = order;
    this.#engines = engines;
    this.#fixture = new Fixture(mkdtempSync(join(order.folder, "fixture-")));
    process.env["XDG_STATE_HOME"] = this.#fixture.state;
    process.env["HOME"] = this.#fixture.home;
    process.env["PATH"] += `${delimiter}${join(this.#fixture.home, "tools/app/bin")}`;
    process.env["HAFT_PARENT_SECRET"] = this.#fixture.canaries.variable;
    this.#surroundings = new Surroundings(this.#fixture);
  }

  async run(): Promise<Outcome> {
    this.#plant();
    await this.#surroundings.start();
    try {
      for (const attack of this.#chosen()) await this.#attack(attack);
    } finally {
      await this.#surroundings.stop();
      this.#sandbox?.close();
      rmSync(this.#fixture.base, { recursive: true, force: true });
    }
    return this.#outcome;
  }

  #chosen(): NamedAttack[] {
    const { profile, every = 1, first = 0, only, engine } = this.#order;
    return ATTACKS.filter(
      ({ list, name, profiles, reachesMachine }) =>
        (profiles?.includes(profile) ?? true) &&
        (engine !== "none" || reachesMachine !== true) &&
        (only === undefined || `${list}: ${name}`.includes(only)),
    ).filter((_attack, index) => index % every === first % every);
  }

  async #attack(attack: NamedAttack): Promise<void> {
    const { profile } = this.#order;
    const title = `${attack.list}: ${attack.name}`;
    const missing = (attack.needs ?? []).filter((program) => !isInstalled(program));
    if (missing.length > 0) return void this.#outcome.skipped.push(`${title} (${missing.join(", ")})`);
    this.#outcome.ran++;
    if (attack.before !== undefined) {
      await this.#run(attack.before, "work", title);
      await this.#surroundings.reached();
      this.#ledger = this.#fixture.ledger(profile);
    }
    const { output, nap } = await this.#run(attack.run, profile, title);
    const what = this.#fixture.leaksIn(output, profile).map((kind) => `printed ${kind}`);
    what.push(...(await this.#surroundings.reached()).map((one) => `reached ${one}`));
    const changed = changes(this.#ledger, this.#fixture.ledger(profile));
    what.push(...changed.map((path) => `changed ${path.replace(this.#fixture.base, "")}`));
    what.push(...marksOf(this.#fixture.mark).map((path) => `created ${path}`));
    let left = processesWith(nap);
    // On a busy machine a killed process is seen until the kernel has taken it apart.
    for (let tries = 0; left.length > 0 && tries < 40; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      left = processesWith(nap);
    }
    if (left.length > 0) what.push(`left ${left.length} processes`);
    for (const pid of left) kill(pid);
    if (what.length > 0) this.#outcome.effects.push({ attack: title, what: what.slice(0, 20) });
    if (changed.length > 0 || profile === "work" || attack.before !== undefined) this.#plant();
  }

  async #run(command: string, profile: "look" | "work", title: string): Promise<{ output: string; nap: string }> {
    const { fixture } = { fixture: this.#fixture };
    const nap = `70.${randomInt(1e9, 9e9)}`;
    const env: Record<string, string> = {
      PATH: process.env["PATH"] ?? "",
      HOME: fixture.home,
      LANG: "C.UTF-8",
      OUT: fixture.outside,
      STATE: fixture.state,
      SECRETS: fixture.secrets.join(" "),
      TARGETS: fixture.targets.join(" "),
      PLACES: [".", fixture.outside, fixture.home].join(" "),
      MARK: fixture.mark,
      NAP: nap,
      ...numbersOfCalls(),
      ...this.#surroundings.env,
    };
    const shell = ["/bin/bash", "-c", command];
    const confined: ConfinedCommand | undefined = await this.#sandbox?.confine(profile, shell, {
      cwd: fixture.workspace,
      terminal: false,
    });
    const [program = "", ...args] = confined?.command ?? shell;
    const child = spawn(program, args, {
      cwd: fixture.workspace,
      env: { ...env, ...confined?.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const output = await this.#outputOf(child, title);
    await confined?.finish();
    return { output, nap };
  }

  async #outputOf(child: ChildProcess, title: string): Promise<string> {
    let output = "";
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding("latin1").on("data", (text: string) => {
        if (output.length < MAX_OUTPUT) output += text;
      });
    }
    const timer = setTimeout(() => {
      this.#outcome.late.push(title);
      child.kill("SIGQUIT");
      setTimeout(() => killGroup(child), 300).unref();
    }, LIMIT_MS);
    await new Promise<void>((resolve) => child.once("exit", () => resolve()));
    clearTimeout(timer);
    // What is left in the group ends as it does after a command of Haft.
    killGroup(child);
    await new Promise((resolve) => setTimeout(resolve, 5));
    child.stdout!.destroy();
    child.stderr!.destroy();
    return output;
  }

  #plant(): void {
    this.#fixture.plant();
    this.#sandbox?.close();
    const engines = this.#engines;
    const { workspace, home, state } = this.#fixture;
    const policy = createPathPolicy({ workspace, privatePaths: [state] });
    this.#sandbox = engines ? openSandbox({ files: createFiles(policy), home, engines: () => engines }) : undefined;
    this.#ledger = this.#fixture.ledger(this.#order.profile);
  }
}

function changes(before: Map<string, string>, after: Map<string, string>): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.filter((path) => before.get(path) !== after.get(path));
}

/** Files that an attack created in folders of the system. They are removed. */
function marksOf(mark: string): string[] {
  const folders = ["/etc", "/usr/local/bin", "/var/tmp", "/tmp", "/dev/shm", "/run", "/var/lib", "/srv", "/opt"];
  return folders.flatMap((folder) => {
    const found = namesIn(folder).filter((name) => name.startsWith(mark));
    for (const name of found) rmSync(join(folder, name), { recursive: true, force: true });
    return found.map((name) => join(folder, name));
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function processesWith(word: string): number[] {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Each command leads its own group. */
function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) kill(-pid);
}

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2] ?? "{}") as Order;
  const found = engineFor(order.engine, order.profile, new TableFolder(tableFolderPath()));
  const outcome: Outcome =
    "problem" in found
      ? { problem: found.problem, ran: 0, skipped: [], late: [], effects: [] }
      : await new AttackRun(order, found.engines).run();
  process.stdout.write(JSON.stringify(outcome));
}

await main();
