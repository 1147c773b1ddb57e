import { Malformed } from "./malformed.ts";
import { markerPattern } from "./marker-set.ts";
import type { TagStyle } from "./read-tag.ts";
import type { ToolTable } from "./tool-table.ts";
import { typeValue } from "./type-value.ts";

interface Element {
  name: string;
  text: string;
  children: Element[];
}

type Path = readonly (string | number)[];

const MAX_DEPTH = 64;

export interface NestedValue {
  text: string;
  style: TagStyle;
  tools: ToolTable;
  tool: string;
  parameter: string;
  repair(what: string): void;
}

/** A value whose members are tags: an object, or a list where the schema wants one or where a tag repeats. */
export function readNestedValue({ text, style, tools, tool, parameter, repair }: NestedValue): unknown {
  const convert = ({ children, text: inside }: Element, path: Path): unknown => {
    const types = tools.typesAt(tool, path);
    if (children.length === 0) return typeValue(inside, types, { untyped: "json", repair });
    if (types?.has("array") && !types.has("object")) return children.map((child, at) => convert(child, [...path, at]));
    const object: Record<string, unknown> = {};
    for (const child of children) {
      const value = convert(child, [...path, child.name]);
      const before = object[child.name];
      if (!Object.hasOwn(object, child.name)) object[child.name] = value;
      else if (Array.isArray(before)) before.push(value);
      else object[child.name] = [before, value];
    }
    return object;
  };
  return convert(parseElements(text, style, parameter), [parameter]);
}

function parseElements(text: string, style: TagStyle, name: string): Element {
  const [open, close, end] = [style.open, style.close, style.end].map(markerPattern);
  const root: Element = { name, text: "", children: [] };
  const stack = [root];
  let from = 0;
  for (const tag of text.matchAll(new RegExp(`(?:(${close})|${open})([A-Za-z_][\\w.-]{0,60})${end}`, "g"))) {
    const here = stack.at(-1)!;
    here.text += text.slice(from, tag.index);
    from = tag.index + tag[0].length;
    if (tag[1] === undefined) {
      if (tag[2] === "__proto__") throw new Malformed('a parameter cannot be named "__proto__"');
      if (stack.length > MAX_DEPTH) throw new Malformed("its values are nested too deeply", "input_too_large");
      const element = { name: tag[2]!, text: "", children: [] };
      here.children.push(element);
      stack.push(element);
    } else if (here === root || here.name !== tag[2]) throw new Malformed(`${tag[0]} closes nothing`);
    else stack.pop();
  }
  if (stack.length > 1) throw new Malformed(`the tag ${stack.at(-1)!.name} is not closed`);
  root.text += text.slice(from);
  return root;
}
