import * as v from "valibot";
import { type } from "arktype";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod3";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";
import { toSchema } from "./json-schema-validator.ts";

const at = new Date("2026-01-31T12:00:00Z");

describe("values that JSON does not have are made from what it has", () => {
  test.each([
    ["a date of Zod", z.object({ a: z.date().optional() }), { a: at.toISOString() }, { a: at }],
    ["a date of Zod 3", z3.object({ a: z3.date() }), { a: at.toISOString() }, { a: at }],
    ["a day", z.object({ a: z.date() }), { a: "2026-01-31" }, { a: new Date("2026-01-31") }],
    ["a date of Valibot", v.object({ a: v.date() }), { a: at.toISOString() }, { a: at }],
    ["a date of ArkType", type({ a: "Date" }), { a: at.toISOString() }, { a: at }],
    ["a bigint", z.object({ a: z.bigint() }), { a: 12 }, { a: 12n }],
    ["digits", z.object({ a: z.bigint() }), { a: "90071992547409930" }, { a: 90071992547409930n }],
    ["a map", z.map(z.string(), z.date()), [["x", at.toISOString()]], new Map([["x", at]])],
    ["a set", z.object({ a: z.set(z.int()) }), { a: [1, 2] }, { a: new Set([1, 2]) }],
    ["a list of dates", z.array(z.date()), [at.toISOString()], [at]],
    ["a text where a text may stand", z.union([z.string(), z.date()]), at.toISOString(), at.toISOString()],
    ["a number or a date", z.union([z.number(), z.date()]), at.toISOString(), at],
  ])("%s", async (_, source, given, made) => {
    expect(await toSchema(source as never).validate(given)).toMatchObject({ value: made });
  });

  test("what does not fit is explained by the schema", async () => {
    for (const wrong of ["May", 5, null]) {
      expect(await toSchema(z.object({ a: z.date() })).validate({ a: wrong })).toHaveProperty("issues");
    }
  });

  test.each(["2023-02-30", "2024-01-01T24:00:00Z", "2024-01-01T10:00:00", "2024-1-1"])(
    "%s is no date, and the issue says what to write",
    async (wrong) => {
      for (const source of [z.object({ a: z.date() }), v.object({ a: v.date() }), z3.object({ a: z3.date() })]) {
        const { issues } = await toSchema(source as never).validate({ a: wrong });
        expect(issues?.[0]?.message).toContain("write a date that exists, such as 2026-01-31, or a time with its zone");
      }
    },
  );

  test("a tool with a bigint can ask a person", async () => {
    const pay = createTool({
      name: "pay",
      description: "d",
      permission: "confirm",
      parameters: z.object({ sum: z.bigint(), to: z.set(z.bigint()) }),
      run: ({ sum, to }) => `${typeof sum} ${sum} ${[...to].join()}`,
    });
    const haft = createHaft({ tools: [pay] });
    const call = { id: "c", caller: { session: "s" } };
    const input = { sum: "90071992547409930", to: [1] };
    const asked = await haft.execute("pay", input, call);
    const id = asked.status === "pending" ? asked.pending.id : "";
    expect(JSON.stringify(await haft.approvals.get(id))).toContain("90071992547409930");
    await haft.approvals.save(id, { approved: true });
    expect(await haft.execute("pay", input, call)).toMatchObject({ details: "bigint 90071992547409930 1" });
    await haft.shutdown();
  });

  test("a tool gets them, and the definition shows JSON only", async () => {
    const days = createTool({
      name: "days",
      description: "d",
      kind: "readonly",
      parameters: z.object({ at: z.date(), tags: z.set(z.string()), n: z.number().int() }),
      run: ({ at: day, tags, n }) => `${day.getUTCFullYear()} ${[...tags].join()} ${n}`,
    });
    const input = { at: "2026-01-31T12:00:00Z", tags: ["a", "b"], n: 1 };
    expect(await createHaft({ tools: [days] }).execute("days", input)).toMatchObject({ details: "2026 a,b 1" });
    expect(days.parameters.jsonSchema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      tags: { type: "array", items: { type: "string" }, uniqueItems: true },
      n: { type: "integer" },
    });
  });
});

test.each([
  ["file", z.object({ a: z.file() })],
  ["symbol", z.object({ a: z.array(z.symbol()).optional() })],
  ["file", v.object({ a: v.file() })],
])("createTool refuses a %s, and says what to write", (name, parameters) => {
  const create = () => createTool({ name: "t", description: "d", parameters, needsApproval: false, run: () => 1 });
  expect(create).toThrow(`JSON has no value of the type ${name}. Use `);
});
