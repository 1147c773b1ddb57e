// Checks the documents without executing them. `--update` writes the tables that come from the program. `--root FOLDER`
// checks the documents of another folder.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { ROOT } from "../root.mjs";
import { checkForm } from "./check-form.mjs";
import { checkLinks } from "./check-links.mjs";
import { checkNames, findUnnamed, readProgram } from "./check-names.mjs";
import { checkTypes } from "./check-types.mjs";
import { checkTables, updateTables } from "./generated.mjs";
import { readDocuments } from "./read-document.mjs";

const { values } = parseArgs({ options: { update: { type: "boolean" }, root: { type: "string" } } });
const root = resolve(values.root ?? ROOT);
const program = await readProgram();
if (values.update) {
  for (const { file, text } of readDocuments(root)) {
    const updated = updateTables(text, program);
    if (updated !== text) writeFileSync(join(root, file), updated);
  }
}
const documents = readDocuments(root);
const problems = [
  ...checkForm(documents),
  ...checkLinks(documents, root),
  ...checkNames(documents, program),
  ...checkTables(documents, program),
  ...checkTypes(documents),
].sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
for (const { file, line, column, message } of problems)
  process.stderr.write(`${file}:${line}${column === undefined ? "" : `:${column}`} ${message}\n`);
const unnamed = root === ROOT ? findUnnamed(documents, program) : [];
for (const message of unnamed) process.stderr.write(`${message}\n`);
const blocks = documents.reduce((sum, document) => sum + document.blocks.length, 0);
const found = problems.length + unnamed.length;
process.stdout.write(`${blocks} blocks in ${documents.length} documents, ${found} problems\n`);
process.exitCode = found === 0 ? 0 : 1;
