import type { AnyTool } from "../../../core/tool.ts";
import { type Authority, AUTHORITIES, FIELD_TRUSTS, type FieldTrust } from "../../../core/call-summary.ts";
import { isObject, type JsonSchema } from "../../../schema/json-schema.ts";

/** `other`: a text of no known kind. `none`: a number, a date, a switch. */
export type ArgumentRole = Authority | "other" | "none";

/** Corrections of a user for tools that match. */
export interface RoleCorrections {
  /** By the name of a field; `*` is every other field. */
  results?: Readonly<Record<string, FieldTrust>>;
  /** By the name of an argument. */
  arguments?: Readonly<Record<string, Authority>>;
}

/** One text or number of an input. */
export interface Argument {
  path: string;
  value: string;
  role: ArgumentRole;
  /** It opens something to everybody, whoever else is named. */
  exposes?: true;
}

const WORDS: Record<Exclude<ArgumentRole, "other">, string> = {
  destination:
    "to recipient recipients receiver receivers addressee addressees wallet cc bcc email emails mail participant participants attendee attendees invitee invitees guest guests member members user users username channel channels url urls uri link href host hostname domain endpoint webhook callback iban account payee beneficiary phone address destination dest assignee reviewer room chat remote server",
  target: "id ids path paths file files filename folder directory attachment attachments key branch",
  privilege:
    "password passphrase secret token credential role roles permission permissions scope scopes access owner visibility audience policy",
  code: "command cmd code script sql query expression shell",
  content:
    "body subject content contents text message messages title description note notes comment comments summary caption label location reason",
  amount: "amount price quantity",
  none: "date dates time times day days start end at deadline count limit page recurring until duration type kind mode status",
};
const BY_WORD = new Map(
  Object.entries(WORDS).flatMap(([role, words]) => words.split(" ").map((word) => [word, role as ArgumentRole])),
);
/** Names of switches, and values, that open something to everybody. */
const EXPOSING = /^(?:public|publicly|everyone|everybody|anyone|anybody|world|internet|external|anonymous)$/;
const DESTINATION_FORMATS = new Set(
  "email idn-email uri uri-reference url iri hostname idn-hostname ipv4 ipv6".split(" "),
);
const DESTINATION_TEXT = /\b(iban|e-?mail address|recipient|url|web ?hook|phone number|bank account)\b/i;

/** A code that nobody runs: `discount_code`. */
const PLAIN_CODE = /^(?:discount|coupon|promo|voucher|zip|postal|country|currency|area|lang|language)$/;

/** The role of one argument: as its schema says, else by its format and the words of its name. */
function roleOf(name: string, schema: JsonSchema): ArgumentRole {
  const given = schema["x-haft-authority"];
  if (AUTHORITIES.includes(given as Authority)) return given as Authority;
  const { format, description } = schema;
  if (typeof format === "string") {
    if (DESTINATION_FORMATS.has(format)) return "destination";
    if (/date|time|duration/.test(format)) return "none";
  }
  const words = wordsOf(name).reverse();
  if (words[0] === "code" && PLAIN_CODE.test(words[1] ?? "")) return "other";
  const byName = words.map((word) => BY_WORD.get(word)).find((role) => role !== undefined);
  const types = typesOf(schema);
  const isOnly = (...allowed: string[]): boolean => types.length > 0 && types.every((type) => allowed.includes(type));
  if (isOnly("boolean", "null")) return "none";
  if (isOnly("number", "integer", "null")) {
    // The number of an account or a chat; `to` is the end of a range.
    const isPlace = byName === "destination" && words[0] !== "to";
    return byName === "target" || byName === "amount" || isPlace ? byName : "none";
  }
  if (schema["enum"] !== undefined || schema["const"] !== undefined)
    return byName === "privilege" ? "privilege" : "none";
  if (byName !== undefined) return byName;
  return typeof description === "string" && DESTINATION_TEXT.test(description) ? "destination" : "other";
}

/** The words of a name, in small letters. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** A key such as `type` or `file_id` names a field, and no person or place, also if no schema declares it. */
function isFieldName(key: string): boolean {
  return (
    /^[a-z_]+$/i.test(key) && wordsOf(key).every((word) => /^(?:target|none|content)$/.test(BY_WORD.get(word) ?? ""))
  );
}

/** `everyone`, `public-read`, `anyoneWithLink`; not a word of a sentence. */
function exposingWord(value: string): string | undefined {
  const trimmed = value.trim();
  return trimmed.length <= 60 && !/\s/.test(trimmed) ? wordsOf(trimmed).find((each) => EXPOSING.test(each)) : undefined;
}

export function isStrong(role: ArgumentRole): boolean {
  return role === "destination" || role === "privilege" || role === "code";
}

function typesOf({ type, anyOf, oneOf }: JsonSchema): string[] {
  const own = type === undefined ? [] : ([type].flat() as string[]);
  return [
    ...own,
    ...[anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.filter(isObject).flatMap(typesOf) : [])),
  ];
}

/** What the gate knows about the values that a tool takes and returns. */
export interface ToolRoles {
  /** Every text and number of an input, with its role. */
  argumentsOf(input: unknown): Argument[];
  /** The roles of the arguments that the schema names, for people. */
  readonly authority: Readonly<Record<string, ArgumentRole>>;
  /** Who made a field; undefined if nobody says. */
  trustOf(field: string, schema: JsonSchema | undefined): FieldTrust | undefined;
  /** The labelled fields of results, for people. */
  readonly trust: Readonly<Record<string, FieldTrust>>;
  /** The schema of results. */
  readonly output: JsonSchema | undefined;
  /** Whether its schema, or the user, says what an argument is. */
  readonly isExplicit: boolean;
  /** A tool of a server, of whose results nobody says who made them. */
  readonly isUnlabelled: boolean;
  /** Its server says nothing that is believed, but its name says that it only reads. */
  readonly seemsReadOnly: boolean;
  /** Whether its schema, or the user, says what this argument is. */
  isLabelled(path: string): boolean;
}

const MAX_DEPTH = 12;

/**
 * Arguments of Haft's own tools that decide nothing: paths of files have previews and undo, folders of commands are confined,
 * the calls of a program are judged one by one, and a reference to an element or a key to press names no place.
 */
const OWN_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  edit: ["path"],
  edit_notebook: ["path", "cell_id"],
  apply_patch: ["working_directory"],
  move_file: ["from", "to", "path"],
  delete_file: ["path"],
  exec: ["working_directory"],
  process: ["id"],
  update_artifact: ["id"],
  rewrite_artifact: ["id"],
  run_code: ["code"],
  canvas: ["script"],
  browser: ["toRef", "key"],
};

/**
 * A server of somebody else cannot vouch for its own results, nor say that an argument is harmless: of its labels only the
 * strict ones count, until the user's configuration repeats them.
 */
export function rolesOf(tool: AnyTool, corrections: readonly RoleCorrections[]): ToolRoles {
  const isForeign = tool.origin.type === "mcp" || tool.origin.type === "client";
  const [verb = "", ...others] = wordsOf(tool.name.replace(/^.*__/, ""));
  const own = tool.origin.type === "builtin" && Object.hasOwn(OWN_ARGUMENTS, tool.name) ? OWN_ARGUMENTS[tool.name] : [];
  const given = Object.assign(
    Object.fromEntries(own?.map((each) => [each, "content"]) ?? []),
    ...corrections.map((each) => each.arguments),
  ) as Record<string, Authority>;
  const results = Object.assign({}, ...corrections.map((each) => each.results)) as Record<string, FieldTrust>;
  const input = tool.parameters.jsonSchema;
  const output = tool.output?.jsonSchema;
  const role = (name: string, schema: JsonSchema): ArgumentRole => {
    const corrected = Object.hasOwn(given, name) ? given[name] : undefined;
    if (corrected !== undefined) return corrected;
    const label = schema["x-haft-authority"];
    const isRelief = label === "content" || label === "amount";
    return roleOf(name, isForeign && isRelief ? { ...schema, "x-haft-authority": undefined } : schema);
  };
  const labelOf = (schema: JsonSchema | undefined): FieldTrust | undefined => {
    const label = schema?.["x-haft-trust"];
    return FIELD_TRUSTS.find((each) => each === label && (!isForeign || each === "others"));
  };
  const trustOf = (field: string, schema: JsonSchema | undefined): FieldTrust | undefined => {
    const corrected = Object.hasOwn(results, field) ? results[field] : undefined;
    if (corrected !== undefined) return corrected;
    return labelOf(schema) ?? results["*"] ?? labelOf(output);
  };
  const whole = resolved(input, input);
  const known = new WeakMap<JsonSchema, Map<string, ReturnType<RoleOf>>>();
  const roleOfProperty: RoleOf = (name, declared) => {
    if (!declared) return { schema: {}, role: role(name, {}) };
    const byName = known.get(declared) ?? new Map<string, ReturnType<RoleOf>>();
    let found = byName.get(name);
    if (!found) {
      const schema = resolved(input, declared);
      byName.set(name, (found = { schema, role: role(name, schema) }));
      known.set(declared, byName);
    }
    return found;
  };
  const authority: Record<string, ArgumentRole> = {};
  const trust: Record<string, FieldTrust> = { ...results };
  let isExplicit = Object.keys(given).length > 0;
  const labelled = new Set<string>();
  eachProperty(input, input, (path, name, schema) => {
    authority[path] = role(name, schema);
    const isLabelled = !isForeign && schema["x-haft-authority"] !== undefined;
    if (isLabelled) isExplicit = true;
    if (isLabelled || Object.hasOwn(given, name)) labelled.add(path);
  });
  if (output) {
    const whole = trustOf("*", output);
    if (whole) trust["*"] = whole;
    eachProperty(output, output, (path, name, schema) => {
      const label = trustOf(name, schema);
      if (label && label !== trust["*"]) trust[path] = label;
    });
  }
  return {
    argumentsOf: (value) => argumentsOf(value, whole, roleOfProperty),
    authority,
    trustOf,
    trust,
    output,
    isExplicit,
    isUnlabelled: isForeign && Object.keys(trust).length === 0,
    seemsReadOnly: isForeign && tool.kind === "execute" && READS.test(verb) && !others.some((word) => ACTS.test(word)),
    isLabelled: (path) => labelled.has(path),
  };
}

function eachProperty(
  root: JsonSchema,
  schema: JsonSchema,
  visit: (path: string, name: string, schema: JsonSchema) => void,
  path = "",
  depth = 0,
): void {
  if (depth > MAX_DEPTH) return;
  const at = resolved(root, schema);
  const items = itemsOf(root, at);
  if (items) eachProperty(root, items, visit, `${path}[]`, depth + 1);
  const { properties } = at;
  if (!isObject(properties)) return;
  for (const [name, below] of Object.entries(properties)) {
    if (!isObject(below)) continue;
    const field = path === "" ? name : `${path}.${name}`;
    visit(field, name, resolved(root, below));
    eachProperty(root, below, visit, field, depth + 1);
  }
}

/** Follows a reference into the document, and a single alternative beside `null`. */
export function resolved(root: JsonSchema, schema: JsonSchema | undefined): JsonSchema {
  let at = schema ?? {};
  for (let i = 0; i < MAX_DEPTH; i++) {
    const { $ref, allOf } = at;
    const name = typeof $ref === "string" ? /^#\/(\$defs|definitions)\/(.+)$/.exec($ref) : undefined;
    const defs = name && root[name[1] ?? ""];
    const target = isObject(defs)
      ? defs[name?.[2] ?? ""]
      : Array.isArray(allOf) && allOf.length === 1
        ? allOf[0]
        : undefined;
    if (!isObject(target)) break;
    const { $ref: _ref, allOf: _all, ...own } = at;
    at = { ...target, ...own };
  }
  if (at["properties"] !== undefined || at["items"] !== undefined) return at;
  const alternatives = [at["anyOf"], at["oneOf"]].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
  const only = alternatives.filter(({ type }) => type !== "null");
  return only.length === 1 && only[0] ? { ...resolved(root, only[0]), ...at } : at;
}

export function itemsOf(root: JsonSchema, { items }: JsonSchema): JsonSchema | undefined {
  return isObject(items) ? resolved(root, items) : undefined;
}

type RoleOf = (name: string, declared: JsonSchema | undefined) => { schema: JsonSchema; role: ArgumentRole };

function argumentsOf(input: unknown, root: JsonSchema, roleOfProperty: RoleOf): Argument[] {
  const found: Argument[] = [];
  const walk = (value: unknown, schema: JsonSchema, path: string, role: ArgumentRole, depth: number): void => {
    if (value === null || value === undefined || value === false) return;
    const isRight = role === "none" || role === "privilege";
    if (
      value === true ||
      value === 1 ||
      (typeof value === "string" && /^\s*(?:true|yes|on|1|enabled)\s*$/i.test(value))
    ) {
      const word = wordsOf(/[^.]*$/.exec(path)?.[0] ?? "").find((each) => EXPOSING.test(each));
      if (word !== undefined && (isRight || role === "other"))
        return void found.push({ path, value: word, role: "privilege", exposes: true });
      if (value === true) return;
    }
    const exposing = isRight && !isObject(value) && !Array.isArray(value) ? exposingWord(String(value)) : undefined;
    // Nobody knows what is so deep.
    if (depth > MAX_DEPTH * 2) found.push({ path, value: "…", role: "destination" });
    else if (Array.isArray(value)) {
      const item = itemsOf(root, schema) ?? {};
      value.forEach((one, at) => walk(one, item, `${path}[${at}]`, role, depth + 1));
    } else if (isObject(value)) {
      const { properties } = schema;
      for (const [key, one] of Object.entries(value)) {
        const declared = isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
        const own = roleOfProperty(key, isObject(declared) ? declared : undefined);
        const below = path === "" ? key : `${path}.${key}`;
        // The key is data: a map of addresses, for example.
        // Anyone may have the name `comment`, so below a recipient or a right each key is data.
        const isData = path === "" ? !/^\w+$/.test(key) : isStrong(role) || !isFieldName(key);
        if (!declared && EXPOSING.test(key.toLowerCase()) && one !== null && typeof one !== "boolean")
          found.push({ path: below, value: key, role: "privilege", exposes: true });
        else if (!declared && isData) found.push({ path: below, value: key, role });
        walk(one, own.schema, below, own.role === "other" && path !== "" ? role : own.role, depth + 1);
      }
    } else if (exposing !== undefined) found.push({ path, value: exposing, role: "privilege", exposes: true });
    else if (String(value).trim() !== "") found.push({ path, value: String(value), role });
  };
  walk(input, root, "", "none", 0);
  return found;
}

/** A tool that only makes a new thing names it freely. One that may replace what is there does not. */
export function makesSomethingNew(toolName: string): boolean {
  const name = wordsOf(toolName);
  return (
    /^(?:create|make|new|draft|generate|compose)$/.test(name[0] ?? "") && !name.some((word) => REPLACES.test(word))
  );
}

const REPLACES = /^(?:update|upsert|replace|overwrite|edit|set|write|save)$/;

/** `get_unread_emails`, not `get_and_delete`. */
const READS = /^(?:check|count|describe|find|get|list|read|search|show|view)$/;
const ACTS =
  /^(?:accept|access|add|and|apply|approve|archive|assign|book|buy|cancel|change|charge|clear|close|commit|confirm|copy|create|delete|deploy|disable|do|drop|edit|enable|execute|export|fix|forward|generate|grant|import|in|insert|install|invite|join|key|kill|link|login|make|mark|merge|modify|move|new|open|or|out|pay|pin|post|publish|purchase|push|put|refund|register|reject|release|remove|rename|replace|reply|request|reserve|reset|resolve|restart|restore|revoke|rotate|run|save|schedule|send|set|share|sign|start|stop|submit|subscribe|sync|then|token|transfer|trigger|unlock|unsubscribe|update|upload|use|verify|write)$/;
