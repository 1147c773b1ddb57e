import { type } from "arktype";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { textOf } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import type { SchemaSource } from "../schema/infer.ts";
import { createHaft } from "../runtime.ts";
import { INPUT_LIMITS } from "../core/parse-json.ts";

/** The input that a tool with these parameters gets, and the messages about it. */
async function send(parameters: SchemaSource, input: unknown, more: object = {}) {
  let got: unknown = "never run";
  const haft = createHaft({
    tools: [
      createTool({
        name: "echo",
        description: "",
        parameters,
        permission: "auto",
        run: (value: unknown) => void (got = value),
        ...more,
      }),
    ],
  });
  const result = await haft.execute("echo", input);
  const message = result.status === "failed" ? result.error.message : "";
  return { result, message, got, repairs: result.metadata.repairs };
}

const one = (name: string, property: object, required = true) =>
  ({
    type: "object",
    properties: { [name]: property },
    ...(required ? { required: [name] } : {}),
    additionalProperties: false,
  }) as SchemaSource;

describe("input repair", () => {
  test.each([
    ["a numeric text", { type: "integer" }, "42", 42],
    ["a numeric text with blanks", { type: "number" }, " 4.5 ", 4.5],
    ["a numeric text with an exponent", { type: "number" }, "1e3", 1000],
    ["a numeric text for a limited number", { type: "integer", minimum: 1 }, "7", 7],
    ["a numeric text for one of several numbers", { enum: [1, 2] }, "2", 2],
    ["true as text", { type: "boolean" }, "true", true],
    ["false in capitals", { type: "boolean" }, "FALSE", false],
    ["a list encoded twice", { type: "array", items: { type: "number" } }, "[1, 2]", [1, 2]],
    ["an object encoded twice", { type: "object", additionalProperties: true }, '{"a":1}', { a: 1 }],
    ["a single value for a list", { type: "array", items: { type: "string" } }, "a", ["a"]],
    [
      "a single object for a list",
      { type: "array", items: { type: "object", additionalProperties: true } },
      { a: 1 },
      [{ a: 1 }],
    ],
  ])("repairs %s and reports it", async (_what, property, value, expected) => {
    const { got, repairs, result } = await send(one("x", property), { x: value });
    expect(result.status).toBe("completed");
    expect(got).toEqual({ x: expected });
    expect(repairs).toHaveLength(1);
    expect(repairs![0]).toMatch(/^x: /);
  });

  test("reads null as not given, for an optional parameter", async () => {
    const { got, repairs } = await send(one("x", { type: "string" }, false), { x: null });
    expect(got).toEqual({});
    expect(repairs).toEqual(["x: null was treated as missing"]);
  });

  test("keeps null if the schema accepts it", async () => {
    const { got, repairs } = await send(one("x", { type: ["string", "null"] }), { x: null });
    expect(got).toEqual({ x: null });
    expect(repairs).toBeUndefined();
  });

  test("works at every depth, and for every schema library", async () => {
    const deep = z.object({ edits: z.array(z.object({ line: z.number(), all: z.boolean().optional() })) });
    const { got, repairs } = await send(deep, {
      edits: [
        { line: "5", all: "true" },
        { line: 6, all: null },
      ],
    });
    expect(got).toEqual({ edits: [{ line: 5, all: true }, { line: 6 }] });
    expect(repairs!.map((repair) => repair.split(":")[0])).toEqual(["edits[0].line", "edits[0].all", "edits[1].all"]);
    expect((await send(type({ n: "number" }), { n: "5" })).got).toEqual({ n: 5 });
  });

  test("reports that a declared alias of a parameter was used", async () => {
    const { got, repairs } = await send(
      one("path", { type: "string" }),
      { file: "a" },
      { parameterAliases: { file: "path" } },
    );
    expect(got).toEqual({ path: "a" });
    expect(repairs).toEqual([expect.stringContaining("file")]);
  });

  test("does not change valid input, even if it looks wrong", async () => {
    const { got, repairs } = await send(one("x", { type: "string" }), { x: "42" });
    expect(got).toEqual({ x: "42" });
    expect(repairs).toBeUndefined();
  });

  test.each([
    ["yes for a boolean", { type: "boolean" }, "yes"],
    ["1 for a boolean", { type: "boolean" }, 1],
    ["a number for a text", { type: "string" }, 5],
    ["an empty text for a number", { type: "number" }, ""],
    ["a number with a comma", { type: "number" }, "1,000"],
    ["a number with a unit", { type: "number" }, "5px"],
    ["a hexadecimal number", { type: "number" }, "0x10"],
    ["a number that is none", { type: "number" }, "NaN"],
    ["a number without end", { type: "number" }, "1e999"],
    ["a number that would lose digits", { type: "integer" }, "9007199254740993"],
    ["a fraction for an integer", { type: "integer" }, "5.5"],
    ["null for a required parameter", { type: "string" }, null],
    ["a list for a single value", { type: "string" }, ["a"]],
    ["a list that breaks off", { type: "array", items: { type: "string" } }, '["a", "b'],
    ["an object with a key twice", { type: "object", additionalProperties: true }, '{"a":1,"a":2}'],
    ["an item that is null", { type: "array", items: { type: "string" } }, ["a", null]],
    ["text that decodes to half a character", { type: "array", items: { type: "string" } }, '["\\ud800"]'],
    ["a number outside its range", { type: "integer", maximum: 3 }, "5"],
  ])("does not guess at %s", async (_what, property, value) => {
    const { result, got } = await send(one("x", property), { x: value });
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_input", actor: "model" } });
    expect(got).toBe("never run");
  });

  test("never shifts the items of a list", async () => {
    const sparse = z.object({ x: z.array(z.string().optional()) });
    expect((await send(sparse, { x: ["a", null, "b"] })).result.status).toBe("failed");
  });

  test("quotes only the beginning of a long text", async () => {
    const { repairs } = await send(one("x", { type: "number" }), { x: `${" ".repeat(100_000)}5` });
    expect(repairs![0]!.length).toBeLessThan(200);
  });

  test("accepts no unknown parameter in decoded input", async () => {
    const schema = z.object({ edits: z.array(z.object({ old: z.string() })) });
    const { result, message } = await send(schema, { edits: '[{"old":"a","nwe":"b"}]' });
    expect(result.status).toBe("failed");
    expect(message).toContain("edits[0].nwe");
  });
});

describe("a repair that reveals another", () => {
  const numbers = { type: "array", items: { type: "number" } };
  test.each([
    ["a single numeric text for a list of numbers", numbers, "3", [3]],
    ["numeric texts in a list encoded twice", numbers, '["1","2"]', [1, 2]],
    ["a flag as text in an object encoded twice", one("on", { type: "boolean" }), '{"on":"true"}', { on: true }],
  ])("repairs %s, and reports both", async (_what, property, sent, got) => {
    const sending = await send(one("value", property), { value: sent });
    expect(sending.got).toEqual({ value: got });
    expect(sending.repairs?.length).toBeGreaterThan(1);
  });

  test("ends for a recursive schema", async () => {
    const tree = { $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } };
    const parameters = { ...tree, type: "object", properties: { list: { $ref: "#/$defs/list" } } } as SchemaSource;
    expect((await send(parameters, { list: "leaf" })).result).toMatchObject({ error: { code: "invalid_input" } });
  });
});

describe("an unknown parameter", () => {
  const file = z.object({ file_path: z.string(), options: z.object({ encoding: z.string() }).optional() });

  test("is an error that names the nearest one, not a silent drop", async () => {
    const { message, got } = await send(file, { file_path: "a", file_pat: "b" });
    expect(message).toContain('file_pat: unknown parameter. Did you mean "file_path"?');
    expect(got).toBe("never run");
  });

  test("lists all parameters if none is similar", async () => {
    expect((await send(file, { file_path: "a", zzzzzz: 1 })).message).toContain(
      "Known parameters: file_path, options.",
    );
    expect((await send([], { anything: 1 })).message).toContain("There are no parameters here.");
  });

  test("is found inside objects, lists and references", async () => {
    expect((await send(file, { file_path: "a", options: { encodng: "x" } })).message).toContain(
      'options.encodng: unknown parameter. Did you mean "encoding"?',
    );
    const list = z.object({ items: z.array(z.object({ id: z.string() })) });
    expect((await send(list, { items: [{ id: "1" }, { id: "2", idd: "3" }] })).message).toContain(
      "items[1].idd: unknown",
    );
    const reference = {
      type: "object",
      properties: { node: { $ref: "#/$defs/node" } },
      $defs: { node: { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/$defs/node" } } } },
    } as SchemaSource;
    expect((await send(reference, { node: { name: "a", next: { nam: "b" } } })).message).toContain(
      "node.next.nam: unknown",
    );
  });

  test("is reported with every other problem of the call", async () => {
    const { message } = await send(file, { file_pat: "b", options: { encoding: 5 } });
    expect(message).toMatch(/file_pat: unknown/);
    expect(message).toMatch(/file_path: /);
    expect(message).toMatch(/options\.encoding: /);
  });

  test.each([
    ["true", { type: "object", properties: { a: {} }, additionalProperties: true }],
    ["a schema", { type: "object", properties: { a: {} }, additionalProperties: { type: "number" } }],
    [
      "a pattern",
      { type: "object", properties: { a: {} }, patternProperties: { "^x-": {} }, additionalProperties: false },
    ],
    ["an object of any kind", { type: "object" }],
  ])("is admitted where the schema says so (%s)", async (_how, schema) => {
    expect((await send(schema as SchemaSource, { "x-more": 1 })).got).toEqual({ "x-more": 1 });
  });

  test("is accepted by passthrough and loose objects, records and unions that know it", async () => {
    expect((await send(z.looseObject({ a: z.number() }), { a: 1, b: 2 })).got).toEqual({ a: 1, b: 2 });
    expect((await send(z.object({ env: z.record(z.string(), z.string()) }), { env: { ANY: "x" } })).result.status).toBe(
      "completed",
    );
    const union = z.object({ target: z.union([z.object({ file: z.string() }), z.object({ url: z.string() })]) });
    expect((await send(union, { target: { url: "u" } })).result.status).toBe("completed");
  });

  test("is also one that only another alternative of a discriminated union knows", async () => {
    const move = z.object({ type: z.literal("move"), to: z.string() });
    const remove = z.object({ type: z.enum(["remove", "purge"]), force: z.boolean().optional() });
    const nested = z.object({ steps: z.array(z.discriminatedUnion("type", [move, remove])) });
    const sent = await send(nested, { steps: [{ type: "move", to: "b", force: true }] });
    expect(sent.message).toContain("steps[0].force: unknown parameter");
    expect((await send(nested, { steps: [{ type: "purge", force: true }] })).result.status).toBe("completed");
    const top = z.discriminatedUnion("type", [move, remove]);
    expect((await send(top, { type: "remove", to: "b" })).message).toContain("to: unknown parameter");
    expect((await send(top, { type: "move", to: "b" })).result.status).toBe("completed");
  });

  test("is accepted if it is the name in another dialect", async () => {
    const dialects = { claude: { name: "Echo", parameters: { path: "file_path" } } };
    expect((await send(one("path", { type: "string" }), { file_path: "a" }, { dialects })).got).toEqual({ path: "a" });
    const both = await send(one("path", { type: "string" }), { file_path: "a", path: "b" }, { dialects });
    expect(both.message).toContain('the same as "path"');
  });
});

describe("an input as text", () => {
  const any = { type: "object", additionalProperties: true } as SchemaSource;

  test("is parsed; an empty text means no parameters", async () => {
    expect((await send(any, '{"a":[1,{"b":null}]}')).got).toEqual({ a: [1, { b: null }] });
    expect((await send(any, "")).got).toEqual({});
    expect((await send(any, " \n ")).got).toEqual({});
  });

  test("that was encoded twice is decoded twice, and that is reported", async () => {
    const { got, repairs } = await send(any, JSON.stringify(JSON.stringify({ a: 1 })));
    expect(got).toEqual({ a: 1 });
    expect(repairs).toEqual(["the input was JSON encoded twice"]);
    expect((await send(any, JSON.stringify(JSON.stringify(JSON.stringify({ a: 1 }))))).result.status).toBe("failed");
  });

  test("keeps the note about its encoding if there are more repairs", async () => {
    const { repairs } = await send(one("n", { type: "integer" }), JSON.stringify('{"n":"5"}'));
    expect(repairs).toHaveLength(2);
  });

  test.each([
    ["is not JSON", "{a: 1}", /not valid JSON/],
    ["breaks off", '{"a": "b', /not valid JSON/],
    ["has words around it", 'Here you are: {"a":1}', /not valid JSON/],
    ["is a list", "[1]", /must be an object of parameters, got a list/],
    ["is a number", "5", /got a number/],
    ["is null", "null", /got null/],
    ["has a key twice", '{"a":1,"b":2,"a":3}', /"a" occurs twice/],
    ["has a key twice, once escaped", '{"a":1,"\\u0061":3}', /"a" occurs twice/],
    ["has a key twice deep inside", '{"x":[{"a":1,"a":3}]}', /"a" occurs twice/],
    ["has __proto__ as a key", '{"__proto__":{"admin":true}}', /__proto__/],
    ["has an escaped __proto__ as a key", '{"\\u005f_proto__":1}', /__proto__/],
    ["has __proto__ deep inside", '{"a":[{"__proto__":1}]}', /__proto__/],
    ["has a number too large", '{"a":1e400}', /too large/],
    ["has an integer that would lose digits", '{"a":9007199254740993}', /lose digits/],
    ["has a negative integer that would lose digits", '{"a":-12345678901234567890}', /lose digits/],
    ["has half of a character", '{"a":"\\ud83d"}', /half of a surrogate pair/],
    ["has half of a character in a key", '{"\\ud83d":1}', /half of a surrogate pair/],
  ])("that %s is refused", async (_what, text, message) => {
    const sent = await send(any, text);
    expect(sent.result).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    expect(sent.message).toMatch(message);
    expect(sent.got).toBe("never run");
  });

  test.each([
    ["keys that only look alike", '{"a":{"a":1},"b":{"a":2}}'],
    ["a value that reads like a key", '{"a":"a","b":"a"}'],
    ["quotes, backslashes and brackets in texts", '{"a":"\\"}]{[\\\\","b\\"":1}'],
    ["large integers that are exact", '{"a":9007199254740992,"b":-9007199254740991}'],
    ["numbers of every form", '{"a":-0,"b":1.5e-3,"c":[0.1,1E5]}'],
    ["whole characters", '{"a":"\\ud83d\\ude00 漢"}'],
    ["constructor and prototype, which are names like others", '{"constructor":1,"prototype":2,"toString":3}'],
  ])("with %s is taken as JSON.parse takes it", async (_what, text) => {
    expect((await send(any, text)).got).toEqual(JSON.parse(text));
  });
});

describe("the bounds of an input", () => {
  const any = { type: "object", additionalProperties: true } as SchemaSource;
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = { a: value };
    return value;
  };
  const wide = (count: number) => ({ list: Array.from({ length: count }, () => 1) });

  test.each([
    ["too deep", () => nested(INPUT_LIMITS.depth + 2)],
    ["too deep by far", () => nested(5000)],
    ["of too many values", () => wide(INPUT_LIMITS.values + 1)],
    ["of too much text", () => ({ a: "x".repeat(INPUT_LIMITS.characters + 1) })],
    ["of too much text in many pieces", () => ({ list: Array.from({ length: 20 }, () => "x".repeat(1024 * 1024)) })],
    [
      "of too much text in its keys",
      () => Object.fromEntries(Array.from({ length: 20 }, (_, i) => ["k".repeat(1024 * 1024) + i, i])),
    ],
    [
      "that contains itself",
      () => {
        const self: Record<string, unknown> = {};
        self["self"] = self;
        return self;
      },
    ],
    [
      "that contains itself many times",
      () => {
        const self: Record<string, unknown> = {};
        for (let i = 0; i < 20; i++) self[`s${i}`] = self;
        return self;
      },
    ],
  ])("refuse what is %s, as data and as text", async (_what, make) => {
    const input = make();
    expect((await send(any, input)).result).toMatchObject({ error: { code: "input_too_large" } });
    let text: string;
    try {
      text = JSON.stringify(input);
    } catch {
      return;
    }
    expect((await send(any, text)).result).toMatchObject({ error: { code: "input_too_large" } });
  });

  test("refuse ten megabytes of brackets without a stack overflow", async () => {
    expect((await send(any, "[".repeat(10_000_000))).result).toMatchObject({ error: { code: "input_too_large" } });
    expect((await send(any, '{"a":'.repeat(2_000_000))).result).toMatchObject({ error: { code: "input_too_large" } });
  });

  test.each([
    ["NaN", { a: Number.NaN }],
    ["Infinity", { a: [Number.POSITIVE_INFINITY] }],
    ["half of a character", { a: "\ud83d" }],
    ["an own __proto__", JSON.parse('{"__proto__":{"x":1}}') as unknown],
    ["nothing", null],
    ["a list", [1]],
    ["a number", 5],
  ])("refuse %s as data", async (_what, input) => {
    expect((await send(any, input)).result).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  });

  test("apply to a hostile input", async () => {
    const hostile = {
      get a() {
        throw new Error("no");
      },
    };
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    for (const input of [hostile, proxy]) {
      expect((await send(any, input)).result).toMatchObject({ status: "failed", error: { actor: "model" } });
    }
  });

  test("pollute no prototype", async () => {
    await send(any, '{"constructor":{"prototype":{"polluted":1}}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("the validated input", () => {
  test("cannot be changed afterwards by the caller", async () => {
    const haft = createHaft();
    let release!: () => void;
    const held = new Promise<void>((done) => (release = done));
    haft.register(
      createTool({
        name: "slow",
        description: "",
        parameters: { type: "object", additionalProperties: true },
        needsApproval: false,
        run: async (input) => (await held, input),
      }),
    );
    const input = { list: [1], inner: { a: 1 } };
    const call = haft.execute("slow", input);
    input.list.push(2);
    input.inner.a = 2;
    release();
    expect((await call).details).toEqual({ list: [1], inner: { a: 1 } });
  });

  test("is a bounded and repaired copy, also if the input is an instance of a class", async () => {
    class Input {
      n = "5";
      text = "";
    }
    const sent = new Input();
    const properties = { n: { type: "integer" }, text: { type: "string" } };
    const parameters = { type: "object", properties } as SchemaSource;
    expect((await send(parameters, sent)).got).toEqual({ n: 5, text: "" });
    expect(sent.n).toBe("5");
    sent.text = "x".repeat(INPUT_LIMITS.characters);
    expect((await send(parameters, sent)).result).toMatchObject({ error: { code: "input_too_large" } });
    for (const odd of [new Map([["n", 1]]), new Date(0), new Uint8Array(3)]) {
      expect((await send(parameters, odd)).result).toMatchObject({ error: { code: "invalid_input" } });
    }
  });

  test("has the schema's defaults and transformations", async () => {
    const schema = z.object({ n: z.string().transform(Number), limit: z.number().default(10) });
    expect((await send(schema, { n: "5" })).got).toEqual({ n: 5, limit: 10 });
    expect((await send([{ name: "limit", type: "integer", default: 3 }], {})).got).toEqual({ limit: 3 });
  });

  test("may come from an asynchronous schema", async () => {
    const slow = z.object({
      name: z.string().refine(async (name) => (await Promise.resolve(), name !== "taken"), "is taken"),
    });
    expect((await send(slow, { name: "free" })).got).toEqual({ name: "free" });
    expect((await send(slow, { name: "taken" })).message).toContain("name: is taken");
    expect((await send(slow, { name: "free", more: 1 })).message).toContain("more: unknown");
  });
});

test("a schema that never settles does not block a caller that aborts", async () => {
  const haft = createHaft();
  const never = z.object({ name: z.string().refine(() => new Promise<boolean>(() => {})) });
  haft.register(createTool({ name: "echo", description: "", parameters: never, needsApproval: false, run: () => 1 }));
  const controller = new AbortController();
  const call = haft.execute("echo", { name: "a" }, { signal: controller.signal });
  const other = haft.execute("echo", { name: "b" });
  controller.abort();
  expect(await call).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  await haft.shutdown();
  expect(await other).toMatchObject({ status: "failed", error: { code: "shutdown" } });
});

describe("the message of a refusal", () => {
  test("starts with the known phrase and has every issue with its path, and the tool's parameters", async () => {
    const schema = z.object({
      path: z.string(),
      edits: z.array(z.object({ old: z.string() })),
      limit: z.number().optional(),
    });
    const { message, result } = await send(schema, { path: 5, edits: [{ old: 1 }, {}], limit: [] });
    expect(message).toMatch(/^Parameter validation failed/);
    for (const path of ["path: ", "edits[0].old: ", "edits[1].old: ", "limit: "])
      expect(message).toContain(`\n${path}`.trimStart());
    const shown = textOf(result.content);
    expect(shown).toContain(message);
    expect(shown).toContain('"echo" takes { path: string, edits: array, limit?: number }. Correct the call');
    expect(result.status === "failed" && (result.error.data as { issues: string[] }).issues).toHaveLength(4);
  });

  test("names the missing parameter of a JSON Schema", async () => {
    const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as SchemaSource;
    expect((await send(schema, {})).message).toContain('"path"');
  });

  test("also comes from a tool's own check", async () => {
    const validate = (input: { a: number }): string | null => (input.a > 5 ? "a is too much" : null);
    const checked = await send(one("a", { type: "number" }), { a: 6 }, { validate });
    expect(checked.message).toBe("Parameter validation failed: a is too much");
    expect(checked.result).toMatchObject({ error: { code: "invalid_input" } });
    expect((await send(one("a", { type: "number" }), { a: 5 }, { validate })).result.status).toBe("completed");
  });
});
