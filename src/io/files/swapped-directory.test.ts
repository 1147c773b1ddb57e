import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles, type Files } from "./files.ts";
import { createPathPolicy, isPathAllowed } from "./path-policy.ts";

const ROUNDS = process.env["HAFT_FULL"] === "1" ? 20_000 : 1_000;

/** Swaps a folder of the workspace and a link to the outside, as fast as it can, until the flag is set. */
const SWAPPER = `
  const { workerData } = require("node:worker_threads");
  const { renameSync } = require("node:fs");
  const { at, real, link, flags } = workerData;
  const state = new Int32Array(flags);
  const put = (from) => {
    // The name is free for a moment, and the other side may create a folder there.
    for (;;) try { return renameSync(from, at); } catch { renameSync(at, at + "-" + Math.random()); }
  };
  while (Atomics.load(state, 0) === 0) {
    renameSync(at, real);
    put(link);
    renameSync(at, link);
    put(real);
    Atomics.add(state, 1, 1);
  }
`;

// Without paths of descriptors there is a gap before create and unlink (see `anchorByName`).
describe.runIf(process.platform === "linux")("a directory swapped for a link to the outside while it is used", () => {
  let base: string;
  let workspace: string;
  let files: Files;
  let worker: Worker;
  let state: Int32Array;

  beforeEach(async () => {
    base = temporaryFolder("haft-race-");
    workspace = join(base, "ws");
    for (const [folder, content] of [
      ["ws/sub", "INSIDE"],
      ["outside", "SECRET"],
    ] as const) {
      mkdirSync(join(base, folder), { recursive: true });
      writeFileSync(join(base, folder, "b.txt"), content);
      writeFileSync(join(base, folder, "victim.txt"), content);
    }
    symlinkSync("../outside", join(workspace, "link"));
    files = createFiles(createPathPolicy({ workspace }));
    const flags = new SharedArrayBuffer(8);
    state = new Int32Array(flags);
    worker = new Worker(SWAPPER, {
      eval: true,
      workerData: { at: join(workspace, "sub"), real: join(workspace, "real"), link: join(workspace, "link"), flags },
    });
    while (Atomics.load(state, 1) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  });
  afterEach(async () => {
    Atomics.store(state, 0, 1);
    await new Promise((resolve) => worker.once("exit", resolve));
  });

  const outside = () =>
    readdirSync(join(base, "outside"))
      .sort()
      .map((name) => [name, readFileSync(join(base, "outside", name), "utf8")]);
  const untouched = [
    ["b.txt", "SECRET"],
    ["victim.txt", "SECRET"],
  ];
  const race = async (attempt: (round: number) => Promise<unknown>) => {
    const outcomes = { done: 0, refused: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      await attempt(round).then(
        () => (outcomes.done += 1),
        () => (outcomes.refused += 1),
      );
    }
    return outcomes;
  };

  it("defeats a check of the name before the read, so the race is real", () => {
    let escapes = 0;
    for (let round = 0; round < 1_000_000 && escapes === 0; round += 1) {
      try {
        const path = join(workspace, "sub/b.txt");
        if (isPathAllowed(path, [workspace]) && readFileSync(path, "utf8") === "SECRET") escapes += 1;
      } catch {
        // It was between two renames.
      }
    }
    expect(escapes).toBeGreaterThan(0);
  });

  it("never allows a read outside", async () => {
    let escapes = 0;
    const outcomes = await race(async () => {
      if ((await files.readWhole("sub/b.txt")).bytes.toString() === "SECRET") escapes += 1;
    });
    expect(escapes).toBe(0);
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.refused).toBeGreaterThan(0);
  }, 600_000);

  it("never allows a listing or file information outside", async () => {
    writeFileSync(join(base, "outside/only-outside.txt"), "SECRET");
    let escapes = 0;
    await race(async (round) => {
      if (round % 2 === 0) {
        if ((await files.listDirectory("sub")).some(({ name }) => name === "only-outside.txt")) escapes += 1;
      } else if ((await files.info("sub/b.txt")).real.startsWith(join(base, "outside"))) escapes += 1;
    });
    expect(escapes).toBe(0);
  }, 600_000);

  it("never allows a write, a new file or a new folder outside", async () => {
    const outcomes = await race((round) => {
      if (round % 3 === 0) return files.writeFileAtomic("sub/b.txt", Buffer.from("INSIDE"));
      if (round % 3 === 1)
        return files.writeFileAtomic(`sub/new-${round}.txt`, Buffer.from("NEW"), { createParents: false });
      return files.makeDirectories(`sub/folder-${round}/deep`);
    });
    expect(outside()).toEqual(untouched);
    expect(outcomes.done).toBeGreaterThan(0);
  }, 600_000);

  it("never allows a delete or a move outside", async () => {
    const outcomes = await race(async (round) => {
      if (round % 2 === 0) return files.deleteFile("sub/victim.txt");
      writeFileSync(join(workspace, "moving.txt"), "MOVED");
      return files.move("moving.txt", round % 4 === 1 ? "sub/moved.txt" : "sub/victim.txt", {
        overwrite: true,
        createParents: false,
      });
    });
    expect(outside()).toEqual(untouched);
    expect(outcomes.done).toBeGreaterThan(0);
  }, 600_000);
});
