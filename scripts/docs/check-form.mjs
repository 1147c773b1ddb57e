// How a document is written: marks of blocks, no indented code, JSON that parses, translations with the same code.
import { marked } from "marked";
import { compareTranslation } from "./translation.mjs";

/** Those that are executed, saved, or only shown. */
const LANGUAGES = new Set(["ts", "js", "sh", "yaml", "json", "ini", "markdown", "md", "text", "console"]);

export function checkForm(documents) {
  const problems = documents.flatMap((document) =>
    [...document.problems, ...document.blocks.flatMap(checkBlock), ...findIndentedCode(document.text)].map(
      (problem) => ({ file: document.file, ...problem }),
    ),
  );
  return [...problems, ...compareTranslation(documents)];
}

function checkBlock({ language, line, code, exemption, output }) {
  if (language === "") return [{ line, message: "The block has no language" }];
  if (!LANGUAGES.has(language)) return [{ line, message: `Unknown language "${language}"` }];
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
  return (/^\s*\n/.exec(raw)?.[0].split("\n").length ?? 1) - 1;
}
