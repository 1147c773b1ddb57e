import { describe, expect, test } from "vitest";
import { callsOf, readEveryWay } from "./read-every-way.fixture.ts";
import { XMLToolCallParser } from "../../compat/tool-definitions.ts";
import { parseToolCalls } from "./tool-call-parser.ts";

const TOOLS = [
  {
    name: "write_file",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string" },
        content: { type: "string" },
        mode: { type: "integer" },
        force: { type: "boolean" },
        edits: { type: "array" },
      },
      required: ["path"],
    },
  },
];
const call = (params: string): string => `<tool_call><name>write_file</name><params>${params}</params></tool_call>`;
const read = (params: string) => readEveryWay(call(params), { format: "xml", tools: TOOLS });
const valueOf = (params: string): unknown => {
  const parsed = read(params);
  expect(callsOf(parsed)).toMatchObject([{ name: "write_file" }]);
  expect(parsed.calls[0]!.failure).toBeUndefined();
  return parsed.calls[0]!.input["content"];
};
const failureOf = (params: string): string => {
  const parsed = read(params);
  expect(parsed.calls).toHaveLength(1);
  expect(parsed.text).toBe("");
  return parsed.calls[0]!.failure!.message;
};

describe("values in CDATA", () => {
  test.each([
    [
      "markup and line breaks unchanged",
      "<![CDATA[if (a < b && c > d) {\n\treturn `</tool_call>`;\n}]]>",
      "if (a < b && c > d) {\n\treturn `</tool_call>`;\n}",
    ],
    ["the closing tag of its own parameter", "<![CDATA[</content></params>]]>", "</content></params>"],
    ["entities undecoded", "<![CDATA[&lt;&#65;]]>", "&lt;&#65;"],
    ["]]>, split between two sections", "<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"],
    ["several sections, which join", "<![CDATA[a]]> <![CDATA[ b]]>", "a b"],
    ["white space at its edges", "  <![CDATA[\n  x \n]]>  ", "\n  x \n"],
    ["nothing", "<![CDATA[]]>", ""],
    ["text next to a section", "see <![CDATA[<a>]]> there", "see <a> there"],
  ])("keep %s", (_, written, value) => expect(valueOf(`<content>${written}</content>`)).toBe(value));
});

describe("values without CDATA", () => {
  test.each([
    [
      "the five entities and numbers are decoded, once",
      "&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&amp;lt;",
      "<>&\"'A😀&lt;",
    ],
    ["one line is trimmed", "\n      src/a.ts\n    ", "src/a.ts"],
    ["several lines keep their indentation", "\n  a\n    b\n  ", "  a\n    b"],
    ["its own closing tag is part of it if more text follows", "a </content> b", "a </content> b"],
  ])("%s", (_, written, value) => expect(valueOf(`<content>${written}</content>`)).toBe(value));

  test("markup that should have been in CDATA is taken literally, with a warning", () => {
    const parsed = read("<content>if (a < b && c)</content>");
    expect(parsed.calls[0]).toMatchObject({ input: { content: "if (a < b && c)" } });
    expect(parsed.warnings).toEqual([
      "write_file: a value with < was read although it is not inside <![CDATA[…]]>",
      "write_file: a value with & was read although it is not inside <![CDATA[…]]>",
    ]);
  });

  test("no other entity is expanded", () => expect(valueOf("<content>&nbsp;&e;&x1;</content>")).toBe("&nbsp;&e;&x1;"));
});

test.each(["<![CDATA[a.txt]]>", "a.txt"])("an unknown parameter is read after %s too", (path) => {
  const parsed = read(`\n<path>${path}</path>\n<owner>${path}</owner>\n<force>true</force>\n`);
  expect(callsOf(parsed)).toEqual([{ name: "write_file", input: { path: "a.txt", owner: "a.txt", force: true } }]);
  expect(parsed.warnings).toEqual([]);
});

describe("types", () => {
  test("come from the schema: a string stays the literal text", () => {
    const parsed = read(
      "<content>007</content><path>true</path><mode>0420</mode><force>True</force><edits>[1,]</edits>",
    );
    expect(parsed.calls[0]!.input).toEqual({ content: "007", path: "true", mode: 420, force: true, edits: [1] });
    expect(parsed.calls[0]!.repairs).toEqual(["a trailing comma was removed from the JSON"]);
  });

  test("are inferred without a schema, but only if no digit is lost", () => {
    const values = {
      a: "true",
      b: "False",
      c: "123",
      d: "3.14",
      e: "007",
      f: "1.10",
      g: "1e5",
      h: "-5",
      i: "9007199254740993",
    };
    const text = Object.entries(values)
      .map(([key, value]) => `<${key}><![CDATA[${value}]]></${key}>`)
      .join("");
    const [parsed] = XMLToolCallParser.parseToolCalls(
      `<tool_call><name>any</name><params>${text}</params></tool_call>`,
    );
    expect(parsed!.params).toEqual({ ...values, a: true, c: 123, d: 3.14, h: -5 });
  });

  test("a value that does not fit stays text, and the gate reports it", () => {
    expect(read("<mode>many</mode>").calls[0]!.input).toEqual({ mode: "many" });
    expect(read("<mode>9007199254740993</mode>").calls[0]!.input).toEqual({ mode: "9007199254740993" });
  });
});

test("values of objects and lists may be nested tags, if the schema says so", () => {
  const parameters = {
    type: "object",
    properties: {
      where: { type: "object", properties: { city: { type: "string" }, zip: { type: "integer" } } },
      tags: { type: "array", items: { type: "string" } },
      html: { type: "string" },
    },
  };
  const text =
    "<where><city>Paris</city><zip>75001</zip></where><tags><item>a</item><item>2</item></tags>" +
    "<html><![CDATA[<b>x</b>]]></html>";
  const xml = `<tool_call><name>find</name><params>${text}</params></tool_call>`;
  const [call] = parseToolCalls(xml, { tools: [{ name: "find", parameters }] }).calls;
  expect(call!.failure).toBeUndefined();
  expect(call!.input).toEqual({ where: { city: "Paris", zip: 75001 }, tags: ["a", "2"], html: "<b>x</b>" });
});

describe("rejected, with the right form in the message", () => {
  test.each([
    ["a parameter that is given twice", "<path>a</path><path>b</path>", "the parameter path is given twice"],
    ["a declaration", '<path><!DOCTYPE a [<!ENTITY x "y">]>&x;</path>', "<! is allowed only inside <![CDATA[…]]>"],
    ["a processing instruction", "<path><?php a ?></path>", "<? is allowed only inside"],
    ["the end of a section that has no beginning", "<path>a ]]> b</path>", "]]> is allowed only inside"],
    ["a NUL character", "<path>a\0b</path>", "NUL"],
    ["half of a surrogate pair", "<path>\ud800</path>", "half of a surrogate pair"],
    ["a number that is not a character", "<path>&#0;</path>", "&#0; is not a character"],
    ["a name that no object may have", "<__proto__>1</__proto__>", '"__proto__"'],
    ["a duplicate attribute", '<path a="1" a="2">x</path>', "the attribute a occurs twice"],
    ["text between parameters", "<path><![CDATA[a]]></path> and then", "</tool_call> is allowed only inside"],
  ])("%s", (_, params, reason) => {
    const message = failureOf(params);
    expect(message).toContain(reason);
    expect(message).toContain(
      "in this form:\n<tool_call>\n  <name>write_file</name>\n  <params>\n    <path><![CDATA[src/main.ts]]></path>",
    );
  });

  test("a call without a name, and one with its name last", () => {
    const [nameless] = readEveryWay("<tool_call><params></params></tool_call>", { format: "xml" }).calls;
    expect(nameless!.failure!.message).toContain("its name must come before its parameters");
    expect(readEveryWay("<tool_call></tool_call>", { format: "xml" }).calls[0]!.failure).toBeDefined();
  });

  test("the rest of the text is still read", () => {
    const parsed = readEveryWay(`${call("<path>a</path>x")} and ${call("<path>b</path>")}`, {
      format: "xml",
      tools: TOOLS,
    });
    expect(callsOf(parsed)).toEqual([
      { name: "write_file", input: {}, failed: true },
      { name: "write_file", input: { path: "b" } },
    ]);
    expect(parsed.text).toBe(" and ");
  });
});

describe("looser forms, each with a warning", () => {
  const PARAMS = "<path><![CDATA[a]]></path><mode>7</mode>";
  test.each([
    [
      "an attribute",
      `<tool_call id="1"><name>write_file</name><params>${PARAMS}</params></tool_call>`,
      "<tool_call …> was read as <tool_call>",
    ],
    [
      "the name as an attribute",
      `<tool_call name="write_file"><params>${PARAMS}</params></tool_call>`,
      "<tool_call …> was read as <tool_call>",
    ],
    [
      "capitals",
      `<TOOL_CALL><NAME>write_file</NAME><PARAMS>${PARAMS}</PARAMS></TOOL_CALL>`,
      "<TOOL_CALL> was read as <tool_call>",
    ],
    [
      "capitals outside",
      `<TOOL_CALL>\n<name>write_file</name><params>${PARAMS}</params></tool_call>`,
      "<TOOL_CALL> was read as <tool_call>",
    ],
    [
      "no last tag",
      `<tool_call><name>write_file</name><params>${PARAMS}</params>\n`,
      "the missing </tool_call> was added",
    ],
    [
      "half of the last tag",
      `<tool_call><name>write_file</name><params>${PARAMS}</params></tool_c`,
      "the missing </tool_call> was added",
    ],
    [
      "<arguments>",
      `<tool_call><name>write_file</name><arguments>${PARAMS}</arguments></tool_call>`,
      "<arguments> was read as <params>",
    ],
    ["no <params>", `<tool_call><name>write_file</name>${PARAMS}</tool_call>`, "the missing <params> was added"],
  ])("%s", (_, text, warning) => {
    for (const format of ["xml", "auto"] as const) {
      const parsed = readEveryWay(`I write.\n${text}`, { format, tools: TOOLS });
      expect(callsOf(parsed)).toEqual([{ name: "write_file", input: { path: "a", mode: 7 } }]);
      expect(parsed.warnings).toEqual([`write_file: ${warning}`]);
      expect(parsed.text).toBe("I write.\n");
    }
  });

  test.each([
    ["a mention", 'Use `<TOOL_CALL>` or `<tool_call id="1">` for that.'],
    ["prose", "A <tool_call id=1> is a tag, and <TOOL_CALL> is one, too."],
    ["an attribute that does not end", '<tool_call id="1'],
    ["code", '```xml\n<tool_call id="1"><name>write_file</name><params></params></tool_call>\n```'],
  ])("%s is text", (_, text) => {
    const parsed = readEveryWay(text, { format: "xml", tools: TOOLS });
    expect(parsed).toMatchObject({ calls: [], text });
  });
});

describe("omissions of models", () => {
  test("a closing tag before the next call", () => {
    const text = `<tool_call><name>write_file</name><params><path>a</path></params>\n${call("<path>b</path>")}`;
    const parsed = readEveryWay(text, { format: "xml", tools: TOOLS });
    expect(callsOf(parsed).map(({ input }) => input)).toEqual([{ path: "a" }, { path: "b" }]);
    expect(parsed.warnings).toEqual(["write_file: the missing </tool_call> was added"]);
  });

  test("nothing is made up for a call that was cut off", () => {
    const [cut] = readEveryWay("<tool_call><name>write_file</name><params><path>a</path>", { format: "xml" }).calls;
    expect(cut!.failure).toMatchObject({ code: "invalid_input", actor: "model" });
    expect(cut!.failure!.message).toContain("the text ended before </params>");
  });
});

test("a call keeps its own text, and ids differ", () => {
  const texts = [call("<path>a</path>"), call("<path>b</path>")];
  const { calls } = readEveryWay(`x${texts[0]}y${texts[1]}`, { format: "xml", tools: TOOLS });
  expect(calls.map(({ rawText }) => rawText)).toEqual(texts);
  expect(XMLToolCallParser.parseToolCalls(texts[0]!)).toEqual([
    { name: "write_file", params: { path: "a" }, rawText: texts[0] },
  ]);
});
