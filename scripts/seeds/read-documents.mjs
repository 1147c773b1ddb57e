// The blocks of the design documents: found by fences, named by document, heading and number.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A document is named by the three digits that its file name begins with. Throws if there is none. */
export function readDocuments(folder) {
  const files = readdirSync(folder).filter((name) => /^\d{3}[_.-]/.test(name));
  if (files.length === 0) throw new Error(`${folder} has no documents: their file names begin with three digits.`);
  return files.sort().flatMap((name) => readBlocks(name.slice(0, 3), readFileSync(join(folder, name), "utf8")));
}

/** Those that can be run, parsed or compared. Pictures and output of programs cannot. */
const LANGUAGES = new Set(["typescript", "python", "xml", "yaml", "json5", "prompt"]);

function readBlocks(document, text) {
  const blocks = [];
  const counts = new Map();
  let heading = "";
  let open;
  for (const line of text.split(/\r?\n/)) {
    const fence = /^```(\w*)\s*$/.exec(line);
    if (open !== undefined) {
      if (fence === null) open.lines.push(line);
      else {
        const code = open.lines.join("\n");
        const language = languageOf(open.language, code);
        if (LANGUAGES.has(language)) {
          const block = (counts.get(language) ?? 0) + 1;
          counts.set(language, block);
          blocks.push({ document, heading, language, block, code });
        }
        open = undefined;
      }
    } else if (fence !== null) open = { language: fence[1], lines: [] };
    else heading = /^#{1,6}\s+(.+?)\s*$/.exec(line)?.[1] ?? heading;
  }
  return blocks;
}

/** A prompt has no language, and describes a tool. */
function languageOf(named, code) {
  if (named === "ts") return "typescript";
  return named === "" && /^### \w+\nDescription: /.test(code) ? "prompt" : named;
}

/** The names that a Python block defines, with the class of each: classes, functions, methods, fields and attributes. */
export function readPythonNames(code) {
  const names = new Map();
  const add = (owner, name, value) => names.set(`${owner}.${name}`, { owner, name, value });
  let owner;
  for (const line of code.split("\n")) {
    const [, className] = /^class (\w+)/.exec(line) ?? [];
    if (className !== undefined) add(undefined, (owner = className));
    const [, indent, method] = /^( *)(?:async )?def (\w+)/.exec(line) ?? [];
    if (method !== undefined && indent === "") add((owner = undefined), method);
    else if (method !== undefined && indent === "    " && method !== "__init__") add(owner, method);
    const [, attribute] = /^ {8}self\.(\w+)(?::| =)/.exec(line) ?? [];
    if (attribute !== undefined && owner !== undefined) add(owner, attribute);
    const [, field, value] = /^ {4}(\w+)(?:: [^(]*| = "(\w+)".*)$/.exec(line) ?? [];
    if (field !== undefined && owner !== undefined) add(owner, field, value);
    const [, used] = /\bregistry\.(\w+)\(/.exec(line) ?? [];
    if (used !== undefined) add("ToolRegistry", used);
  }
  return [...names.values()];
}
