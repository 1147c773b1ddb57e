// The examples in the TSDoc of the package's entry points: they are checked and run like those of the documents.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The sources of the entry points. */
export function listEntries(root) {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.values(exports).flatMap(({ default: target }) =>
    target ? [target.replace("./dist/", "src/").replace(/\.js$/, ".ts")] : [],
  );
}

/** The first `@example` of a source as a Markdown fence, on the lines that it has in the source. */
export function exampleOf(source) {
  const lines = source.split("\n").map((line) => line.replace(/^ \* ?/, ""));
  const start = lines.indexOf("@example");
  const end = lines.findIndex((line, index) => index > start && /^(?:@|\/$)/.test(line));
  if (start === -1) return "";
  const code = lines.slice(start + 1, end);
  const fenced = code[0]?.startsWith("```") ? ["", ...code] : ["```ts", ...code, "```"];
  return [...Array.from({ length: start }, () => ""), ...fenced].join("\n");
}
