import { jsonReader, readArguments } from "./read-json-calls.ts";
import { cutOff, Malformed, readBounded, unexpected } from "./malformed.ts";
import { markerSet, type MarkerSet } from "./marker-set.ts";
import { readNestedValue } from "./nested-value.ts";
import { takePlainParameter } from "./plain-parameter.ts";
import { atTag, readTag, simpleTagAt, type Tag } from "./read-tag.ts";
import { readTagValue, type ValueEnds } from "./read-tag-value.ts";
import { atMarker, lookPastSpace, type Reading, skipSpace, type Source } from "./source.ts";
import { createTagInput, type TagInput } from "./tag-input.ts";
import { type TagShape, XML_STYLE } from "./tag-shape.ts";
import type { CallReader } from "./text-format.ts";

const OPEN_OBJECT = 123;

/** One call, behind its opening tag, to its closing one. It is open already. */
export function* readTagCall(reader: CallReader, shape: TagShape, tag: Tag): Reading {
  const { calls } = reader;
  const name = shape.callTags.length === 0 ? tag.name : (tag.value ?? tag.attributes.get(shape.nameAttribute));
  if (name !== undefined) calls.setName(name.trim());
  else if (shape.nameTags.length === 0) throw new Malformed(`its tag ${tag.name} has no ${shape.nameAttribute}`);
  const input = createTagInput(reader, shape.untyped);
  if (!tag.isEmpty) yield* readChildren({ reader, shape, input, call: tag, parent: tag });
  if (!calls.hasName) throw new Malformed(`it names no tool (${shape.nameTags.map((each) => `<${each}>`).join(", ")})`);
  if (!calls.isFinished) input.finish();
}

/** What is left of a call from inside the group of its parameters on. */
export function* readTagRest(context: TagContext): Reading {
  yield* readChildren(context);
  yield* readChildren({ ...context, parent: context.call });
  if (!context.reader.calls.isFinished) context.input.finish();
}

interface TagContext {
  reader: CallReader;
  shape: TagShape;
  input: TagInput;
  call: Tag;
  /** The call, or the group of parameters in it. */
  parent: Tag;
}

function* readChildren(context: TagContext): Reading {
  const { reader, shape, input, call, parent } = context;
  const { source, calls } = reader;
  const { style } = shape;
  const isXmlGroup = shape.markup === "xml" && parent !== call;
  const closeTag = `${style.close}${parent.name}${style.end}`;
  // Without its closing tag a call ends where what is around it does, or where the next one opens.
  const pastEnd = parent === call ? pastEndOf(shape, namespaceOf(call)) : undefined;
  for (;;) {
    let code = source.skipSpace();
    if (code === -1) code = yield* skipSpace(source);
    if (code === -1) throw cutOff(`before ${closeTag}`);
    if (isXmlGroup && takePlainParameter(reader, input, parent.name)) continue;
    const simple = simpleTagAt(source, style);
    let tag = simple?.tag;
    if (tag?.name !== parent.name || !tag.isClosing) {
      const isGroup = tag !== undefined && shape.groupTags.includes(tag.local);
      if (pastEnd && !isGroup && calls.hasName && (yield* atMarker(source, pastEnd))) {
        return calls.repair(`the missing ${closeTag} was added`);
      }
      if (!tag && !(yield* atTag(source, style))) {
        if (code !== OPEN_OBJECT || calls.isFinished) throw yield* unexpected(source, `a parameter or ${closeTag}`);
        yield* readJsonArguments(context, closeTag);
        continue;
      }
    }
    if (simple) source.take(simple.length);
    tag ??= yield* readTag(source, style);
    if (!tag.isClosing) yield* readChild(context, tag);
    else if (tag.name === parent.name) return;
    else if (parent !== call && tag.name === call.name) throw new Malformed(`${closeTag} is missing`);
    else throw new Malformed(`${style.close}${tag.name} closes nothing`);
  }
}

function* readChild(context: TagContext, tag: Tag): Reading {
  const { reader, shape, call, parent } = context;
  const { calls } = reader;
  if (!calls.hasName && shape.nameTags.includes(tag.local)) return yield* readName(context, tag);
  if (calls.isFinished) throw new Malformed("it has two sets of arguments");
  if (!calls.hasName) throw new Malformed("its name must stand before its parameters");
  const isGroup = parent !== call;
  if (!isGroup && shape.groupTags.includes(tag.local)) {
    if (!tag.isEmpty) yield* readChildren({ ...context, parent: tag });
    return;
  }
  if (shape.jsonTags.includes(tag.local)) {
    const close = `${shape.style.close}${tag.name}${shape.style.end}`;
    yield* readJsonArguments(context, close);
    if (!(yield* atMarker(reader.source, markerSet([close])))) throw new Malformed(`${close} is missing`);
    return void reader.source.take(close.length);
  }
  const isParameter = !isGroup && shape.parameterTags.includes(tag.local);
  const key = isParameter ? (tag.value ?? tag.attributes.get(shape.keyAttribute)) : tag.name;
  if (key === undefined) throw new Malformed(`its tag ${tag.name} has no ${shape.keyAttribute}`);
  if (!isParameter && !isGroup && !shape.childIsParameter) throw new Malformed(`<${tag.name}> is no part of a call`);
  yield* readParameter(context, tag, key.trim());
}

function* readParameter(context: TagContext, tag: Tag, key: string): Reading {
  const { reader, shape, input } = context;
  const parameter = input.begin(key, declaredAs(shape, tag));
  const text = tag.isEmpty ? "" : yield* readTagValue(reader, shape, valueEnds(context, tag), parameter.stream);
  if (!shape.isNested || parameter.isText || !text.includes(shape.style.open)) return parameter.end(text);
  const { calls, tools } = reader;
  const nested = { text, style: shape.style, tools, tool: calls.name, parameter: key, repair: calls.repair };
  parameter.endAs(readNestedValue(nested));
}

/** `string="false"` and `type="number"` mean JSON; what is declared as text is just that. */
function declaredAs(shape: TagShape, tag: Tag): "text" | "json" | undefined {
  const declared = shape.typeAttribute === undefined ? undefined : tag.attributes.get(shape.typeAttribute);
  if (declared === undefined) return undefined;
  return declared === "true" || declared === "string" ? "text" : "json";
}

/** The short way, as for parameters. */
const PLAIN_NAME = /([^<>]{1,100})<\/(\w{1,20})>/y;

function* readName({ reader, shape }: TagContext, tag: Tag): Reading {
  const close = `${shape.style.close}${tag.name}${shape.style.end}`;
  const whole = reader.source.match(PLAIN_NAME, 0);
  if (whole && whole[2] === tag.name && shape.style === XML_STYLE) {
    reader.source.take(whole[0].length);
    return reader.calls.setName(whole[1]!.trim());
  }
  let name = "";
  const pass = (piece: string): void => void (name += piece);
  const found = yield* readBounded(reader.source, markerSet([close]), { pass, limit: 1000, what: "its name" });
  reader.source.take(found.length);
  reader.calls.setName(name.replace(/^\s*<!\[CDATA\[([^]*)\]\]>\s*$/, "$1").trim());
}

function* readJsonArguments({ reader, input }: TagContext, close: string): Reading {
  if (!reader.calls.hasName) throw new Malformed("its name must stand before its arguments");
  if (input.count() > 0) throw new Malformed("it has two sets of arguments");
  yield* readArguments(reader, jsonReader(reader, { ends: markerSet([close]), quotesUntil: markerSet([close]) }));
  reader.calls.finish();
  yield* skipSpace(reader.source);
}

/** Of `ns:invoke`: `ns:`. All tags of a call have the same. */
const namespaceOf = (tag: Tag): string => tag.name.slice(0, tag.name.length - tag.local.length);

const pastEnds = new WeakMap<TagShape, Map<string, MarkerSet>>();

function pastEndOf(shape: TagShape, namespace: string): MarkerSet {
  let known = pastEnds.get(shape);
  if (!known) pastEnds.set(shape, (known = new Map()));
  let set = known.get(namespace);
  if (!set) known.set(namespace, (set = markerSet([...shape.ends, ...headsOf(shape, namespace)])));
  return set;
}

/** What the opening tag of a call begins with, up to the end of its name. */
export function headsOf({ style, callTags }: TagShape, namespace = ""): string[] {
  return callTags.flatMap((each) => ["=", " ", style.end].map((next) => `${style.open}${namespace}${each}${next}`));
}

const NEXT_TAG = /\s{0,200}<(\/?)([\w:.-]{1,80})>/y;

function valueEnds({ reader, shape, input, call, parent }: TagContext, tag: Tag): ValueEnds {
  const { style } = shape;
  const parameters = reader.tools.parametersOf(reader.calls.name);
  const isNamed = parent === call && shape.parameterTags.includes(tag.local);
  const canOpen = (name: string): boolean => {
    const local = name.slice(name.lastIndexOf(":") + 1);
    if (isNamed) return shape.parameterTags.includes(local) || shape.callTags.includes(local);
    // A parameter that the tool does not have is for the gate to refuse, with the names that it has.
    return parameters && shape.markup !== "xml" ? parameters.has(name) : name !== "";
  };
  return {
    close: `${style.close}${tag.name}${style.end}`,
    parameterHeads: isNamed ? shape.parameterTags.map((each) => `${style.open}${namespaceOf(tag)}${each}`) : [],
    callHeads: isNamed ? headsOf(shape, namespaceOf(call)) : [],
    callClose: `${style.close}${call.name}${style.end}`,
    mayEndAtCall: isNamed,
    *follows(source, at) {
      const next = style === XML_STYLE ? source.match(NEXT_TAG, at) : null;
      if (next && (next[1] === "/" ? next[2] === parent.name || next[2] === call.name : canOpen(next[2]!))) return true;
      const start = yield* lookPastSpace(source, at);
      if (source.peek(1, start) === "") return true;
      const closings = [parent.name, call.name].map((name) => `${style.close}${name}${style.end}`);
      if (yield* atMarker(source, markerSet([...closings, ...shape.ends]), start)) return true;
      const name = yield* tagNameAt(source, style.open, start);
      return name !== undefined && canOpen(name);
    },
    *beginsNext(source) {
      while (!source.ended && source.left < 160 && !source.peek(160).includes(style.end)) yield;
      const end = source.peek(160).indexOf(style.end);
      const key = /^[^=]*=\s*["']?([^"'<>\s]+)/.exec(source.peek(Math.max(0, end)))?.[1];
      return key !== undefined && !input.has(key) && (parameters ? parameters.has(key) : true);
    },
  };
}

/** The name of the tag that opens there, "" where it has none; undefined where no tag opens. */
function* tagNameAt(source: Source, open: string, at: number): Reading<string | undefined> {
  if (!(yield* atMarker(source, markerSet([open]), at))) return undefined;
  const from = at + open.length;
  while (!source.ended && source.left < from + 80 && /^[\w:.-]*$/.test(source.peek(80, from))) yield;
  return /^[\w:.-]*/.exec(source.peek(80, from))![0];
}
