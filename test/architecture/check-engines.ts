// Checks that only a store engine knows which engine it is: what differs is a member of `SqlDatabase` or `StoreEngine`.
import { posix } from "node:path";
import { parseAst } from "vitest/node";
import type { SourceFile } from "./check-imports.ts";
import { createLineFinder, isNode, type Node, parseModule, readText, visit } from "./parse-module.ts";

export interface EngineRules {
  /** How engines are named, in stores and in addresses. */
  readonly names: readonly string[];
  /** Their folders, and their table. */
  readonly own: readonly string[];
  /** Who else may import an engine. */
  readonly importers: readonly string[];
  /** Folders with engines of another kind. */
  readonly others: readonly string[];
}

const ASK = "ask a member of SqlDatabase or StoreEngine instead";

export function checkEngines(files: readonly SourceFile[], rules: EngineRules): string[] {
  return files
    .filter(({ path }) => !isIn(path, [...rules.own, ...rules.others]))
    .flatMap((file) => checkFile(file, rules));
}

function checkFile({ path, source }: SourceFile, { names, own, importers }: EngineRules): string[] {
  const problems: string[] = [];
  const lineOf = createLineFinder(source);
  const add = (node: Node, what: string): void => void problems.push(`${path}:${lineOf(node.start)} ${what}: ${ASK}`);
  // The word or a name of one: without them there is nothing to find.
  const isAboutEngines = ["engine", ...names].some((word) => source.toLowerCase().includes(word));
  visit(isAboutEngines ? parseAst(source, { lang: "ts" }) : [], (node, parent) => {
    const text = readText(node)?.toLowerCase() ?? readTemplate(node);
    if (text !== undefined && names.includes(text)) add(node, `names the store engine "${text}"`);
    if (isEngine(node) && parent && decidesBy(node, parent)) add(node, "decides by the name of an engine");
  });
  if (isIn(path, importers)) return problems;
  const folders = own.filter((place) => place.endsWith("/"));
  for (const { specifier, line } of parseModule(source).imports) {
    if (specifier.startsWith(".") && isIn(posix.join(posix.dirname(path), specifier), folders))
      problems.push(`${path}:${line} imports "${specifier}", a part of one store engine: ${ASK}`);
  }
  return problems;
}

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith("/") ? path.startsWith(place) : path === place));
}

function readTemplate(node: Node): string | undefined {
  if (node.type !== "TemplateElement") return undefined;
  const { cooked } = node["value"] as { cooked?: string };
  return cooked?.toLowerCase();
}

/** `database.engine`, or a variable of that name. */
function isEngine(node: Node): boolean {
  const name = node.type === "MemberExpression" && !node["computed"] ? node["property"] : node;
  return isNode(name) && name.type === "Identifier" && name["name"] === "engine";
}

/** Whether a name is compared, looked up or taken apart here. The table finds an engine by its name. */
function decidesBy(node: Node, parent: Node): boolean {
  const isMember = node.type === "MemberExpression";
  switch (parent.type) {
    case "BinaryExpression":
      return true;
    case "SwitchStatement":
      return parent["discriminant"] === node;
    case "MemberExpression":
      // `table[engine]`, or a method of a text; others are members of an entry of the table.
      return parent["object"] === node ? isTextMethod(parent) : parent["computed"] === true;
    case "CallExpression":
      return isMember && parent["callee"] !== node && (parent["callee"] as Node)["name"] !== "engineNamed";
    default:
      return false;
  }
}

function isTextMethod(member: Node): boolean {
  const { name } = Object(member["property"]) as { name?: string };
  return name !== undefined && name in String.prototype;
}
