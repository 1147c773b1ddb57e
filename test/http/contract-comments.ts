// The comments of the contracts' fields, read from the syntax trees of their sources: schemas do not carry them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";
import { ROOT } from "../architecture/read-entries.ts";

type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>;

/** `CallRequest` → the comment of the shape, `CallRequest.id` → that of its field. */
export function readContractComments(): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  const folder = join(ROOT, "src", "contracts");
  for (const file of readdirSync(folder)) {
    if (file.endsWith(".ts") && !file.includes(".test.")) readFile(readFileSync(join(folder, file), "utf8"), comments);
  }
  return comments;
}

function readFile(text: string, comments: Map<string, string>): void {
  const { body } = parseAst(text, { lang: "ts" }) as unknown as { body: Node[] };
  const constants = new Map<string, Node>();
  for (const statement of body) {
    const declaration = isNode(statement["declaration"]) ? statement["declaration"] : statement;
    for (const each of list(declaration["declarations"])) {
      if (!isNode(each["init"])) continue;
      constants.set(nameOf(each["id"]), each["init"]);
      const shape = shapeOf(each["init"]);
      if (shape === undefined) continue;
      const comment = commentBefore(text, statement.start);
      if (comment) comments.set(shape.id, comment);
      collectFields(shape.schema, shape.id);
    }
  }

  /** Fields of the outermost objects: those of a union, of `extend` and of spreads too. */
  function collectFields(node: Node, id: string): void {
    if (node.type === "ObjectExpression") {
      for (const property of list(node["properties"])) {
        if (property.type === "SpreadElement") follow(property["argument"], id);
        const key = `${id}.${nameOf(property["key"])}`;
        const comment = commentBefore(text, property.start);
        if (comment && !comments.has(key)) comments.set(key, comment);
      }
      return;
    }
    if (node.type === "MemberExpression") follow(node["object"], id);
    else if (node.type === "Identifier") follow(node, id);
    else for (const child of Object.values(node).flat()) if (isNode(child)) collectFields(child, id);
  }

  function follow(value: unknown, id: string): void {
    const constant = isNode(value) ? (value.type === "Identifier" ? constants.get(nameOf(value)) : value) : undefined;
    if (constant === undefined) return;
    collectFields(shapeOf(constant)?.schema ?? constant, id);
  }
}

/** Of `named("CallRequest", …)` and `namedObject("CallRequest", …)`. */
function shapeOf(node: Node): { id: string; schema: Node } | undefined {
  if (node.type !== "CallExpression" || !/^named(?:Object)?$/.test(nameOf(node["callee"]))) return undefined;
  const [id, schema] = list(node["arguments"]);
  return schema ? { id: String(id?.["value"]), schema } : undefined;
}

function commentBefore(text: string, start: number): string | undefined {
  const found = /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*$/.exec(text.slice(0, start))?.[1];
  return found?.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim();
}

function nameOf(node: unknown): string {
  return isNode(node) ? String(node["name"] ?? node["value"]) : "";
}

function list(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
