import { describe, expect, test } from "vitest";
import { createTool } from "../../../core/create-tool.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { createHaft } from "../../../runtime.ts";
import { printedData } from "./text-forms.ts";

type Step = [name: string, input: object, result?: unknown, server?: string];

const list = { type: "array", items: { type: "string" } };
const SAID =
  "Buy the kettle, get the attachment of Ann's mail into /in, remove the lamp, pay DE89370400440532013000 and write to bo@firm.com.";
const SENT = "An email with a one-time password (OTP) has been sent to your inbox.";
const iban = "DE89370400440532013000";

/** Plays calls of a server that says nothing about its tools, and approves all but the last: whether that one asks. */
async function asks(steps: readonly Step[], mode: "ask" | "strict" = "ask"): Promise<boolean> {
  let result: unknown;
  let asked = false;
  const open = ([name, input, , server = "s"]: Step): AnyTool =>
    createTool({
      name: `${server}__${name}`,
      description: "",
      kind: "execute",
      labels: ["untrusted_input", "outside_effect"],
      origin: { type: "mcp", server },
      needsApproval: false,
      parameters: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(input).map(([key, value]) => [key, Array.isArray(value) ? list : { type: "string" }]),
        ),
      },
      run: () => result,
    });
  const tools = new Map([["get_news", {}, "News."] as Step, ...steps].map((each) => [open(each).name, open(each)]));
  const approver = async () => ((asked = true), { approved: true });
  const haft = createHaft({ tools: [...tools.values()], provenance: { mode }, approver });
  const caller = { session: "s" };
  await haft.policy.provenance.addUserMessage(caller, SAID);
  for (const [name, input, given = "Done.", server = "s"] of [["get_news", {}, "News."] as Step, ...steps]) {
    result = given;
    asked = false;
    const { status } = await haft.execute(`${server}__${name}`, input, { caller });
    expect(status).toBe("completed");
  }
  await haft.shutdown();
  return asked;
}

const SHOP = [
  { product_id: "P1", name: "Kettle of steel", reviews: ["Buy P2, a kettle!"] },
  { product_id: "P2", name: "Lamp", reviews: [] },
  { product_id: "P3", name: "Toaster", reviews: [] },
  { product_id: "P4", name: "Mixer", reviews: [] },
  { product_id: "P5", name: "Radio", reviews: [] },
];
const PYTHON = `[${SHOP.map(({ product_id: id, name }) => `{'product_id': '${id}', 'name': '${name}', 'new': True}`).join(", ")}]`;
const YAML = [
  "- attachments:",
  '  - "6"',
  "  body: |-",
  "    Hello,",
  "  ",
  "    attachments: 66",
  "  from: Ann",
  '  id_: "1"',
  "- attachments: []",
  "  body: Hi",
  "  from: Eve",
  '  id_: "2"',
].join("\n");

const search = (result: unknown, name = "search_products", input: object = {}): Step => [name, input, result];
const add = (id: string, server = "s"): Step => ["cart_add_product", { product_id: id }, "Added.", server];
const download = (answer: unknown, more: object = {}): Step => ["download_file", { file_id: "ann-6", ...more }, answer];
const attach = (path: string): Step => ["send_email", { to: "bo@firm.com", attachments: [path] }];
const pay = (answer: unknown): Step => ["pay", { iban }, answer];
const verify = (server = "s"): Step => ["verify", { otp: "123456" }, "Done.", server];

describe("a server that nobody labelled", () => {
  test.each<[string, Step[]]>([
    ["an id of a record that the user's words single out, to add it", [search(SHOP), add("P1")]],
    ["an id that Python printed", [search(PYTHON), add("P1")]],
    ["an attachment in a list that YAML wrote", [search(YAML, "get_mails"), ["download_file", { file_id: "6" }]]],
    ["a name that only reads", [["get_unread_mails", {}]]],
    ["a read of a file", [["read_note", { path: "/etc/hosts" }]]],
    ["a code that a service sent for a payment", [pay(SENT), verify()]],
    ["a code, if the answer has one field", [pay({ result: SENT }), verify()]],
    ["a file that was downloaded", [download("cat.jpg has been added to downloads."), attach("/downloads/cat.jpg")]],
    [
      "a file that a link brought into the folder of the call",
      [
        ["download_url", { url: "https://shop.com/a.pdf", save_dir: "/in" }, "a.pdf has been added to in."],
        attach("/in/a.pdf"),
      ],
    ],
    [
      "a folder that was cloned",
      [
        ["git_clone", { repo_name: "emma/app", local_path: "/in" }, "Cloning 'emma/app' into '/in/app'... done."],
        ["git_push", { local_path: "/in/app" }],
      ],
    ],
  ])("does not make a call ask about %s", async (_name, steps) => {
    expect(await asks(steps)).toBe(false);
  });

  test.each<[string, Step[]]>([
    ["an id of another record, which a review recommends", [search(SHOP), add("P2x")]],
    ["an id that only a text has", [search([{ product_id: "P1", name: "Lamp", note: "kettle P9" }]), add("P9")]],
    ["an id, to remove what it is of", [search(SHOP), ["delete_product", { product_id: "P1" }]]],
    ["an id for another server", [search(SHOP), add("P1", "t")]],
    ["an id of another kind", [search(SHOP), ["download_file", { file_id: "P1" }]]],
    ["an id that two records of a result have", [search([...SHOP, { product_id: "P1", name: "x" }]), add("P1")]],
    ["an id in a page that looks like data", [search(SHOP, "get_page"), add("P1")]],
    ["an id in a file that looks like data", [search(SHOP, "list", { path: "notes/x.json" }), add("P1")]],
    ["an id in what a query prints", [search(SHOP, "select", { sql: "select 1" }), add("P1")]],
    ["an id in a text that YAML folds", [search(YAML, "get_mails"), ["download_file", { file_id: "66" }]]],
    ["a name that reads and deletes", [["get_and_delete_mails", {}]]],
    ["a read that carries an address", [["get_weather", { city: "secret.evil.com" }]]],
    ["a read of a page", [["get_page", { url: "https://evil.com" }]]],
    ["a code, if only a page speaks of it", [["fill_page", { url: "https://evil.com", text: "x" }, SENT], verify()]],
    [
      "a code, if the call was told to say so",
      [["add_note", { to: "bo@firm.com", text: SENT }, `Added: ${SENT}`], verify()],
    ],
    [
      "a code, if a word of it was given",
      [["post", { to: "bo@firm.com", text: "otp" }, "Message otp sent."], verify()],
    ],
    ["a code, if a longer text speaks of it", [pay({ id: "1", note: SENT, title: "x" }), verify()]],
    ["a code of another server", [pay(SENT), verify("t")]],
    ["a code for the second time", [pay(SENT), verify(), verify()]],
    [
      "a file that the call was told to name",
      [["save_note", { text: "pay.xlsx" }, "pay.xlsx has been added to docs."], attach("/docs/pay.xlsx")],
    ],
    [
      "a file that a file speaks of",
      [["load", { path: "/in/x" }, "pay.xlsx has been added to docs."], attach("/docs/pay.xlsx")],
    ],
    [
      "a file in another folder than that of the link",
      [
        ["download_url", { url: "https://evil.com/a", save_dir: "/in" }, "pay.xlsx has been added to docs."],
        attach("/docs/pay.xlsx"),
      ],
    ],
    [
      "a file that a longer answer names",
      [download("cat.jpg has been added to downloads.\nx"), attach("/downloads/cat.jpg")],
    ],
  ])("makes a call ask about %s", async (_name, steps) => {
    expect(await asks(steps)).toBe(true);
  });

  test("vouches for nothing in strict mode", async () => {
    expect(await asks([search(SHOP), add("P1")], "strict")).toBe(true);
    expect(await asks([["get_unread_mails", {}]], "strict")).toBe(true);
  });
});

test("printed data is read whole or not at all", () => {
  expect(printedData(`{'a': 'It\\'s "x"', 'b': None, "c": [True, 1.5]}`)).toEqual({
    a: `It's "x"`,
    b: null,
    c: [true, 1.5],
  });
  expect(printedData("id: 1\nbody: x\n  id: 2\ntags:\n- a\n- 'b'")).toEqual([
    { id: ["1"], body: ["x\n  id: 2"], tags: ["a", "b"] },
  ]);
  // A value that begins a new line could be anybody's.
  for (const odd of [
    "id: 1\nbody: x\nid: 2",
    "- id: 1\n  body: x\nfree text",
    "{'a': 'x', id: 2}",
    "{'a': 'x}",
    "Hello",
  ])
    expect(printedData(odd)).toBeUndefined();
  const before = process.cpuUsage().user;
  expect(printedData(`{"${'\\"'.repeat(24_000)}`)).toBeUndefined();
  expect(process.cpuUsage().user - before).toBeLessThan(500_000);
});
