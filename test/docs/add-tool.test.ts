// CONTRIBUTING, "Adding a tool", followed in a copy of the repository: two files and a command, and everything knows the tool.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const LIST = "src/tools/tool-families.ts";
const TABLE = "src/tools/built-in-tools.ts";
const LEFT_OUT = new Set(["node_modules", ".git", "dist", "coverage"]);

/** The test of the newcomer. */
const PROBE = `
import { expect, onTestFinished, test } from "vitest";
import { openConfigFolders } from "../../config/config-folders.fixture.ts";
import { isToolAllowedByPolicy } from "../../gate/permit/tool-policy.ts";
import { openHaft } from "../../host.ts";
import { createDirectClient } from "../../api/direct-client.ts";
import { HostApi } from "../../api/host-api.ts";
import { contracts } from "../../contracts/index.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createCountWordsTool } from "./count-words.ts";

test("the new tool keeps the contract, and every part knows it", async () => {
  await testTool(createCountWordsTool(), { badInputs: [{}] });
  expect(isToolAllowedByPolicy("count_words", { profile: "coding" })).toBe(true);
  const { folder, home, env, stateFolder } = openConfigFolders({});
  const host = await openHaft(folder, { home, env, stateFolder, isShortLived: true });
  onTestFinished(() => host.close());
  expect(await host.haft.execute("count_words", { text: "a b c" })).toMatchObject({ details: { words: 3 } });
  const api = new HostApi(host, { info: { workspace: folder } });
  onTestFinished(() => api.close());
  const identity = { id: "1", name: "ann", scopes: ["read"], kind: "token" } as const;
  const client = createDirectClient(contracts, { identity, handlersOf: api.handlersOf });
  expect(await client.tools.get("count_words")).toMatchObject({
    groups: ["group:data"],
    translations: { zh: { title: "统计词数" } },
  });
});
`;

test("a tool is two files", { timeout: 600_000 }, () => {
  const root = join(temporaryFolder("haft-newcomer-"), "haft");
  cpSync(ROOT, root, { recursive: true, filter: (path) => path === ROOT || !LEFT_OUT.has(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"), "junction");
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const run = (command: string, ...parameters: string[]) => {
    const env = { ...process.env, NO_COLOR: "1", HAFT_TESTS: undefined };
    const { status, stdout, stderr } = spawnSync(command, parameters, { cwd: root, env, encoding: "utf8" });
    return { status, output: `${stdout}${stderr}` };
  };
  const vitest = (...files: string[]) =>
    run(process.execPath, join(root, "node_modules/vitest/vitest.mjs"), "run", ...files);

  const [, path = "", code = ""] = /^```ts no-check: .*\n\/\/ (src\/tools\/\S+\.ts)\n([^]*?)^```$/m.exec(
    read("CONTRIBUTING.md"),
  )!;
  expect(existsSync(join(root, path))).toBe(false);
  writeFileSync(join(root, path), code);
  const listed = read(LIST)
    .replace("return [", "return [createCountWordsTool(), ")
    .replace("\n", '\nimport { createCountWordsTool } from "./data/count-words.ts";\n');
  writeFileSync(join(root, LIST), listed);

  const forgotten = vitest("test/built-in-tools.test.ts");
  expect(forgotten.output).toContain("Run `npm run tools:update`");
  expect(run("npm", "run", "tools:update")).toMatchObject({ status: 0 });
  expect(read(TABLE)).toContain("count_words");

  writeFileSync(join(root, path.replace(/\.ts$/, ".test.ts")), PROBE);
  const types = run("npm", "run", "check:types");
  expect(types.status, types.output).toBe(0);
  const tests = vitest(
    ...["src/tools/data/count-words.test.ts", "src/gate/permit/tool-groups.test.ts", "test/architecture"],
    ...["test/built-in-tools.test.ts", "test/mcp/output-schemas.test.ts"],
  );
  expect(tests.status, tests.output).toBe(0);
});
