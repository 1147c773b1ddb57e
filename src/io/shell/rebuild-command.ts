import { isAbsolute, normalize, relative, resolve, sep } from "node:path";
import {
  type ArithmeticExpression,
  type Assignment,
  type Command,
  type HereDoc,
  type ParameterExpansionPart,
  type Redirection,
  type Script,
  type Statement,
  type SyntaxNode,
  type TestExpression,
  type Word,
  type WordPart,
} from "unbash";
import { expandBraces } from "../files/glob-pattern.ts";
import { literalWord, parseCommand } from "./parse-command.ts";
import { type CommandOptions, NotReadOnly, type ReaderContext, readProgram } from "./read-only-programs.ts";
import { exclusionsOf, type GitUse } from "./read-only-git.ts";
import { literal, quoteWord, type RebuiltWord } from "./rebuilt-word.ts";
import { isDeniedEnvName, isSafeEnvName } from "./shell-environment.ts";

export interface RebuildOptions {
  /** The absolute path of a program; undefined if it may not run unasked, such as a program of the project. */
  programPath: (name: string) => string | undefined;
  /** The working folder. */
  cwd: string;
  /** Folders that may be read. Default: the working folder. */
  roots?: readonly string[];
  /** Whether programs and data of the system may be read too. Default: true. */
  readsSystem?: boolean;
  /** Files that the sandbox hides, from the top of the repository: without them git takes no notice of that. */
  hiddenFromGit?: readonly string[];
}

export interface RebuiltCommand {
  /** What to run instead of the given text. */
  text: string;
  /** Absolute paths of the files and folders that it names, without those of the system. */
  paths: string[];
  /** Its commands of git, with absolute folders. What they print depends on the repository. */
  git: GitUse[];
}

/**
 * Rebuilds a command that only reads: every program is known and has only arguments that are known to be harmless. It
 * decides only whether a question is needless. The sandbox decides what can happen.
 *
 * The result is made of what was understood, never of the text: one option a word, `--` before operands, every program
 * by its absolute path. A mistake of the parser can change the result, but it hides nothing.
 */
export function rebuildCommand(text: string, options: RebuildOptions): RebuiltCommand | { refused: string } {
  const { problem, constructs, script } = parseCommand(text);
  if (problem || !script) return { refused: problem?.reason ?? "It was not parsed." };
  if (constructs.has("hidden character")) return { refused: "It has a hidden character." };
  const rebuilder = new Rebuilder(options);
  try {
    return { text: rebuilder.script(script), paths: [...rebuilder.paths], git: rebuilder.uses };
  } catch (error) {
    if (error instanceof NotReadOnly) return { refused: error.message };
    throw error;
  }
}

/** Whether a program with these arguments is known to only read and to start no other. Its paths are not checked. */
export function isReadOnlyArgv(argv: readonly string[]): boolean {
  try {
    new Rebuilder({ cwd: "/", programPath: (name) => name }).command(argv.map(literal));
    return true;
  } catch (error) {
    if (error instanceof NotReadOnly) return false;
    throw error;
  }
}

const MAX_NESTED = 8;
const NAME = /^[A-Za-z_]\w*$/;
/** `$1`, `$?`, `$#`: they name no variable. */
const SPECIAL_PARAMETER = /^[0-9?#@*]$/;

class Rebuilder implements ReaderContext {
  readonly paths = new Set<string>();
  readonly uses: GitUse[] = [];
  readonly #options: RebuildOptions;
  /** The folder at this place of the text: `cd` changes it. */
  #folder: string;
  #depth = 0;

  constructor(options: RebuildOptions) {
    this.#options = options;
    this.#folder = options.cwd;
  }

  script({ commands }: Pick<Script, "commands">): string {
    if (commands.length === 0) throw new NotReadOnly("it has an empty part");
    return commands.map((statement) => this.#statement(statement)).join("; ");
  }

  /** The text of `bash -c`, which a subshell can run. */
  subscript(text: string): string {
    const { problem, script } = parseCommand(text);
    if (problem || !script) throw new NotReadOnly(problem?.reason ?? "it was not parsed");
    return this.#nested(() => `( ${this.script(script)} )`);
  }

  command(words: readonly RebuiltWord[], options: CommandOptions = {}): string {
    return this.#nested(() => readProgram(words, this, options));
  }

  path(path: string): void {
    const absolute = resolve(this.#folder, path);
    if (/^\/dev\/(?:null|stdin|stdout|stderr|fd\/\d+)$/.test(absolute)) return;
    const { roots = [this.#options.cwd], readsSystem = true } = this.#options;
    // These folders hold environments, memory and devices.
    const isSpecial = /^\/(?:proc|sys|dev)(?:\/|$)/.test(absolute);
    if (!isSpecial && roots.some((root) => isBelow(absolute, root))) this.paths.add(absolute);
    else if (!(readsSystem && isSystemPath(absolute))) {
      throw new NotReadOnly(`${path} is outside the folders that may be read`);
    }
  }

  enter(folder: string): void {
    this.path(folder);
    this.#folder = resolve(this.#folder, folder);
  }

  git(use: GitUse): readonly string[] {
    this.uses.push({ ...use, folder: resolve(this.#folder, use.folder) });
    return exclusionsOf(use, this.#options.hiddenFromGit ?? []);
  }

  program(name: string): string {
    const path = this.#options.programPath(name);
    if (path === undefined) throw new NotReadOnly(`${name} is a program of the project`);
    return quoteWord(path);
  }

  #nested(rebuild: () => string): string {
    if (++this.#depth > MAX_NESTED) throw new NotReadOnly("it is nested too deeply");
    try {
      return rebuild();
    } finally {
      this.#depth--;
    }
  }

  /** A subshell has its own working folder. */
  #inSubshell(rebuild: () => string): string {
    const folder = this.#folder;
    try {
      return this.#nested(rebuild);
    } finally {
      this.#folder = folder;
    }
  }

  #statement({ command, background }: Statement): string {
    if (background) throw new NotReadOnly("it runs in the background");
    return this.#node(command);
  }

  #list({ commands }: { commands: readonly Statement[] }): string {
    return `${this.script({ commands })};`;
  }

  #node(node: SyntaxNode): string {
    switch (node.type) {
      case "Command":
        return this.#simple(node);
      case "AndOr":
        return joinWith(
          node.commands.map((each) => this.#node(each)),
          node.operators,
        );
      case "Pipeline": {
        const prefixes = node.prefixes.map(({ type }) => (type === "Negation" ? "! " : "time "));
        const commands = node.commands.map((each) => this.#node(each));
        return prefixes.join("") + joinWith(commands, node.operators);
      }
      case "Redirected":
        return `${this.#node(node.command)}${this.#redirections(node.redirects)}`;
      case "Subshell":
        return this.#inSubshell(() => `( ${this.#list(node.body)} )`);
      case "BraceGroup":
        return `{ ${this.#list(node.body)} }`;
      case "If": {
        const elifs = node.elif.map((each) => `elif ${this.#list(each.clause)} then ${this.#list(each.then)} `);
        const otherwise = node.else ? `else ${this.#list(node.else)} ` : "";
        return `if ${this.#list(node.clause)} then ${this.#list(node.then)} ${elifs.join("")}${otherwise}fi`;
      }
      case "While":
        return `${node.kind} ${this.#list(node.clause)} do ${this.#list(node.body)} done`;
      case "For": {
        if (!node.wordlist) throw new NotReadOnly("a loop has no list");
        const name = variableName(node.name.text);
        const words = node.wordlist.flatMap((word) => this.#words(word)).map(({ text }) => text);
        return `for ${name} in ${words.join(" ")}; do ${this.#list(node.body)} done`;
      }
      case "Case": {
        const items = node.items.map(({ pattern, body, terminator }) => {
          const patterns = pattern.map((word) => this.#word(word).text).join(" | ");
          const commands = body.commands.length > 0 ? this.#list(body).slice(0, -1) : ":";
          return `${patterns}) ${commands} ${terminator ?? ";;"}`;
        });
        return `case ${this.#word(node.word).text} in ${items.join(" ")} esac`;
      }
      case "TestCommand":
        return `[[ ${this.#test(node.expression)} ]]`;
      default:
        throw new NotReadOnly(`it has a ${CONSTRUCT_NAMES.get(node.type) ?? "construct"} that is not read-only`);
    }
  }

  #simple({ name, prefix, suffix }: Command): string {
    const parts = [...prefix, ...suffix];
    const redirections = parts.filter(
      (part): part is Redirection => part.type !== "Word" && part.type !== "Assignment",
    );
    const after = this.#redirections(redirections);
    const assignments = prefix.filter((part): part is Assignment => part.type === "Assignment");
    if (!name) return assignments.map((each) => this.#assignment(each)).join(" ") + after;
    const words = [name, ...suffix.filter((part): part is Word => part.type === "Word")];
    if (suffix.some(({ type }) => type === "Assignment")) throw new NotReadOnly("it sets a variable");
    const command = this.command(words.flatMap((word) => this.#words(word)));
    const settings = assignments.map((each) => this.#setting(each, name.text));
    return [...settings, command].join(" ") + after;
  }

  /** A variable of this text alone. Programs do not see it. */
  #assignment({ name, value, append, index }: Assignment): string {
    if (append || index || value.type === "ArrayValue") throw new NotReadOnly("it sets a list");
    return `${variableName(name)}=${this.#word(value).text}`;
  }

  /** A variable for one command, which must not change what the command does. */
  #setting(assignment: Assignment, program: string): string {
    const { name, value } = assignment;
    const isEmptySeparator = name === "IFS" && program === "read" && value.type === "Word" && value.value === "";
    if (isEmptySeparator) return "IFS=";
    if (!isSafeEnvName(name) || value.type !== "Word") throw new NotReadOnly(`it sets ${name}`);
    return `${name}=${this.#word(value).text}`;
  }

  #redirections(redirections: readonly Redirection[]): string {
    return redirections.map((each) => ` ${this.#redirection(each)}`).join("");
  }

  #redirection(redirection: Redirection): string {
    const { descriptor } = redirection;
    if (descriptor?.type === "FileDescriptorVariable") throw new NotReadOnly("it opens a descriptor");
    const number = descriptor ? String(descriptor.value) : "";
    if (redirection.type === "HereDoc") return `${number}<<< ${quoteWord(bodyOf(redirection))}`;
    if (!redirection.target) throw new NotReadOnly("a redirection has no target");
    const target = this.#word(redirection.target);
    if (redirection.type === "HereString") return `${number}<<< ${target.text}`;
    const { operator } = redirection;
    if (operator === "<") {
      if (target.splits) throw new NotReadOnly("its input is only known at run time");
      if (target.kind === "literal") this.path(target.value);
      return `${number}< ${target.text}`;
    }
    const isDuplicate = (operator === ">&" || operator === "<&") && /^\d$/.test(target.value);
    const isDiscarded = operator !== "<&" && /^\/dev\/(?:null|stdout|stderr)$/.test(target.value);
    if (target.kind !== "literal" || !(isDuplicate || isDiscarded)) {
      throw new NotReadOnly("it redirects to a file");
    }
    return `${number}${operator}${target.text}`;
  }

  #test(expression: TestExpression): string {
    switch (expression.type) {
      case "TestLogical":
        return expression.operands.map((each) => this.#test(each)).join(` ${expression.operator} `);
      case "TestNot":
        return `! ${this.#test(expression.operand)}`;
      case "TestGroup":
        return `( ${this.#test(expression.expression)} )`;
      case "TestUnary": {
        // -v and -R evaluate a subscript in the name.
        if (!/^-[abcdefghknprstuwxzGLNOS]$/.test(expression.operator)) break;
        const operand = this.#word(expression.operand);
        if (operand.kind === "literal" && /^-[abcdefghkprsuwxGLNOS]$/.test(expression.operator))
          this.path(operand.value);
        return `${expression.operator} ${operand.text}`;
      }
      case "TestBinary":
        // -eq and the like evaluate both sides as arithmetic.
        if (!/^(?:=|==|!=|<|>|-nt|-ot|-ef)$/.test(expression.operator)) break;
        return `${this.#word(expression.left).text} ${expression.operator} ${this.#word(expression.right).text}`;
    }
    throw new NotReadOnly("a test evaluates its words");
  }

  /** One word of the text; several if it has braces. */
  #words(word: Word): RebuiltWord[] {
    if (!word.parts?.some(({ type }) => type === "BraceExpansion")) return [this.#word(word)];
    if (!/^[\w./,*?=@:{}-]+$/.test(word.text)) throw new NotReadOnly("it has braces that are not plain");
    try {
      return expandBraces(word.text).map((value) =>
        /[*?]/.test(value) ? { value, text: value, kind: "glob", splits: true } : literal(value),
      );
    } catch {
      throw new NotReadOnly("it has too many braces");
    }
  }

  #word(word: Word): RebuiltWord {
    const certain = literalWord(word.text);
    if (certain !== undefined) return literal(certain);
    // Without parts it has only literal text with escapes.
    if (!word.parts) return this.#unquoted(word.value, word.text);
    const pieces = word.parts.map((part) => this.#part(part));
    const open = pieces.findIndex(({ kind }) => kind === "expansion");
    const isGlob = pieces.some(({ kind }) => kind === "glob");
    const known = open < 0 ? pieces : pieces.slice(0, open + 1);
    return {
      value: known.map(({ value }) => value).join(""),
      text: pieces.map(({ text }) => text).join(""),
      kind: open >= 0 ? "expansion" : isGlob ? "glob" : "literal",
      splits: pieces.some(({ splits }) => splits),
    };
  }

  #unquoted(value: string, text: string): RebuiltWord {
    if (/^~|[:=]~/.test(text)) throw new NotReadOnly("it names a home folder");
    if (/[\n\0]/.test(value)) throw new NotReadOnly("a word contains a line break");
    return literal(value);
  }

  #part(part: WordPart): RebuiltWord {
    switch (part.type) {
      case "Literal":
        return this.#unquoted(part.value, part.text);
      case "SingleQuoted":
      case "AnsiCQuoted":
        if (part.value.includes("\0")) throw new NotReadOnly("a word contains a NUL character");
        return literal(part.value);
      case "DoubleQuoted": {
        const pieces = part.parts.map((each) => (each.type === "Literal" ? literal(each.value) : this.#part(each)));
        const open = pieces.findIndex(({ kind }) => kind === "expansion");
        const value = (open < 0 ? pieces : pieces.slice(0, open)).map((each) => each.value).join("");
        if (open < 0) return literal(value);
        const text = pieces.map((each) => (each.kind === "expansion" ? `"${each.text}"` : each.text)).join("");
        return { value, text, kind: "expansion", splits: false };
      }
      case "Glob":
        if (part.kind === "bracket" && !/^\[[!^]?[\w.,:+=-]+\]$/.test(part.text)) break;
        return { value: part.text, text: part.text, kind: "glob", splits: true };
      case "SimpleExpansion":
        return expansion(`\${${parameterName(part.text.slice(1))}}`);
      case "ParameterExpansion":
        return expansion(this.#parameter(part));
      case "CommandExpansion": {
        const { script } = part;
        if (!script) break;
        return expansion(this.#inSubshell(() => `$(${this.script(script)})`));
      }
      case "ProcessSubstitution": {
        const { script } = part;
        if (!script || part.operator !== "<") break;
        return { ...expansion(this.#inSubshell(() => `<(${this.script(script)})`)), splits: false };
      }
      case "ArithmeticExpansion":
        if (!part.expression) break;
        return expansion(`$((${arithmetic(part.expression)}))`);
      default:
        break;
    }
    throw new NotReadOnly("a word is not plain");
  }

  /** Without subscripts, indirection and prompts, which evaluate the value. */
  #parameter({ parameter, prefix, index, operation }: ParameterExpansionPart): string {
    if (prefix === "!" || index) throw new NotReadOnly("an expansion evaluates its value");
    const name = parameterName(parameter);
    if (!operation) return `\${${prefix ?? ""}${name}}`;
    switch (operation.type) {
      case "Default":
        if (operation.operator.includes("=")) break;
        return `\${${name}${operation.operator}${this.#operand(operation.operand)}}`;
      case "Remove":
        return `\${${name}${operation.operator}${this.#operand(operation.operand)}}`;
      case "Replace": {
        const [pattern, replacement] = [this.#operand(operation.pattern), this.#operand(operation.replacement)];
        return `\${${name}${operation.operator}${pattern}/${replacement}}`;
      }
      case "CaseModification":
        if (!operation.operand) return `\${${name}${operation.operator}}`;
        break;
      case "Slice": {
        const [from, length] = [operation.offset.value, operation.length?.value];
        if (!/^ ?-?\d+$/.test(from) || !/^\d*$/.test(length ?? "")) break;
        return `\${${name}:${from}${length === undefined ? "" : `:${length}`}}`;
      }
      default:
        break;
    }
    throw new NotReadOnly("an expansion is not plain");
  }

  /** In double quotes, quotes inside an expansion mean something else, so it may have none. */
  #operand(word: Word): string {
    const { value, text, kind } = this.#word(word);
    if (kind === "literal" && value === "") return "";
    if (/['"/]/.test(text.replaceAll("*/", "").replaceAll("/*", "")))
      throw new NotReadOnly("an expansion is not plain");
    return text;
  }
}

/** It may become several words, unless it is quoted. */
function expansion(text: string): RebuiltWord {
  return { value: "", text, kind: "expansion", splits: true };
}

function parameterName(name: string): string {
  if (NAME.test(name) || SPECIAL_PARAMETER.test(name)) return name;
  throw new NotReadOnly("an expansion is not plain");
}

/** A name that this text may set: it changes no program, and no environment that programs get. */
function variableName(name: string): string {
  const isOwn =
    NAME.test(name) && !isDeniedEnvName(name) && process.env[name] === undefined && !/^(?:_|TMP|TEMP)/.test(name);
  if (!isOwn) throw new NotReadOnly(`it sets ${name}`);
  return name;
}

/** Numbers only: a name would be evaluated again. */
function arithmetic(expression: ArithmeticExpression): string {
  switch (expression.type) {
    case "ArithmeticBinary":
      if (expression.operator.endsWith("=") && !/^[=!<>]=$/.test(expression.operator)) break;
      return `${arithmetic(expression.left)} ${expression.operator} ${arithmetic(expression.right)}`;
    case "ArithmeticUnary":
      if (!/^[-+!~]$/.test(expression.operator) || !expression.prefix) break;
      return `${expression.operator} ${arithmetic(expression.operand)}`;
    case "ArithmeticTernary": {
      const { test, consequent, alternate } = expression;
      return `${arithmetic(test)} ? ${arithmetic(consequent)} : ${arithmetic(alternate)}`;
    }
    case "ArithmeticGroup":
      return `(${arithmetic(expression.expression)})`;
    case "ArithmeticWord":
      if (/^\d+$/.test(expression.value)) return expression.value;
      break;
    default:
      break;
  }
  throw new NotReadOnly("its arithmetic evaluates names");
}

/** The text of a here-document without its last line break, which a here-string adds. */
function bodyOf({ operator, delimiter, body, closing }: HereDoc): string {
  const isPlain = delimiter?.quoted === true || !/[$`\\]/.test(body.text);
  if (!isPlain || !closing || !body.text.endsWith("\n")) throw new NotReadOnly("its here-document is not plain");
  const text = operator === "<<-" ? body.text.replace(/^\t+/gm, "") : body.text;
  return text.slice(0, -1);
}

function joinWith(parts: readonly string[], operators: readonly string[]): string {
  return parts.map((part, at) => (at === 0 ? part : `${operators[at - 1]} ${part}`)).join(" ");
}

const CONSTRUCT_NAMES: ReadonlyMap<string, string> = new Map([
  ["Function", "function"],
  ["Coproc", "coprocess"],
  ["ArithmeticFor", "loop"],
  ["ArithmeticCommand", "arithmetic command"],
  ["Select", "menu"],
]);

/** Compares names only. The path policy resolves links, and the kernel checks what is opened. */
function isBelow(path: string, root: string): boolean {
  const below = relative(root, path);
  return !isAbsolute(below) && below.split(sep)[0] !== "..";
}

const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"];
const SYSTEM_FILES = new Set(
  `/etc/os-release /etc/debian_version /etc/alpine-release /etc/lsb-release /etc/issue /etc/timezone /etc/shells /etc/hosts
   /etc/hostname /proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/filesystems`.split(/\s+/),
);

/** Programs and facts about the machine; nothing of a user is there. */
function isSystemPath(path: string): boolean {
  const plain = normalize(path);
  return SYSTEM_FILES.has(plain) || SYSTEM_FOLDERS.some((folder) => isBelow(plain, folder));
}
