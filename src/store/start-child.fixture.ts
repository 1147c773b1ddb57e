import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { onTestFinished } from "vitest";
import { childEnd } from "../../test/setup/child-end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Other processes on the same store. A child needs plain JavaScript: what it imports is bundled, once a test file. */
export interface TestChildren {
  /** A module that may import `haft` (createHaft, createTool) and `store` (openStore) from the bundle beside it. */
  start(source: string, parameters?: readonly string[], env?: Readonly<Record<string, string>>): TestChild;
  remove(): void;
}

export interface TestChild {
  process: ChildProcess;
  /** What it has printed so far, in lines; a line that a kill cut off is not one. */
  lines(): string[];
  /** Resolves when a line with this text was printed; rejects when the child ends before. */
  waitForOutput(text: string): Promise<void>;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>;
}

/** `entries`: further files of src that a child may import from `./bundle/NAME.js`. */
export async function prepareChildren(entries: Readonly<Record<string, string>> = {}): Promise<TestChildren> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-children-")));
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  mkdirSync(join(folder, "bundle"));
  const bundle = await rolldown({
    input: {
      haft: join(ROOT, "src/index.ts"),
      store: join(ROOT, "src/store/store.ts"),
      ...Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(ROOT, "src", file)])),
    },
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
  });
  await bundle.write({ dir: join(folder, "bundle"), format: "esm", entryFileNames: "[name].js" });
  await bundle.close();
  let count = 0;
  return {
    start(source, parameters = [], env = {}) {
      const file = join(folder, `child-${++count}.js`);
      const imports = `import { createHaft, createTool } from "./bundle/haft.js"; import { openStore } from "./bundle/store.js";`;
      writeFileSync(file, `${imports}\nconst say = (line) => process.stdout.write(line + "\\n");\n${source}`);
      return watch(spawn(process.execPath, [file, ...parameters], { stdio: "pipe", env: { ...process.env, ...env } }));
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function watch(child: ChildProcess): TestChild {
  // Also if the test fails: a child that is left goes on working on its store.
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let errors = "";
  child.stdout!.setEncoding("utf8").on("data", (text: string) => void (output += text));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => void (errors += text));
  const ended = childEnd(child).then((end) => ({ ...end, errors }));
  const lines = (): string[] => output.split("\n").slice(0, -1);
  return {
    process: child,
    lines,
    ended,
    waitForOutput: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (lines().some((line) => line.includes(text))) resolve();
        };
        child.stdout!.on("data", look);
        look();
        void ended.then(() => reject(new Error(`The child ended without saying "${text}":\n${errors}`)));
      }),
  };
}
