import { expect, test } from "vitest";
import { CallTable } from "./call-table.ts";
import { seatbeltCommand } from "./engines.ts";

const ADDRESS = 0x1000000000n;
const ENTRY = 72;

test("a table is a list of entries of 72 bytes, then the data at known addresses", () => {
  const table = new CallTable();
  const text = table.text("abc");
  const words = table.words(1, 2n);
  table.call(56, [-100, text, words.plus(8)], { store: words, skipOnError: 2 });
  table.call(3, [4]);
  const bytes = table.build();
  const data = 3 * ENTRY;
  expect(bytes.readBigInt64LE(0)).toBe(56n);
  expect(bytes.readBigInt64LE(8)).toBe(-100n);
  expect(bytes.readBigUInt64LE(16)).toBe(ADDRESS + BigInt(data));
  expect(bytes.readBigUInt64LE(24), "aligned to 8 bytes").toBe(ADDRESS + BigInt(data + 8 + 8));
  expect(bytes.readBigUInt64LE(56), "where the result goes").toBe(ADDRESS + BigInt(data + 8));
  expect(bytes.readBigInt64LE(64), "entries skipped on an error").toBe(2n);
  expect(bytes.readBigInt64LE(ENTRY + 64), "an error stops").toBe(-1n);
  expect(bytes.readBigInt64LE(2 * ENTRY), "the last entry executes the command").toBe(-1n);
  expect(bytes.subarray(data, data + 4).toString()).toBe("abc\0");
});

test("a text is stored once, and pointers in the data are resolved", () => {
  const table = new CallTable();
  expect(table.text("same")).toBe(table.text("same"));
  const inner = table.data(Buffer.from([7]));
  table.data(Buffer.alloc(16), [[8, inner]]);
  const bytes = table.build();
  const target = Number(bytes.readBigUInt64LE(ENTRY + 16 + 8) - ADDRESS);
  expect(bytes[target]).toBe(7);
  expect(() => table.text("a\0b")).toThrow(/zero byte/);
});

test("a call that must fail is followed by one that stops the launcher if it does not", () => {
  const table = new CallTable();
  table.refuse(56, [1], 3);
  const bytes = table.build();
  expect(bytes.readBigInt64LE(64), "a failure skips the next entry").toBe(1n);
  expect(bytes.readBigInt64LE(ENTRY + 8), "close(-1) always fails").toBe(-1n);
  expect(bytes.readBigInt64LE(ENTRY + 64)).toBe(-1n);
});

test("a profile for macOS denies after it allows: the last rule decides (not tested on macOS)", () => {
  const [program, option, profile = ""] = seatbeltCommand({
    ...{ read: ["/a"], write: ["/work"], readOnly: ["/work/.git/hooks"], closed: ["/work/.env"], network: false },
  });
  expect([program, option]).toEqual(["/usr/bin/sandbox-exec", "-p"]);
  const lines = profile.split("\n");
  const place = (line: string): number => lines.indexOf(line);
  expect(place("(deny default)")).toBe(1);
  expect(place('(deny file-write* (subpath "/work/.git/hooks"))')).toBeGreaterThan(
    place('(allow file-read* file-write* (subpath "/work"))'),
  );
  expect(place('(deny file-read* file-write* process-exec (subpath "/work/.env"))')).toBe(lines.length - 1);
  expect(profile).not.toContain("network");
});
