import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { readCallInput } from "./call-input.ts";
import type { Terminal } from "./terminal.ts";

let cwd: string;
beforeAll(() => {
  cwd = temporaryFolder("haft-input-");
  writeFileSync(join(cwd, "text.txt"), "héllo\n");
  writeFileSync(join(cwd, "list.json"), "[1, 2]");
  writeFileSync(join(cwd, "bytes"), Buffer.from([0xff, 0xfe]));
});

const read = (words: readonly string[], input?: string) => {
  const stdin = new PassThrough() as unknown as Terminal["stdin"] & PassThrough;
  stdin.end(input ?? "");
  return readCallInput(words, { stdin, cwd });
};

test("a text stays as it is written, and JSON is what it says", async () => {
  expect(await read(["a=007", "b=x=y", "c=", "d:=007".replace("007", "7"), 'e:={"f": [true]}', "g:=null"])).toEqual({
    a: "007",
    b: "x=y",
    c: "",
    d: 7,
    e: { f: [true] },
    g: null,
  });
});

test("a key that is said twice is a list, whatever its values are", async () => {
  expect(await read(["a=x", "a:=1", "a=z", "b:=[1]", "b:=[2]", "c:=[1]"])).toEqual({
    a: ["x", 1, "z"],
    b: [[1], [2]],
    c: [1],
  });
});

test("files and stdin are read whole, as text or as JSON", async () => {
  expect(await read(["a=@text.txt", "b:=@list.json", "c=@-"], "from stdin\n")).toEqual({
    a: "héllo\n",
    b: [1, 2],
    c: "from stdin\n",
  });
  expect(await read(["-", "a=over"], '{"a": "under", "b": 1}')).toEqual({ a: "over", b: 1 });
});

test("names that every object has are names like any other", async () => {
  const input = await read(["__proto__=x", "constructor=y"]);
  expect(Object.keys(input)).toEqual(["__proto__", "constructor"]);
  expect(({} as { x?: unknown }).x).toBeUndefined();
});

test.each([
  [["word"], "not an argument"],
  [["=x"], "not an argument"],
  [["a:={"], "not JSON"],
  [["a=@missing"], "cannot be read"],
  [["a=@bytes"], "UTF-8"],
  [["-"], "not JSON"],
])("%j is refused before anything is opened", async (words, why) => {
  await expect(read(words)).rejects.toThrow(why);
});

test("what is too long, or is typed at a terminal, is not waited for", async () => {
  await expect(read(["a=@-"], "x".repeat(4 * 1024 * 1024 + 1))).rejects.toThrow("4 MB");
  const stdin = { isTTY: true } as Terminal["stdin"];
  await expect(readCallInput(["-"], { stdin, cwd })).rejects.toThrow("terminal");
  await expect(read(["-"], "[1]")).rejects.toThrow("object");
});
