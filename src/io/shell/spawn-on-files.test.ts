import { execPath } from "node:process";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { fstatSync, readdirSync, readlinkSync } from "node:fs";
import { createFiles } from "../files/files.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { OutputOptions } from "./output-buffer.ts";
import { ProcessTable } from "./process-table.ts";
import { readProcess } from "./process-tree.ts";
import { startProcess } from "./run-process.ts";
import { shellEnvironment } from "./shell-environment.ts";

const env = shellEnvironment({ host: process.env });
const cwd = temporaryFolder("haft-files-");

const MIB = 1024 * 1024;
const ROOMY: OutputOptions = { maxBytes: 64 * MIB, separateStreams: true };

/** Programs that write `bytes` to each stream and end at once. */
const ENDINGS = {
  "a Node program that calls process.exit": (bytes: number) =>
    node(`process.stdout.write("o".repeat(${bytes})); process.stderr.write("e".repeat(${bytes})); process.exit(1)`),
  "a Node program that prints lines and calls process.exit": (bytes: number) =>
    node(
      `for (let i = 0; i < ${bytes / 64}; i++) { console.log("o".repeat(63)); console.error("e".repeat(63)); } process.exit(1)`,
    ),
  "a Node program that kills itself": (bytes: number) =>
    node(
      `process.stdout.write("o".repeat(${bytes})); process.stderr.write("e".repeat(${bytes})); process.kill(process.pid, "SIGKILL")`,
    ),
  "a shell program": (bytes: number) => [
    "sh",
    "-c",
    `head -c ${bytes} /dev/zero | tr '\\0' o; head -c ${bytes} /dev/zero | tr '\\0' e >&2; exit 1`,
  ],
  "a child that outlives its parent": (bytes: number) => [
    "sh",
    "-c",
    `(sleep 0.05; head -c ${bytes} /dev/zero | tr '\\0' o; head -c ${bytes} /dev/zero | tr '\\0' e >&2) & exit 1`,
  ],
};

function node(script: string): string[] {
  return [execPath, "-e", script];
}

const sandbox = openSandbox({ files: createFiles(createPathPolicy({ workspace: cwd })) });

describe.each(Object.entries(ENDINGS))("the output of %s is complete", (_, program) => {
  test.each([65_600, 352_064])("with %i bytes", async (bytes) => {
    const running = await startProcess({ argv: program(bytes), cwd, env, output: ROOMY, drainMs: 5000 });
    expect(await running.wait()).toMatchObject({ leftBehind: false });
    const { stdout, stderr, omittedBytes } = running.output.snapshot();
    expect(omittedBytes).toBe(0);
    expect(countOf(stdout?.head, "o")).toBe(bytes);
    expect(countOf(stderr?.head, "e")).toBe(bytes);
  });
});

/** Length of a text that must consist of this letter and line ends. */
function countOf(found: string | undefined, letter: string): number | undefined {
  return found !== undefined && new RegExp(`^[${letter}\n]*$`).test(found) ? found.length : undefined;
}

describe("large output", () => {
  const program = ENDINGS["a Node program that calls process.exit"];

  test.runIf(sandbox.engines.work).each(["look", "work"] as const)(
    "of a program in %s is complete",
    async (profile) => {
      const { command: argv } = await sandbox.confine(profile, program(10 * MIB), { cwd, terminal: false });
      const running = await startProcess({ argv, cwd, env, output: ROOMY });
      await running.wait();
      expect(countOf(running.output.snapshot().stdout?.head, "o")).toBe(10 * MIB);
      expect(countOf(running.output.snapshot().stderr?.head, "e")).toBe(10 * MIB);
    },
  );

  test("of a background process is complete", async () => {
    const table = new ProcessTable();
    const { id } = await table.start("me", { argv: program(10 * MIB), cwd, env, output: ROOMY });
    const polled = await table.poll("me", id, { until: "exit", waitMs: 60_000 });
    expect(polled).toMatchObject({ running: false, totalBytes: 20 * MIB, missedBytes: 0 });
    await table.shutdown();
  });

  test("beyond the memory goes to the spill without a gap", async () => {
    const chunks: Buffer[] = [];
    const openSpill = () => ({
      write: (chunk: Buffer) => void chunks.push(chunk),
      close: async () => ({ ref: "spill" }),
    });
    const running = await startProcess({ argv: program(10 * MIB), cwd, env, output: { maxBytes: MIB, openSpill } });
    await running.wait();
    expect(Buffer.concat(chunks).length).toBe(20 * MIB);
  });

  test("does not fill the disk: the file is emptied while the program waits", async () => {
    const running = await startProcess({ shellCommand: "head -c 400000000 /dev/zero; echo end", cwd, env });
    let largest = 0;
    running.output.subscribe(
      () =>
        (largest = Math.max(
          largest,
          fileSizes().reduce((a, b) => a + b, 0),
        )),
    );
    expect(await running.wait()).toMatchObject({ exitCode: 0 });
    expect(running.output.totalBytes).toBe(400_000_004);
    expect(running.output.snapshot().tail.endsWith("\0end\n")).toBe(true);
    expect(largest).toBeGreaterThan(0);
    expect(largest).toBeLessThan(350_000_000);
  });

  test("of a child that was left behind does not fill the disk", async () => {
    const running = await startProcess({ shellCommand: "yes & sleep 0.5", cwd, env });
    expect(await running.wait()).toMatchObject({ leftBehind: true });
    await running.kill();
    await expect.poll(() => fileSizes().length).toBe(0);
  });
});

/** Sizes of the output files that this process has open. */
function fileSizes(): number[] {
  const descriptors = readdirSync("/proc/self/fd").map(Number);
  return descriptors.flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).includes("/haft-output-") ? [fstatSync(descriptor).size] : [];
    } catch {
      return [];
    }
  });
}

test("a program that opens /dev/stderr is not refused, and lost output is reported", async () => {
  const started = await startProcess({
    shellCommand: "echo one >&2; echo two > /dev/stderr; echo three >&2",
    cwd,
    env,
    output: ROOMY,
  });
  expect(await started.wait()).toMatchObject({ exitCode: 0 });
  expect(started.output.snapshot().stderr?.head).toContain("two\nthree\n");
  expect(started.outputEmptied).toBe(true);
  const other = await startProcess({ shellCommand: "echo one >&2; echo two >> /dev/stderr", cwd, env, output: ROOMY });
  await other.wait();
  expect(other.output.snapshot().stderr?.head).toBe("one\ntwo\n");
  expect(other.outputEmptied).toBe(false);
});

test("a background child that has closed other descriptors or left the group counts as left behind", async () => {
  for (const command of ["(exec 20>&-; exec sleep 300) & echo pid:$!", "setsid sleep 300 & echo pid:$!"]) {
    const running = await startProcess({ shellCommand: command, cwd, env });
    expect(await running.wait()).toMatchObject({ leftBehind: true });
    const pid = Number(/pid:(\d+)/.exec(running.output.snapshot().head)?.[1]);
    expect(readProcess(pid)?.zombie).toBe(false);
    await running.kill();
  }
});

test("a finished command leaves no file open", async () => {
  for (let run = 0; run < 20; run++) await (await startProcess({ shellCommand: "echo hi", cwd, env })).wait();
  await expect.poll(() => fileSizes().length).toBe(0);
});
