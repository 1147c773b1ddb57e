import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { installArchive } from "../../scripts/install-archive.mjs";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// A program that installed Haft and @types/node, without the optional and peer packages of Haft, and checks all types.
const folder = temporaryFolder("haft-types-");

let entryCount = 0;

beforeAll(async () => {
  const installed = await installArchive(folder, ["@types/node"]);
  const { exports, optionalDependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    exports: Record<string, string | object>;
    optionalDependencies: Record<string, string>;
  };
  for (const name of Object.keys(optionalDependencies)) rmSync(join(folder, "node_modules", name));
  const entries = Object.entries(exports).flatMap(([path, entry]) => (typeof entry === "object" ? [path] : []));
  const imports = entries.map((path, at) => `import * as entry${at} from "haft${path.slice(1)}";`);
  const uses = `console.log(${entries.map((_path, at) => `entry${at}`).join(", ")});`;
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "program.ts"), [...imports, uses].join("\n"));
  entryCount = entries.length;
}, 600_000);

test.each([
  ["nodenext", "nodenext"],
  ["bundler", "esnext"],
])(
  "every entry has types that need no optional package, with moduleResolution %s",
  (moduleResolution, module) => {
    const compilerOptions = { moduleResolution, module, target: "es2023", strict: true, noEmit: true, types: ["node"] };
    const config = join(folder, `tsconfig.${moduleResolution}.json`);
    const options = { ...compilerOptions, skipLibCheck: false };
    writeFileSync(config, JSON.stringify({ compilerOptions: options, files: ["program.ts"] }));
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    let problems = "";
    try {
      execFileSync(process.execPath, [compiler, "-p", config], { cwd: folder, encoding: "utf8" });
    } catch (error) {
      problems = (error as { stdout: string }).stdout;
    }
    expect(problems).toBe("");
    expect(entryCount).toBeGreaterThan(8);
  },
  60_000,
);
