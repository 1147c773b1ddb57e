import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { loadPackage } from "./load-package.ts";

test("a missing package is named with the command that installs it", () => {
  expect(() => loadPackage("@acme/absent/part", "Describing")).toThrow(
    'Describing needs the package "@acme/absent": npm install @acme/absent',
  );
});

test("an ES module is loaded synchronously", () => {
  expect(loadPackage<{ Compile: unknown }>("typebox/schema", "Testing").Compile).toBeTypeOf("function");
});

describe("in a separate process", () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  let folder: string;

  beforeAll(() => {
    folder = temporaryFolder("haft-schema-");
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const options = "--target es2023 --module nodenext --skipLibCheck --allowImportingTsExtensions --noCheck";
    const emit = `--rewriteRelativeImportExtensions --rootDir ${root} --outDir ${folder} --ignoreConfig`;
    const source = join(root, "src/schema/json-schema-validator.ts");
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [tsc, ...`${options} ${emit}`.split(" "), source]);
  }, 60_000);

  /** Runs `body` with `toSchema` in scope. Returns the loaded packages and the text on stderr. */
  function run(body: string): { packages: string[]; stderr: string } {
    const log = join(folder, "loaded.txt");
    writeFileSync(log, "");
    const hooks = `
      import { appendFileSync } from "node:fs";
      export async function load(url, context, next) {
        appendFileSync(${JSON.stringify(log)}, url + "\\n");
        return next(url, context);
      }`;
    const entry = pathToFileURL(join(folder, "src/schema/json-schema-validator.js")).href;
    const script = `
      import { appendFileSync } from "node:fs";
      import { createRequire, register } from "node:module";
      register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
      const { toSchema } = await import(${JSON.stringify(entry)});
      ${body}
      appendFileSync(${JSON.stringify(log)}, Object.keys(createRequire(import.meta.url).cache).join("\\n"));`;
    const file = join(folder, "script.js");
    const stderrFile = join(folder, "stderr.txt");
    writeFileSync(file, script);
    execFileSync("sh", ["-c", `"${process.execPath}" "${file}" 2> "${stderrFile}"`]);
    const loaded = readFileSync(log, "utf8");
    expect(loaded).toContain("json-schema-validator.js");
    const packages = [...loaded.matchAll(/node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//g)].map((match) => match[1] ?? "");
    return { packages: [...new Set(packages)], stderr: readFileSync(stderrFile, "utf8") };
  }

  test("importing and defining load no package", () => {
    const body = 'toSchema({ type: "object" }); toSchema([{ name: "a", type: "string" }]).jsonSchema;';
    expect(run(body)).toEqual({ packages: [], stderr: "" });
  });

  test("the first validation loads no package either", () => {
    const body = 'if (toSchema({ type: "object" }).validate(1).issues.length !== 1) throw new Error("not validated");';
    expect(run(body)).toEqual({ packages: [], stderr: "" });
  });

  test("a Zod schema is described with its own library only", () => {
    const body = 'const { z } = await import("zod"); toSchema(z.object({ a: z.string() })).jsonSchema;';
    expect(run(body).packages).toEqual(["zod"]);
  });
});
