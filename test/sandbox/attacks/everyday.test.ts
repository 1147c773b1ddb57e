// Everyday commands behave the same confined and unconfined. npm test compares a part of them.
import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  constants,
  cpSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFiles } from "../../../src/io/files/files.ts";
import { createPathPolicy } from "../../../src/io/files/path-policy.ts";
import { type ConfinementProfile, openSandbox } from "../../../src/io/sandbox/sandbox.ts";
import { machineEngines } from "../../../src/io/sandbox/self-test.ts";
import { outputFolder } from "../../../src/io/shell/output-folder.ts";
import { canRun } from "../../setup/requirements.ts";
import { isInstalled } from "./is-installed.ts";
import { type EverydayCommand, READING, WRITING } from "./lists/everyday.ts";

const IS_FULL = process.env["HAFT_FULL"] === "1";
const { look, work, tests } = machineEngines();
const missing = look && work ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;

const listed = (list: readonly (EverydayCommand | string)[], every: number): EverydayCommand[] =>
  list
    .map((one) => (typeof one === "string" ? { run: one } : one))
    .filter(({ needs = [] }) => needs.every((program) => isInstalled(program)))
    .filter((_one, index) => IS_FULL || index % every === 0);

interface Ended {
  code: number | null;
  signal: string | null;
  output: string;
}

describe.runIf(canRun("sandbox", missing))("an everyday command", () => {
  let base: string;

  beforeAll(() => {
    base = realpathSync(mkdtempSync("/var/tmp/haft-everyday-"));
    const template = join(base, "template");
    mkdirSync(join(base, "home"));
    mkdirSync(join(template, "src"), { recursive: true });
    const scripts = {
      build: "node -p '\"built\"' > built.txt && cat built.txt",
      test: "node --test --test-reporter=tap tests.mjs > t; echo $?",
    };
    const files = {
      "README.md": "one line\nanother line\nlast\n",
      "src/a.ts": "export const a = 1;\n",
      "src/b.ts": "export const b = 2;\n",
      "package.json": JSON.stringify({ name: "everyday", version: "1.0.0", scripts }),
      "tests.mjs": "import test from 'node:test';\ntest('x', () => {});\n",
      "script.py": "x = 1\n",
      "build.sh": "#!/bin/sh\necho built\n",
      Makefile: "all:\n\t@echo made > made.txt\n\t@cat made.txt\n",
      ".env": "KEY=value\n",
      ".gitignore": ".env\n",
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(template, name), content);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: template });
    git("init", "-q", "-b", "main");
    git("add", "-A");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first");
  });

  afterAll(() => rmSync(base, { recursive: true, force: true }));

  /** Its output goes to a file without a name, as that of `exec`. */
  async function run(command: string, profile: ConfinementProfile | "unconfined"): Promise<Ended> {
    const workspace = join(base, "workspace");
    rmSync(workspace, { recursive: true, force: true });
    cpSync(join(base, "template"), workspace, { recursive: true, preserveTimestamps: true });
    const files = createFiles(createPathPolicy({ workspace }));
    // The npm settings of the user are a secret, and npm says so if it can read them.
    const home = join(base, "home");
    const sandbox = openSandbox({ files, home });
    const shell = ["/bin/bash", "-c", command];
    const path = join(outputFolder() ?? tmpdir(), randomUUID());
    const output = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    unlinkSync(path);
    try {
      const options = { cwd: workspace, terminal: false };
      const confined = profile === "unconfined" ? undefined : await sandbox.confine(profile, shell, options);
      const [program = "", ...args] = confined?.command ?? shell;
      const env = {
        PATH: process.env["PATH"],
        HOME: home,
        LANG: "C.UTF-8",
        npm_config_update_notifier: "false",
        ...confined?.env,
      };
      const child = spawn(program, args, { cwd: workspace, env, stdio: ["ignore", output, output], detached: true });
      const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
        child.once("error", reject).once("exit", (...ended) => resolve(ended));
      });
      await confined?.finish();
      const bytes = Buffer.alloc(fstatSync(output).size);
      readSync(output, bytes, 0, bytes.length, 0);
      return { code, signal, output: bytes.toString("utf8") };
    } finally {
      closeSync(output);
      sandbox.close();
    }
  }

  describe.each([
    ["look", listed(READING, 12)],
    ["work", listed(WRITING, 9)],
  ] as const)("in %s", (profile, commands) => {
    test.each(commands)("$run", async ({ run: command, otherOutput, refused }) => {
      const bare = await run(command, "unconfined");
      const confined = await run(command, profile);
      const status = ({ code, signal }: Ended) => ({ code, signal });
      const isRefused = bare.code === 0 && confined.code !== 0;
      expect(isRefused, `${refused ?? "the same exit code"}: ${confined.output}`).toBe(refused !== undefined);
      const same = refused === undefined ? status(bare) : status(confined);
      expect(status(confined), confined.output).toEqual(same);
      const hasOtherOutput = refused !== undefined || otherOutput !== undefined;
      expect(confined.output).toBe(hasOtherOutput ? confined.output : bare.output);
    });
  });
});
