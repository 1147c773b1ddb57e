import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { FOREIGN_PLACES } from "./foreign/foreign-files.ts";

test("the guide about other programs names every file that is read", () => {
  const guide = readFileSync(new URL("../../docs/guides/import-configuration.md", import.meta.url), "utf8");
  for (const { path } of FOREIGN_PLACES) expect(guide).toContain(basename(path));
});
