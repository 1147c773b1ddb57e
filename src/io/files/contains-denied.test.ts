import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { containsDenied, createPathPolicy } from "./path-policy.ts";

let root: string;

beforeEach(() => {
  root = temporaryFolder("haft-holds-");
  mkdirSync(join(root, "src/deep"), { recursive: true });
  writeFileSync(join(root, "src/deep/a.ts"), "");
});

const holds = (path: string) => containsDenied(createPathPolicy({ workspace: root }), join(root, path));

test("a tree of ordinary files and a file contain nothing denied", () => {
  expect(holds("src")).toBe(false);
  expect(holds("src/deep/a.ts")).toBe(false);
});

test("a secret or a link at any depth is found", () => {
  writeFileSync(join(root, "src/deep/.env"), "");
  expect(holds("src")).toBe(true);
  rmSync(join(root, "src/deep/.env"));
  symlinkSync("/etc", join(root, "src/deep/out"));
  expect(holds("src")).toBe(true);
});

test("a tree with too many entries is treated as containing something denied", () => {
  for (let n = 0; n <= 2000; n++) writeFileSync(join(root, `src/f${n}`), "");
  expect(holds("src")).toBe(true);
});
