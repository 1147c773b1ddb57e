// node scripts/structure.mjs: the figures of docs/architecture.md, from the sources of this checkout (or of `--root FOLDER`).
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { parseAst } from "vitest/node";
import { ROOT } from "./root.mjs";

const at = process.argv.indexOf("--root");
const root = at < 0 ? ROOT : resolve(process.argv[at + 1] ?? ".");
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !/\.(test|suite|fixture|types|bench)\.ts$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }));

const lines = sources.map(({ text }) => text.split("\n").length - 1).sort((a, b) => a - b);
const folders = new Map();
for (const { name } of sources) folders.set(dirname(name), (folders.get(dirname(name)) ?? 0) + 1);
const quantile = (share) => lines[Math.floor((lines.length - 1) * share)];

let casts = 0;
let assertions = 0;
let spreads = 0;
for (const { name, text } of sources) {
  walk(parseAst(text, { lang: "ts" }, name), (node) => {
    if (node.type === "TSAsExpression" && !isConst(node)) casts += 1;
    if (node.type === "TSNonNullExpression") assertions += 1;
    if (node.type === "SpreadElement" && isConditional(node.argument)) spreads += 1;
  });
}

const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const surface = JSON.parse(readFileSync(join(root, "test", "surface.json"), "utf8"));
const names = Object.entries(surface)
  .filter(([entry]) => entry !== "haft/compat")
  .reduce((sum, [, { values, types }]) => sum + values.length + types.length, 0);

process.stdout.write(
  [
    `source files: ${sources.length}`,
    `lines: ${lines.reduce((sum, count) => sum + count, 0)}; median ${quantile(0.5)}, p90 ${quantile(0.9)}, max ${lines.at(-1)}`,
    `folders with over 30 files: ${[...folders.values()].filter((count) => count > 30).length}`,
    `casts: ${casts}; non-null assertions: ${assertions}; conditional spreads: ${spreads}`,
    `public names without haft/compat: ${names} in ${Object.keys(exports).filter((path) => !path.endsWith(".json")).length} entry points`,
    "",
  ].join("\n"),
);

function walk(node, visit) {
  if (Array.isArray(node)) for (const each of node) walk(each, visit);
  else if (node && typeof node === "object") {
    if (typeof node.type === "string") visit(node);
    for (const [key, value] of Object.entries(node)) if (key !== "parent") walk(value, visit);
  }
}

function isConst({ typeAnnotation }) {
  return typeAnnotation.type === "TSTypeReference" && typeAnnotation.typeName.name === "const";
}

/** `...(x === undefined ? {} : { x })` */
function isConditional(argument) {
  const inner = argument.type === "ParenthesizedExpression" ? argument.expression : argument;
  const isEmpty = (node) => node?.type === "ObjectExpression" && node.properties.length === 0;
  return inner.type === "ConditionalExpression" && (isEmpty(inner.consequent) || isEmpty(inner.alternate));
}
