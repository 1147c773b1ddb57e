// Which public declarations and members have no TSDoc, read from the syntax trees of the sources behind the entry points.
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseAst } from "vitest/node";
import { ROOT } from "./read-entries.ts";

type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>;

interface Module {
  readonly file: string;
  readonly text: string;
  /** Declarations at the top, by name; overloads of one function together. */
  readonly declared: ReadonlyMap<string, readonly { node: Node; from: number }[]>;
  /** Names that come from another module of ours. */
  readonly imported: ReadonlyMap<string, { file: string; name: string }>;
  readonly exported: ReadonlyMap<string, { file: string; name: string }>;
}

export interface PublicDocs {
  /** How many names and members were looked at. */
  readonly count: number;
  /** `file: Name` or `file: Name.member`. */
  readonly missing: readonly string[];
}

/** Looks at what the entries export, and at the members of that, inherited ones included. */
export function readPublicDocs(entries: readonly string[]): PublicDocs {
  const modules = new Map<string, Module>();
  const seen = new Set<string>();
  const missing: string[] = [];
  let count = 0;
  const load = (file: string): Module => {
    let module = modules.get(file);
    if (!module) modules.set(file, (module = readModule(file)));
    return module;
  };
  const look = (file: string, name: string): void => {
    const key = `${file}: ${name}`;
    if (seen.has(key)) return;
    seen.add(key);
    const module = load(file);
    const declarations = module.declared.get(name);
    const elsewhere = module.exported.get(name) ?? module.imported.get(name);
    if (!declarations) return elsewhere && look(elsewhere.file, elsewhere.name);
    count++;
    if (!declarations.some(({ from }) => hasDocs(module.text, from))) missing.push(key);
    for (const { node } of declarations) {
      for (const member of membersOf(node)) {
        count++;
        if (!member.documented(module.text)) missing.push(`${key}.${member.name}`);
      }
      for (const inherited of heritageOf(node)) look(file, inherited);
    }
  };
  for (const entry of entries) for (const name of load(entry).exported.keys()) look(entry, name);
  return { count, missing: [...new Set(missing)].sort() };
}

function readModule(file: string): Module {
  const text = readFileSync(join(ROOT, file), "utf8");
  const declared = new Map<string, { node: Node; from: number }[]>();
  const imported = new Map<string, { file: string; name: string }>();
  const exported = new Map<string, { file: string; name: string }>();
  const declare = (node: Node, from: number): string[] => {
    const names =
      node.type === "VariableDeclaration" ? list(node["declarations"]).map((each) => nameOf(each)) : [nameOf(node)];
    for (const name of names) declared.set(name, [...(declared.get(name) ?? []), { node, from }]);
    return names;
  };
  const { body } = parseAst(text, { lang: "ts" }) as unknown as { body: Node[] };
  for (const node of body) {
    const source = isNode(node["source"]) ? resolve(file, String(node["source"]["value"])) : undefined;
    if (node.type === "ImportDeclaration" && source) {
      for (const each of list(node["specifiers"])) {
        if (isNode(each["imported"]))
          imported.set(nameOf(each, "local"), { file: source, name: nameOf(each, "imported") });
      }
    } else if (node.type === "ExportNamedDeclaration" && isNode(node["declaration"])) {
      for (const name of declare(node["declaration"], node.start)) exported.set(name, { file, name });
    } else if (node.type === "ExportNamedDeclaration") {
      for (const each of list(node["specifiers"])) {
        exported.set(nameOf(each, "exported"), { file: source ?? file, name: nameOf(each, "local") });
      }
    } else if (node.type.endsWith("Declaration") && (isNode(node["id"]) || node.type === "VariableDeclaration")) {
      declare(node, node.start);
    }
  }
  return { file, text, declared, imported, exported };
}

interface Member {
  readonly name: string;
  documented(text: string): boolean;
}

/** Of interfaces, classes and types that are written as object literals; overloads of one name together. */
function membersOf(declaration: Node): Member[] {
  const members = new Map<string, { docs: number[] }>();
  const add = (name: string, start: number): void => {
    const known = members.get(name);
    if (known) known.docs.push(start);
    else members.set(name, { docs: [start] });
  };
  const collect = (nodes: readonly Node[]): void => {
    for (const node of nodes) {
      const name = isPublicMember(node) ? memberName(node) : undefined;
      if (name !== undefined) add(name, node.start);
      // `constructor(readonly name: string)` declares a member too.
      for (const each of isNode(node["value"]) ? list(node["value"]["params"]) : []) {
        const parameter = each["parameter"];
        if (each.type === "TSParameterProperty" && each["accessibility"] !== "private" && isNode(parameter)) {
          add(String(parameter["name"]), each.start);
        }
      }
    }
  };
  const { body, typeAnnotation } = declaration;
  if (/^(TSInterface|Class)Declaration$/.test(declaration.type) && isNode(body)) collect(list(body["body"]));
  if (isNode(typeAnnotation) && typeAnnotation.type === "TSTypeLiteral") collect(list(typeAnnotation["members"]));
  return Array.from(members, ([name, { docs }]) => ({
    name,
    documented: (text: string) => docs.some((start) => hasDocs(text, start)),
  }));
}

function isPublicMember(node: Node): boolean {
  if (node["override"] === true || node["accessibility"] === "private" || node["accessibility"] === "protected")
    return false;
  if (node["kind"] === "constructor" || node["kind"] === "set" || node.type === "StaticBlock") return false;
  return /^(TSPropertySignature|TSMethodSignature|MethodDefinition|PropertyDefinition)$/.test(node.type);
}

function memberName({ key, computed }: Node): string | undefined {
  if (!isNode(key) || computed === true || key.type === "PrivateIdentifier") return undefined;
  return String(key["name"] ?? key["value"]);
}

/** What an interface or a class extends: its members are public as well. */
function heritageOf(declaration: Node): string[] {
  const parents = [...list(declaration["extends"]), ...(isNode(declaration["superClass"]) ? [declaration] : [])];
  return parents.map((parent) => nameOf(parent, parent === declaration ? "superClass" : "expression"));
}

function hasDocs(text: string, start: number): boolean {
  // Line comments may stand between the two.
  return /\/\*\*(?:[^*]|\*(?!\/))*\*\/\s*(?:\/\/[^\n]*\n\s*)*$/.test(text.slice(0, start));
}

function resolve(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? normalize(join(dirname(from), specifier)) : undefined;
}

function nameOf(node: Node, key = "id"): string {
  const named = node[key] as Node | undefined;
  return String(named?.["name"] ?? named?.["value"]);
}

function list(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
