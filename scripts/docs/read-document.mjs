// Reads a Markdown document: its code blocks with their marks, its hidden commands, and the lines between them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { ROOT } from "../root.mjs";
import { exampleOf, listEntries } from "./entry-examples.mjs";

const FOLDERS = [".github", "docs", "examples"];
const FILES = [
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "CONTRIBUTING.md",
  "README.md",
  "README.zh-CN.md",
  "SECURITY.md",
  "conformance/README.md",
];

/** The documents of a folder, as paths with `/`. */
function listDocuments(root) {
  const inFolders = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  return [...FILES, ...inFolders]
    .map((name) => name.split(sep).join("/"))
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules/") && existsSync(join(root, name)))
    .sort();
}

/** All documents, and the examples of the package's entry points; or those named. */
export function readDocuments(root, files) {
  const isOwn = resolve(root) === resolve(ROOT);
  return (files ?? [...listDocuments(root), ...(isOwn ? listEntries(root) : [])]).map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return readDocument(file, file.endsWith(".ts") ? exampleOf(text) : text);
  });
}

/** Decisions are history: their blocks are not executed. */
export function isExecuted({ file }) {
  return !file.startsWith("docs/decisions/");
}

/**
 * `blocks` in the order of the document. `line` is that of the first line of code, counted from 1, `column` its indent.
 * `lines` are the lines outside of blocks and comments.
 */
export function readDocument(file, text) {
  const blocks = [];
  const lines = [];
  let open;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (open !== undefined) {
      if (open.isEnd(line)) {
        if (open.block) blocks.push({ ...open.block, code: open.code.join("\n") });
        open = undefined;
      } else {
        open.code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart());
      }
      continue;
    }
    open = openFence(line, index) ?? openComment(line, index);
    if (open === undefined) lines.push({ line: index + 1, text: line });
  }
  const problems = blocks.flatMap(({ line, problem }) => (problem === undefined ? [] : [{ line, message: problem }]));
  if (open !== undefined) problems.push({ line: open.line, message: "This block does not end" });
  return { file, text, blocks, lines, problems };
}

function openFence(line, index) {
  const [, indent = "", ticks, info = ""] = /^(\s*)(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
  if (ticks === undefined) return undefined;
  const isEnd = (text) =>
    text.trim().length >= ticks.length && text.trim() === ticks.charAt(0).repeat(text.trim().length);
  const block = { line: index + 2, column: indent.length, ...readInfo(info.trim()) };
  return { line: index + 1, indent, code: [], isEnd, block };
}

/** A comment is skipped. Commands in one are refused: readers do not see them, and the examples would not work for them. */
function openComment(line, index) {
  const [, indent = "", words] = /^(\s*)<!--(.*)$/.exec(line) ?? [];
  if (words === undefined || words.includes("-->")) return undefined;
  const isEnd = (text) => text.includes("-->");
  const [, language] = /^(?:before|setup|run): ?(\w+)/.exec(words.trim()) ?? [];
  const problem = "Readers do not see this set-up: show it in a block of its own";
  const block = language && { line: index + 1, column: indent.length, language, problem };
  return { line: index + 1, indent, code: [], isEnd, block };
}

const WORDS = new Set(["output", "background"]);

/** `ts file=a.ts no-run: why`: the language, then marks; a reason is the rest of the line. */
function readInfo(info) {
  const [, marks = "", exemption, , reason] = /^(.*?)(?:(?:^|\s)(no-run|no-check)\b(:?)\s*(.*))?$/.exec(info) ?? [];
  const [language = "", ...words] = marks.split(/\s+/).filter(Boolean);
  const block = {
    language: language === "typescript" ? "ts" : language === "bash" || language === "shell" ? "sh" : language,
  };
  if (exemption !== undefined) {
    block.exemption = exemption;
    if (reason === "") block.problem = `${exemption} needs a reason: \`${language} ${exemption}: why\``;
  }
  for (const word of words) {
    const [, name, value] = /^(file|in|needs)=(\S+)$/.exec(word) ?? [];
    if (name !== undefined) block[name] = value;
    else if (WORDS.has(word)) block[word] = true;
    else
      block.problem = `unknown mark "${word}": use output, background, file=NAME, in=NAME, needs=PROGRAM, no-run: why or no-check: why`;
  }
  return block;
}

/** How GitHub names the heading for links. */
export function headingsOf({ lines }) {
  const seen = new Map();
  return lines.flatMap(({ text }) => {
    const [, title] = /^#{1,6}\s+(.*?)\s*#*$/.exec(text) ?? [];
    if (title === undefined) return [];
    const plain = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return [count === 0 ? slug : `${slug}-${count}`];
  });
}
