// How a document is written: marks of blocks, no indented code, JSON that parses, translations with the same code.
import { marked } from "marked";

export function checkForm(documents) {
  const converted = documents.filter(({ isConverted }) => isConverted);
  const problems = converted.flatMap((document) =>
    [...document.problems, ...document.blocks.flatMap(checkBlock), ...findIndentedCode(document.text)].map(
      (problem) => ({ file: document.file, ...problem }),
    ),
  );
  return [...problems, ...compareTranslation(converted)];
}

function checkBlock({ language, line, code, run, exemption, output, isHidden }) {
  if (run) return [{ line, message: "`run` is not needed: every ts block runs" }];
  if (language === "" && !isHidden) return [{ line, message: "The block has no language" }];
  if (language !== "json" || exemption !== undefined || output || code.includes("…")) return [];
  try {
    JSON.parse(code);
    return [];
  } catch (error) {
    return [{ line, message: `This is not JSON: ${error.message}` }];
  }
}

function findIndentedCode(text) {
  const problems = [];
  let line = 1;
  const visit = (token, at) => {
    if (token.type === "code" && token.codeBlockStyle === "indented")
      problems.push({ line: at + leadingLines(token.raw), message: "Indented code is not executed: use a fence" });
    let [from, inside] = [at, token.raw];
    for (const child of token.items ??
      (token.type === "list_item" || token.type === "blockquote" ? token.tokens : []) ??
      []) {
      const start = inside.indexOf(child.raw.split("\n")[0] ?? "");
      from += inside.slice(0, Math.max(0, start)).split("\n").length - 1;
      visit(child, from);
      inside = inside.slice(Math.max(0, start));
    }
  };
  for (const token of marked.lexer(text)) {
    visit(token, line);
    line += token.raw.split("\n").length - 1;
  }
  return problems;
}

function leadingLines(raw) {
  return /^\s*\n/.exec(raw)?.[0].split("\n").length ?? 1 - 1;
}

/** README.zh-CN.md has the code of README.md. */
function compareTranslation(documents) {
  const [original, translation] = ["README.md", "README.zh-CN.md"].map((file) =>
    documents.find((each) => each.file === file),
  );
  if (original === undefined || translation === undefined) return [];
  const file = translation.file;
  const problems = [];
  const count = Math.max(original.blocks.length, translation.blocks.length);
  for (let index = 0; index < count; index += 1) {
    const [theirs, ours] = [original.blocks[index], translation.blocks[index]];
    if (ours === undefined)
      return [...problems, { file, line: 1, message: `The block of README.md:${theirs.line} is missing` }];
    if (theirs === undefined)
      return [...problems, { file, line: ours.line, message: "README.md does not have this block" }];
    if (withoutComments(theirs) !== withoutComments(ours))
      problems.push({ file, line: ours.line, message: `The code differs from README.md:${theirs.line}` });
  }
  return problems;
}

function withoutComments({ language, code }) {
  const comment = language === "ts" || language === "js" ? /(?<=^|\s)\/\/.*$/gm : /(?<=^|\s)#.*$/gm;
  const lines = code
    .replaceAll(comment, "")
    .split("\n")
    .map((line) => line.trim());
  return `${language}\n${lines.filter(Boolean).join("\n")}`;
}
