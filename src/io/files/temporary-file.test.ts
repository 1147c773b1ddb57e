import { linkSync, lstatSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles, type Files } from "./files.ts";
import { createPathPolicy } from "./path-policy.ts";
import { isTemporaryName, temporaryName } from "./temporary-file.ts";

/** Larger than any process id. */
const GONE = 2 ** 22 + 1;
const HOUR_MS = 3_600_000;

let workspace: string;
let files: Files;
let now: number;

beforeEach(() => {
  workspace = temporaryFolder("haft-temp-");
  now = Date.now();
  files = createFiles(createPathPolicy({ workspace }), { clock: () => now });
  writeFileSync(join(workspace, "a.txt"), "old");
});

const put = (name: string, ageMs: number) => {
  writeFileSync(join(workspace, name), "");
  utimesSync(join(workspace, name), (now - ageMs) / 1000, (now - ageMs) / 1000);
};
const write = () => files.writeFileAtomic("a.txt", Buffer.from("new"));
const others = () =>
  readdirSync(workspace)
    .filter((name) => name !== "a.txt")
    .sort();

describe("temporary files", () => {
  it("are recognised by their names", () => {
    expect(isTemporaryName(temporaryName())).toBe(true);
    expect(
      [".haft-tmp-mine", "x.haft-tmp-1-0123456789abcdef", ".haft-tmp-1-0123456789abcdeg"].some(isTemporaryName),
    ).toBe(false);
  });

  it("of killed writers are removed by a later write in the same folder", async () => {
    const young = `.haft-tmp-${GONE}-1111111111111111`;
    const alive = `.haft-tmp-${process.pid}-2222222222222222`;
    put(young, HOUR_MS / 2);
    put(alive, 2 * HOUR_MS);
    put(".haft-tmp-mine", 50 * HOUR_MS);
    put(`.haft-tmp-${GONE}-3333333333333333`, 2 * HOUR_MS);
    put(`.haft-tmp-${process.pid}-4444444444444444`, 25 * HOUR_MS);
    await write();
    expect(others()).toEqual([young, alive, ".haft-tmp-mine"].sort());
  });

  it("are cleaned at most once an hour in a folder", async () => {
    await write();
    put(`.haft-tmp-${GONE}-3333333333333333`, 2 * HOUR_MS);
    await write();
    expect(others()).toHaveLength(1);
    now += HOUR_MS;
    await write();
    expect(others()).toEqual([]);
  });

  it("that are a second name of a file do not make it look shared forever", async () => {
    linkSync(join(workspace, "a.txt"), join(workspace, `.haft-tmp-${GONE}-0123456789abcdef`));
    await write();
    expect(lstatSync(join(workspace, "a.txt")).nlink).toBe(1);
    expect(others()).toEqual([]);
  });
});
