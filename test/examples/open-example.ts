// An example as a reader has it: copied out of the repository, with the packed archive, started by its documented command.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { inject, onTestFinished, vi } from "vitest";
import { linkPackage } from "../../scripts/install-archive.mjs";
import { ROOT } from "../architecture/read-entries.ts";
import { childEnd, killChild } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";
import { installPackages } from "./install-packages.ts";

// The first one packs the archive. Each starts several processes, which take long on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

export interface OpenExample {
  /** The copy of the example's folder. */
  readonly folder: string;
  /** Starts the command that the table of examples names. */
  start(env?: Record<string, string>): Running;
  /** Runs `haft` to its end, with the example as its folder. */
  haft(...words: string[]): Promise<Ended>;
  /** Runs a program of the example to its end. */
  node(file: string): Promise<Ended>;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly stdout: string;
  /** Waits until it has printed the text. Rejects if it ends before. */
  printed(text: string): Promise<void>;
  /** Types a line. */
  type(line: string): void;
  end(): Promise<Ended>;
}

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface ExampleOptions {
  /** Optional packages that Haft itself loads. */
  besideHaft?: readonly string[];
}

export async function openExample(name: string, { besideHaft = [] }: ExampleOptions = {}): Promise<OpenExample> {
  const root = temporaryFolder(`haft-example-${name}-`);
  const folder = join(root, "examples", name);
  cpSync(join(ROOT, "examples", name), folder, { recursive: true });
  const haft = await packedHaft(root, besideHaft);
  const programs = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  installPackages(
    root,
    programs.map((file) => join(folder, file)),
    { haft },
  );
  const env = {
    PATH: process.env["PATH"],
    HOME: join(root, "home"),
    XDG_CONFIG_HOME: join(root, "config"),
    HAFT_STATE_DIR: join(root, "state"),
  };
  const launch = (words: readonly string[], more: Record<string, string> = {}): Running =>
    watch(spawn(process.execPath, words, { cwd: root, env: { ...env, ...more } }));
  return {
    folder,
    start(more) {
      const [program, ...words] = commandOf(name).split(" ");
      if (program !== "node") throw new Error(`The command of ${name} starts ${program}, not node.`);
      return launch(words, more);
    },
    haft: (...words) => launch([join(haft, "dist", "cli", "main.js"), ...words, "-C", folder]).end(),
    node: (file) => launch([join("examples", name, file)]).end(),
  };
}

/** The command of an example in the table of examples/README.md. */
function commandOf(name: string): string {
  const table = readFileSync(join(ROOT, "examples", "README.md"), "utf8");
  const row = table.split("\n").find((line) => line.startsWith(`| [${name}]`));
  const command = /`([^`]+)` \|$/.exec(row ?? "")?.[1];
  if (command === undefined) throw new Error(`examples/README.md names no command for ${name}.`);
  return command;
}

/** The packed package. It finds optional packages only beside itself, so for those it is copied. */
async function packedHaft(root: string, besideHaft: readonly string[]): Promise<string> {
  const response = await fetch(inject("archiveAddress"));
  const folder = await response.text();
  if (!response.ok) throw new Error(folder);
  if (besideHaft.length === 0) return folder;
  const modules = join(root, "installed", "node_modules");
  cpSync(folder, join(modules, "haft"), { recursive: true });
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { dependencies: object };
  for (const needed of [...Object.keys(dependencies), ...besideHaft]) linkPackage(modules, needed);
  return join(modules, "haft");
}

function watch(child: ChildProcess): Running {
  onTestFinished(() => killChild(child).then(() => undefined));
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = childEnd(child);
  let isOver = false;
  void ended.then(() => (isOver = true));
  return {
    child,
    get stdout() {
      return stdout;
    },
    async printed(text) {
      await until(() => stdout.includes(text) || isOver);
      if (!stdout.includes(text)) throw new Error(`It ended without printing "${text}":\n${stdout}\n${stderr}`);
    },
    type: (line) => void child.stdin?.write(`${line}\n`),
    async end() {
      const { code } = await ended;
      return { code, stdout, stderr };
    },
  };
}
