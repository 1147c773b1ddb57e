// Commands, options, npm scripts and environment variables that documents name must exist.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { forEachChild, parse } from "unbash";
import { ROOT } from "../root.mjs";

/** What the built program has. */
export async function readProgram() {
  const load = (name) => import(pathToFileURL(join(ROOT, "dist", `${name}.js`)).href);
  const [{ COMMANDS, findCommand }, { GLOBAL_OPTIONS }, { EXIT_CODES }, { ENVIRONMENT }, { TOOL_GROUPS }] =
    await Promise.all(["cli/command-table", "cli/arguments", "cli/exit-codes", "cli/help", "compat"].map(load));
  const commands = await Promise.all(COMMANDS.map(async (entry) => ({ ...entry, command: await entry.load() })));
  return {
    commands,
    findCommand: (words) => findCommand(words, commands),
    globalOptions: GLOBAL_OPTIONS,
    exitCodes: EXIT_CODES,
    groups: TOOL_GROUPS,
    environment: ENVIRONMENT,
    developerVariables: new Set(["src", "test", "scripts", "bench", "conformance"].flatMap(variablesIn)),
  };
}

/** Every `HAFT_…` in the files of a folder. */
function variablesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:ts|tsx|mjs|js)$/.test(name) && !name.includes("node_modules"))
    .flatMap((name) =>
      Array.from(readFileSync(join(ROOT, folder, name), "utf8").matchAll(VARIABLE), ([found]) => found),
    );
}

/** Haft sets these for hooks and for MCP servers. */
const SET_BY_HAFT = ["HAFT_PROJECT_DIR", "HAFT_HOOK_EVENT", "HAFT_OWN_FOLDER"];

const VARIABLE = /\bHAFT_[A-Z][A-Z0-9_]*\b/g;

/** Documents for those who work on Haft: they may name variables of its tests and scripts. */
const FOR_DEVELOPERS = /^(?:CONTRIBUTING\.md|docs\/(?:benchmarks|architecture)\.md|docs\/decisions\/)/;

export function checkNames(documents, program) {
  const known = new Set([...program.environment.map(([name]) => name), ...SET_BY_HAFT]);
  return documents.flatMap((document) => {
    const { file, text } = document;
    const variables = FOR_DEVELOPERS.test(file) ? program.developerVariables : known;
    const problems = text.split("\n").flatMap((line, index) =>
      Array.from(line.matchAll(VARIABLE), ([name]) => name)
        .filter((name) => !variables.has(name))
        .map((name) => ({ line: index + 1, message: `Nothing reads the environment variable ${name}` })),
    );
    // A decision tells what was at its time.
    if (!file.startsWith("docs/decisions/"))
      for (const { line, words } of commandsOf(document)) {
        const message = checkCommand(words, { program, file });
        if (message !== undefined) problems.push({ line, message });
      }
    return problems.map((problem) => ({ file, ...problem }));
  });
}

/** What the program has and no document names. */
export function findUnnamed(documents, program) {
  const all = documents.map(({ text }) => text).join("\n");
  const names = [...program.commands.map(({ path }) => `haft ${path}`), ...program.environment.map(([name]) => name)];
  return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(all)).map((name) => `No document names \`${name}\``);
}

/** The command lines of `sh` blocks, of code in the text, and after a `$` of other blocks, as words. */
function commandsOf({ blocks, lines }) {
  const inBlocks = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ code, line }) => simpleCommands(code).map(({ words, at }) => ({ words, line: line + at })));
  const afterPrompts = blocks
    .filter(({ language }) => language !== "sh")
    .flatMap(({ code, line }) =>
      code.split("\n").flatMap((text, at) => (/^\s*\$ /.test(text) ? [{ words: wordsOf(text), line: line + at }] : [])),
    );
  return [...inBlocks, ...afterPrompts, ...spansOf(lines).map(({ code, line }) => ({ line, words: wordsOf(code) }))];
}

function simpleCommands(code) {
  const found = [];
  const visit = (node) => {
    if (node.type === "Command" && node.name !== undefined) {
      const words = [node.name, ...node.suffix].map(({ value, text }) => value ?? text);
      found.push({ words, at: code.slice(0, node.pos).split("\n").length - 1 });
    }
    forEachChild(node, visit);
  };
  visit(parse(code));
  return found;
}

/** Code between backticks, which may go on in the next line. */
function spansOf(lines) {
  const paragraphs = [];
  for (const { line, text } of lines) {
    const last = paragraphs.at(-1);
    if (text.trim() === "" || text.startsWith("|") || last === undefined || last.end !== line - 1)
      paragraphs.push({ line, end: text.trim() === "" || text.startsWith("|") ? -1 : line, text });
    else [last.end, last.text] = [line, `${last.text}\n${text}`];
  }
  return paragraphs.flatMap(({ line, text }) =>
    Array.from(text.matchAll(/(?<!`)(`+)(?!`)([^]*?[^`])\1(?!`)/g), ({ 2: code = "", index }) => ({
      code: code.replaceAll(/\s+/g, " ").trim(),
      line: line + text.slice(0, index).split("\n").length - 1,
    })),
  );
}

function wordsOf(code) {
  return Array.from(code.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g), ([word]) => word);
}

function checkCommand(words, context) {
  const [first, ...rest] = words.slice(words.findIndex((word) => word !== "$" && !/^\w+=/.test(word)));
  if (first === "haft") return checkHaft(rest, context);
  if (/^(?:npm|npx|pnpm|yarn|bun)$/.test(first ?? "")) {
    const [verb, ...named] = [...(first === "npx" ? ["exec"] : []), ...rest].filter((word) => !word.startsWith("-"));
    if (/^(?:i|install|add)$/.test(verb ?? "") && named.some((name) => /^haft(?:@|$)/.test(name)))
      return "Haft is not on npm: it cannot be installed by its name";
    if (/^(?:exec|x)$/.test(verb ?? "") && named[0] === "haft")
      return checkHaft(rest.slice(rest.indexOf("haft") + 1), context);
    if (first === "npm") return checkScript(rest, context);
  }
  if (words.length <= 2 && /^--[a-z]/.test(first ?? "")) return checkBareOption(first, context);
  return undefined;
}

/** `haft` and its words, as a reader would type them or with placeholders: `haft tools call NAME`. */
function checkHaft(words, { program }) {
  const end = words.indexOf("--");
  const own = end === -1 ? words : words.slice(0, end);
  const named = [];
  for (const [index, word] of own.entries()) {
    if (word.startsWith("-")) {
      if (named.length > 0) break;
      continue;
    }
    if (["-C", "--folder", "--url"].includes(own[index - 1] ?? "")) continue;
    if (!/^[a-z][a-z-]*$/.test(word) || named.length === 2) break;
    named.push(word);
  }
  let command;
  if (named.length > 0) {
    if (named[0] === "help" && named.length > 1 && !["exit-codes", "options", "environment"].includes(named[1]))
      return checkHaft(own.slice(1), { program });
    try {
      command = program.findCommand(named).entry?.command;
    } catch (error) {
      return [error.message, error.next].filter(Boolean).join(" ");
    }
  }
  const options = { ...program.globalOptions, ...command?.options };
  for (const word of own) {
    const [, long, short] = /^(?:\[?--([a-z][\w-]*)|-([a-zA-Z])$)/.exec(word) ?? [];
    const isKnown =
      long !== undefined
        ? Object.hasOwn(options, long)
        : Object.values(options).some((option) => option.short === short);
    if ((long ?? short) !== undefined && !isKnown) return `\`haft ${named.join(" ")}\` has no option ${word}`;
  }
  if (end !== -1 && ["record", "replay"].includes(named[0] ?? "")) return checkHaft(words.slice(end + 1), { program });
  return undefined;
}

function checkBareOption(word, { program }) {
  const name = word.slice(2).split("=")[0] ?? "";
  const isKnown = [{ options: program.globalOptions }, ...program.commands.map(({ command }) => command)].some(
    ({ options = {} }) => Object.hasOwn(options, name),
  );
  return isKnown || OTHER_OPTIONS.has(name) ? undefined : `No command has the option --${name}`;
}

/**
 * Options of other programs that documents name alone.
 *
 * @type {Set<string>}
 */
const OTHER_OPTIONS = new Set(["config", "exec", "output", "x"]);

/** Scripts of this package, or of the example whose document it is. */
function checkScript([verb, name], { file }) {
  const script = verb === "run" ? name : ["start", "test"].includes(verb) ? verb : undefined;
  if (script === undefined || !/^[\w:-]+$/.test(script)) return undefined;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const description = join(ROOT, folder, "package.json");
    if (existsSync(description) && JSON.parse(readFileSync(description, "utf8")).scripts?.[script]) return undefined;
    if (folder === ".") return `package.json has no script "${script}"`;
  }
}
