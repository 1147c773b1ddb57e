// A tree of 50,000 source files to search in, made anew for each run, and ripgrep alone to compare with.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rgPath } from "@vscode/ripgrep";
import { DIST, SMOKE } from "./harness.mjs";

const FOLDERS = SMOKE ? 20 : 1000;
const FILES_A_FOLDER = 50;
const EXTENSIONS = ["ts", "d.ts", "js", "json", "md"];

/** Half of the files hold "import", 50 hold "rareNeedle". */
export function plantTree() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "haft-bench-")));
  const line = (i) => `export const value${i} = compute(${i * 7}, "text ${i % 97}") ?? fallback[${i % 13}];\n`;
  const text = Buffer.from(Array.from({ length: 1000 }, (_, i) => line(i)).join(""));
  const imports = Buffer.from('import { compute, fallback } from "./compute.js";\n'.repeat(3));
  const needle = Buffer.from("const rareNeedle = 1;\n");
  for (let folder = 0; folder < FOLDERS; folder++) {
    const path = join(root, `packages/p${folder % 25}/src/m${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_A_FOLDER; file++) {
      const id = folder * FILES_A_FOLDER + file;
      const from = (id * 131) % 20_000;
      const body = text.subarray(from, from + 1_000 + ((id * 977) % 16_000));
      const parts = [...(id % 2 ? [imports] : []), body, ...(id % 1000 === 0 ? [needle] : [])];
      writeFileSync(join(path, `file${file}.${EXTENSIONS[id % EXTENSIONS.length]}`), Buffer.concat(parts));
    }
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** Runs ripgrep alone and reads its output to the end. */
export function ripgrepAlone(root, ...options) {
  return new Promise((resolve, reject) => {
    const child = spawn(rgPath, ["--no-config", "--hidden", ...options, "./"], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.resume();
    child.on("error", reject);
    child.on("close", resolve);
  });
}

/** A runtime with the search tools over a folder. */
export async function openSearch(root, engine) {
  const load = (file) => import(pathToFileURL(join(DIST, file)).href);
  const [{ createHaft }, { createFiles }, { createPathPolicy }, { createSearchTools }, { createRipgrep }] =
    await Promise.all(
      [
        "runtime.js",
        "io/files/files.js",
        "io/files/path-policy.js",
        "tools/tool-families.js",
        "tools/search/ripgrep.js",
      ].map(load),
    );
  const files = createFiles(createPathPolicy({ workspace: root }));
  const haft = createHaft({ folder: root, tools: createSearchTools({ files, ripgrep: createRipgrep({ engine }) }) });
  return async (name, input) => {
    const result = await haft.execute(name, input);
    if (!result.success) throw new Error(result.error.message);
    return result;
  };
}

/** Wall time, because most of it is spent in another process. */
export async function wallMs(work) {
  const before = performance.now();
  await work();
  return performance.now() - before;
}
