// Reads what a TypeScript module imports and exports from its syntax tree, without running or resolving anything.
import { parseAst } from "vitest/node";

export interface ModuleImport {
  readonly specifier: string;
  readonly line: number;
  /** `static` runs when the module loads, `dynamic` when reached, `type` never. */
  readonly kind: "static" | "dynamic" | "type";
}

export interface ModuleExport {
  readonly name: string;
  readonly kind: "value" | "type";
}

export interface ParsedModule {
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
  /** Lines of `export * from`, which hides what it exports. */
  readonly stars: readonly number[];
  /** Lines that call the global `fetch`, not one that was passed in. */
  readonly fetches: readonly number[];
}

export type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number };

const parsed = new Map<string, ParsedModule>();

/** Several checks read the same sources. */
export function parseModule(source: string): ParsedModule {
  const known = parsed.get(source) ?? parse(source);
  parsed.set(source, known);
  return known;
}

function parse(source: string): ParsedModule {
  const imports: ModuleImport[] = [];
  const exports: ModuleExport[] = [];
  const stars: number[] = [];
  const fetches: number[] = [];
  const lineOf = createLineFinder(source);
  let ownFetch = false;

  visit(parseAst(source, { lang: "ts" }), (node, parent) => {
    const specifier = readSpecifier(node);
    if (specifier !== undefined) imports.push({ specifier, line: lineOf(node.start), kind: readImportKind(node) });
    if (node.type === "ExportAllDeclaration" && !isNode(node["exported"])) stars.push(lineOf(node.start));
    exports.push(...readExports(node));
    if (isGlobalFetchCall(node)) fetches.push(lineOf(node.start));
    if (isName(node, "fetch") && bindsName(node, parent)) ownFetch = true;
  });
  return { imports, exports, stars, fetches: ownFetch ? [] : fetches };
}

export function createLineFinder(source: string): (offset: number) => number {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}

export function visit(value: unknown, look: (node: Node, parent: Node | undefined) => void, parent?: Node): void {
  if (Array.isArray(value)) {
    for (const entry of value) visit(entry, look, parent);
  } else if (isNode(value)) {
    look(value, parent);
    for (const child of Object.values(value)) if (typeof child === "object") visit(child, look, value);
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function isName(value: unknown, name: string): boolean {
  return isNode(value) && value.type === "Identifier" && value["name"] === name;
}

export function readText(value: unknown): string | undefined {
  return isNode(value) && value.type === "Literal" && typeof value["value"] === "string" ? value["value"] : undefined;
}

function readSpecifier(node: Node): string | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return readText(node["source"]);
    case "TSExternalModuleReference":
      return readText(node["expression"]);
    case "CallExpression":
      return isName(node["callee"], "require") ? readText((node["arguments"] as readonly unknown[])[0]) : undefined;
    default:
      return undefined;
  }
}

function readImportKind(node: Node): ModuleImport["kind"] {
  if (node.type === "TSImportType" || node["importKind"] === "type" || node["exportKind"] === "type") return "type";
  return node.type === "ImportExpression" || node.type === "CallExpression" ? "dynamic" : "static";
}

function readExports(node: Node): ModuleExport[] {
  if (node.type === "ExportDefaultDeclaration") return [{ name: "default", kind: "value" }];
  if (node.type === "ExportAllDeclaration") return isNode(node["exported"]) ? [toExport(node["exported"], node)] : [];
  if (node.type !== "ExportNamedDeclaration") return [];
  const listed = (node["specifiers"] as readonly Node[]).map((each) =>
    each["exportKind"] === "type" ? toExport(each["exported"], each) : toExport(each["exported"], node),
  );
  const declaration = node["declaration"];
  if (!isNode(declaration)) return listed;
  if (declaration.type !== "VariableDeclaration") return [...listed, toExport(declaration["id"], node)];
  return [...listed, ...(declaration["declarations"] as readonly Node[]).map((each) => toExport(each["id"], node))];
}

function toExport(name: unknown, holder: Node): ModuleExport {
  const text = isNode(name) ? (name["name"] ?? name["value"]) : undefined;
  if (typeof text !== "string") throw new Error("An export with a pattern for a name: export each name by itself.");
  return { name: text, kind: holder["exportKind"] === "type" ? "type" : "value" };
}

function isGlobalFetchCall(node: Node): boolean {
  if (node.type !== "CallExpression") return false;
  const callee = node["callee"];
  if (isName(callee, "fetch")) return true;
  return isNode(callee) && isName(callee["object"], "globalThis") && isName(callee["property"], "fetch");
}

const BINDERS = new Set([
  "ImportSpecifier",
  "VariableDeclarator",
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "AssignmentPattern",
]);

/** Whether a name is introduced here: a parameter, a variable, an import, or an entry of a destructured object. */
function bindsName(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined) return false;
  if (parent.type === "Property") return parent["value"] === node;
  if (parent.type === "VariableDeclarator") return parent["id"] === node;
  if (parent.type === "AssignmentPattern") return parent["left"] === node;
  if (parent.type === "ArrowFunctionExpression") return parent["body"] !== node;
  return BINDERS.has(parent.type);
}
