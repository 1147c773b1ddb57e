import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { realName, resolveLinks } from "./path-name.ts";

const base = temporaryFolder("haft-real-name-");
mkdirSync(join(base, "folder/inner"), { recursive: true });
writeFileSync(join(base, "folder/file"), "");
symlinkSync("folder", join(base, "to-folder"));
symlinkSync("folder/file", join(base, "to-file"));
symlinkSync("elsewhere/new", join(base, "dangling"));
symlinkSync("loop", join(base, "loop"));

test.each([
  "folder/file",
  "to-folder/file",
  "to-folder/inner/../file",
  "to-file",
  "folder/new",
  "to-folder/new/deeper",
  "dangling",
  "dangling/below",
  "to-file/below",
  "nothing/at/all",
])("%s resolves like following each link", (path) => {
  const absolute = join(base, path);
  expect(realName(absolute)).toBe(resolveLinks(absolute));
});

test("the root is itself, and a loop stays as written", () => {
  expect(realName("/")).toBe("/");
  expect(realName("/no-such-folder-here/x")).toBe("/no-such-folder-here/x");
  expect(realName(join(base, "loop"))).toBe(join(base, "loop"));
});
