// Type-checks the TypeScript blocks of all documents at once, against the built types.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import process from "node:process";
import { ROOT } from "../root.mjs";
import { findTool } from "../run-tool.mjs";

/** Returns problems with `file`, `line` and `column` of the documents. */
export function checkTypes(documents) {
  // Inside the repository, so the examples find the packages a reader would have installed.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "doc-examples-"));
  try {
    const examples = new Map(documents.flatMap((document) => listExamples(document)));
    return examples.size === 0 ? [] : compile(examples, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each document has a folder, so its blocks can import each other. An earlier version of a file gets another name. */
function listExamples({ file, blocks }) {
  const folder = file.replaceAll(/[^\w]+/g, "-");
  const checked = blocks.filter(
    ({ language, exemption, problem }) => language === "ts" && exemption !== "no-check" && problem === undefined,
  );
  return checked.map((block, index) => {
    const isLast = !checked.slice(index + 1).some((later) => later.file === block.file);
    const name = block.file !== undefined && isLast ? block.file : `block-${index + 1}.ts`;
    return /** @type {const} */ ([`${folder}/${name}`, { ...block, document: file }]);
  });
}

function compile(examples, folder) {
  for (const [name, { code }] of examples) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    // An example is a module, also one that imports nothing.
    writeFileSync(join(folder, name), `${code}\nexport {};\n`);
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type: "module", private: true })}\n`);
  const compilerOptions = {
    // A reader's example may show a value without using it.
    noUnusedLocals: false,
    noUnusedParameters: false,
    declaration: false,
    noEmit: true,
    paths: readTypePaths(folder),
  };
  const settings = {
    extends: toRelative(folder, join(ROOT, "tsconfig.json")),
    compilerOptions,
    include: ["**/*.ts"],
    exclude: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [findTool("typescript", "tsc"), "-p", folder, "--pretty", "false"],
    { cwd: folder, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
  );
  const problems = translate(`${stdout}${stderr}`, examples);
  // A failure without a line of its own (a wrong setting, a missing compiler) must not pass for success.
  if (status !== 0 && problems.length === 0) throw new Error(`The compiler ended with ${status}: ${stdout}${stderr}`);
  return problems;
}

function readTypePaths(folder) {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const paths = {};
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === "object")
      paths[subpath.replace(/^\./, "haft")] = [toRelative(folder, join(ROOT, target.types))];
  }
  return paths;
}

function toRelative(from, to) {
  const path = relative(from, to).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}

/** Turns the compiler's places in the temporary files into places in the documents. */
function translate(output, examples) {
  const problems = [];
  for (const text of output.split(/\r?\n/).filter((line) => line !== "")) {
    const [, path, line, column, message] = /^(.+?)\((\d+),(\d+)\): (.*)$/.exec(text) ?? [];
    const example = examples.get(path);
    if (example !== undefined) {
      const place = { line: example.line + Number(line) - 1, column: example.column + Number(column) };
      problems.push({ file: example.document, ...place, message });
    } else if (path !== undefined) problems.push({ file: path, line: Number(line), column: Number(column), message });
    else if (/^\s/.test(text) && problems.length > 0) problems.at(-1).message += `\n${text}`;
  }
  return problems;
}
