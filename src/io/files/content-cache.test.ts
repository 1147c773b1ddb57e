import { closeSync, openSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { ContentCache } from "./content-cache.ts";
import { openFileOf, type OpenFile } from "./open-file.ts";

const MAX_BYTES = 1024;

/** Opens a real file. Its last change is `ageMs` ago, because no program can set that time. */
function stage(ageMs: number) {
  const path = join(temporaryFolder("haft-content-"), "a.txt");
  const cache = new ContentCache();
  let reads = 0;
  writeFileSync(path, "one");
  const read = async (): Promise<string | undefined> => {
    const fd = openSync(path, "r");
    const file = openFileOf(fd, path);
    const counted: OpenFile = {
      ...file,
      info: { ...file.info, changedMs: file.info.changedMs - ageMs },
      readNow: (buffer, position) => {
        if (position === 0) reads++;
        return file.readNow(buffer, position);
      },
    };
    try {
      return (await cache.read(counted, MAX_BYTES))?.toString();
    } finally {
      closeSync(fd);
    }
  };
  return { path, read, reads: () => reads };
}

test("a file is read once until it changes, even if its time of modification is set back", async () => {
  const { path, read, reads } = stage(60_000);
  const { atime, mtime } = statSync(path);
  expect([await read(), await read(), await read()]).toEqual(["one", "one", "one"]);
  expect(reads()).toBe(1);
  writeFileSync(path, "two");
  utimesSync(path, atime, mtime);
  expect([await read(), await read()]).toEqual(["two", "two"]);
  expect(reads()).toBe(2);
});

test("a file that was changed just now is not kept: it may change again without a new time", async () => {
  const { read, reads } = stage(0);
  expect([await read(), await read()]).toEqual(["one", "one"]);
  expect(reads()).toBe(2);
});

test("a large file is left to the caller", async () => {
  const { path, read } = stage(60_000);
  writeFileSync(path, "x".repeat(MAX_BYTES + 1));
  expect(await read()).toBeUndefined();
});
