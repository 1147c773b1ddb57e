import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { findDeniedFiles } from "./denied-programs.ts";

function programs(): { bin: string; find(name: string): ReturnType<typeof findDeniedFiles> } {
  const bin = join(temporaryFolder(), "bin");
  mkdirSync(bin);
  return { bin, find: (name) => findDeniedFiles([name], bin) };
}

test("finds the file of a program, the file behind a link with a longer name, and a program by its path", () => {
  const { bin, find } = programs();
  for (const name of ["haft-a", "haft-b3.11", "haft-c-cli.js"]) writeFileSync(join(bin, name), "");
  symlinkSync("haft-b3.11", join(bin, "haft-b3"));
  symlinkSync("haft-c-cli.js", join(bin, "haft-c"));
  expect(find("haft-a")).toEqual({ paths: [join(bin, "haft-a")], shared: [] });
  expect(find("haft-b3").paths).toEqual([join(bin, "haft-b3.11")]);
  expect(find("haft-c").paths).toEqual([join(bin, "haft-c-cli.js")]);
  expect(find(join(bin, "haft-a")).paths).toEqual([join(bin, "haft-a")]);
  expect(find("haft-none")).toEqual({ paths: [], shared: [] });
  expect(find("./haft-a")).toEqual({ paths: [], shared: [] });
});

test("finds hard links of the same program, and leaves a file alone that is several programs", () => {
  const { bin, find } = programs();
  writeFileSync(join(bin, "haft-a"), "");
  linkSync(join(bin, "haft-a"), join(bin, "haft-a-1.2"));
  writeFileSync(join(bin, "haft-box"), "");
  symlinkSync("haft-box", join(bin, "haft-touch"));
  writeFileSync(join(bin, "haft-one"), "");
  linkSync(join(bin, "haft-one"), join(bin, "haft-two"));
  expect(find("haft-a").paths.sort()).toEqual([join(bin, "haft-a"), join(bin, "haft-a-1.2")]);
  expect(find("haft-touch")).toEqual({ paths: [], shared: ["haft-touch"] });
  expect(find("haft-one")).toEqual({ paths: [], shared: ["haft-one"] });
});
