// Type-checks every ```ts example of the documents against src/, and with `--run` executes those marked `ts run` against
// dist/. An error is reported at its line of the Markdown file. `--root FOLDER` reads the documents of another folder.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { readFences } from "./read-fences.mjs";
import { ROOT } from "./root.mjs";
import { findTool } from "./run-tool.mjs";
import { useTemporaryState } from "./temporary-state.mjs";

useTemporaryState();

const RUN_LIMIT_MS = 60_000;

const { values } = parseArgs({ options: { run: { type: "boolean" }, root: { type: "string" } } });
process.exitCode = checkDocuments({ documents: resolve(values.root ?? ROOT), run: values.run ?? false });

function checkDocuments({ documents, run }) {
  // Inside the repository, so that the examples find the packages a reader would have installed.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "doc-examples-"));
  try {
    const examples = readExamples(documents);
    const problems = examples
      .filter(({ mode }) => mode === "error")
      .map((each) => `${placeOf(each, 1)} ${each.problem}`);
    const checked = examples.filter(({ mode }) => mode !== "error");
    problems.push(...typeCheck(checked, join(folder, "check")));
    const executed = run ? checked.filter(({ mode }) => mode === "run") : [];
    if (problems.length === 0) problems.push(...execute(executed, join(folder, "run")));
    for (const problem of problems) process.stderr.write(`${problem}\n`);
    const files = new Set(examples.map(({ file }) => file)).size;
    process.stdout.write(
      `${checked.length} examples in ${files} documents type-checked, ${executed.length} executed, ${problems.length} problems\n`,
    );
    return problems.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readExamples(documents) {
  const examples = [];
  for (const file of listDocuments(documents)) {
    const fences = readFences(readFileSync(join(documents, file), "utf8"));
    for (const [index, fence] of fences.entries()) {
      examples.push({ ...fence, file, name: `${file.replace(/[^\w]+/g, "-")}-${index + 1}` });
    }
  }
  return examples;
}

function listDocuments(documents) {
  const inDocs = existsSync(join(documents, "docs")) ? readdirSync(join(documents, "docs"), { recursive: true }) : [];
  return ["README.md", "README.zh-CN.md", ...inDocs.map((name) => join("docs", String(name)))]
    .filter((name) => name.endsWith(".md") && existsSync(join(documents, name)))
    .map((name) => name.split(sep).join("/"))
    .sort();
}

function placeOf(example, line, column = 1) {
  return `${example.file}:${example.line + line - 1}:${column + example.column}`;
}

function typeCheck(examples, folder) {
  if (examples.length === 0) return [];
  write(examples, folder, { noEmit: true, paths: readSourcePaths(folder) });
  const { status, output } = compile(folder);
  const problems = translate(output, examples);
  // A failure without a line of its own (a wrong setting, a missing compiler) must not pass for success.
  return status !== 0 && problems.length === 0 ? [output.trim() || `the compiler ended with ${status}`] : problems;
}

function readSourcePaths(folder) {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const paths = {};
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target !== "object") continue;
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    paths[subpath.replace(/^\./, "haft")] = [toRelative(folder, join(ROOT, source))];
  }
  return paths;
}

function toRelative(from, to) {
  const path = relative(from, to).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}

function write(examples, folder, compilerOptions) {
  mkdirSync(folder, { recursive: true });
  // An example is a module, also one that imports nothing.
  for (const { name, code } of examples) writeFileSync(join(folder, `${name}.ts`), `${code}\nexport {};\n`);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type: "module", private: true })}\n`);
  const options = {
    // A reader's example may show a value without using it.
    noUnusedLocals: false,
    noUnusedParameters: false,
    declaration: false,
    ...compilerOptions,
  };
  const settings = {
    extends: toRelative(folder, join(ROOT, "tsconfig.json")),
    compilerOptions: options,
    include: ["*.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...settings, exclude: [] }, null, 2));
}

function compile(folder) {
  const compiler = findTool("typescript", "tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, output: `${stdout}${stderr}` };
}

/** Turns the compiler's places in the temporary files into places in the documents. */
function translate(output, examples) {
  const problems = [];
  for (const text of output.split(/\r?\n/).filter((line) => line !== "")) {
    const [, path, line, column, message] = /^(.+?)\((\d+),(\d+)\): (.*)$/.exec(text) ?? [];
    const example = examples.find(({ name }) => path === `${name}.ts`);
    if (example !== undefined) problems.push(`${placeOf(example, Number(line), Number(column))} ${message}`);
    else if (path !== undefined) problems.push(`${path}:${line}:${column} ${message}`);
    else if (/^\s/.test(text) && problems.length > 0) problems[problems.length - 1] += `\n${text}`;
  }
  return problems;
}

/** Compiles the examples where `haft` is the built package, as a user would meet it, and expects each to exit with 0. */
function execute(examples, folder) {
  if (examples.length === 0) return [];
  const needsBuild = examples.some(({ code }) => /from "haft/.test(code));
  if (needsBuild && !existsSync(join(ROOT, "dist", "index.js")))
    return ["dist/index.js is missing: run `npm run build` before --run"];
  write(examples, folder, { noEmit: false, outDir: "./out", noCheck: true, paths: {} });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules", "haft"), "junction");
  const built = compile(folder);
  if (built.status !== 0) return [built.output.trim()];
  return examples.flatMap((example) => {
    const script = join(folder, "out", `${example.name}.js`);
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [script], {
      cwd: dirname(script),
      encoding: "utf8",
      timeout: RUN_LIMIT_MS,
    });
    if (status === 0) return [];
    return [`${placeOf(example, 1)} ended with ${signal ?? status}\n${stdout}${stderr}`];
  });
}
