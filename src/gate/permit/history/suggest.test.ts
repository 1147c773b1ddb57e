import { expect, test } from "vitest";
import { createTool } from "../../../core/create-tool.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { RuleSet } from "../rules/rule-set.ts";
import { rolesOf } from "../provenance/roles.ts";
import { openTools } from "./history-tools.fixture.ts";
import { type AnsweredCall, suggestPolicy } from "./suggest.ts";

test("a habit of one session, of sessions with text of others, or beside a denial is not proposed", async () => {
  const { folder, toolOf, rules, digest } = openTools();
  const command = { command: "npm run build" };
  const calls = (session: (at: number) => string, isTainted = false): AnsweredCall[] =>
    Array.from({ length: 6 }, (_, at) => ({
      ...{ callId: `c${at}`, toolName: "exec", at, session: session(at), answer: "yes" as const },
      digest: digest("exec", command, isTainted),
    }));
  const options = { rules, cwd: folder, toolOf };
  const several = calls((at) => `s${at}`);
  expect(await suggestPolicy(several, options)).toMatchObject([
    { rules: ["Bash(npm run build)"], saved: 6, sessions: 6, unanswered: 0 },
  ]);
  const [found] = await suggestPolicy(several, options);
  expect(await suggestPolicy(several, { ...options, never: new Set([found?.id ?? ""]) })).toEqual([]);
  expect(
    await suggestPolicy(
      calls(() => "one"),
      options,
    ),
  ).toEqual([]);
  expect(
    await suggestPolicy(
      calls((at) => `s${at}`, true),
      options,
    ),
  ).toEqual([]);
  expect(await suggestPolicy([...several, { ...several[0]!, callId: "no", answer: "no" }], options)).toEqual([]);
  expect(
    await suggestPolicy(
      several.map((call) => ({ ...call, answer: undefined })),
      options,
    ),
  ).toEqual([]);
});

const WORDS = "alpha beta gamma delta eps zeta eta theta iota kappa lam muu".split(" ");

const made = (name: string, properties: Record<string, object>, kind: "execute" | "write" = "execute") =>
  createTool({
    ...{ name, description: name, kind, permission: "confirm", run: () => "done" },
    parameters: { type: "object", properties, required: Object.keys(properties), additionalProperties: false },
  });
const text = { type: "string" };
const number = { type: "number" };

function openHabits() {
  const { folder, toolOf, rules, digest } = openTools([
    made("send_chat", { chat_id: number, text }),
    made("wire", { account: number, amount: number }),
    made("join", { channel: { type: "string", enum: [1, 2, 3, 4, 99].map((at) => `team-${at}`) } }),
    made("ship", { warehouse: text }),
    made("query_sql", { query: text }),
    made("post", { message: { ...text, "x-haft-authority": "content" } }),
    made("annotate", { message: text }, "write"),
    made("send_mail", { to: text, body: text }),
    ...["ask_agent", "type_text", "notify"].map((name) => made(name, { id: text, text })),
    made("say", { text }),
    made("dim", { lamp: text, level: number }),
    made("pick", { unit: number }),
    made("close", { ticket_id: number, tags: { type: "array", items: text } }, "write"),
    made("book", { day: text }),
    made("open_file", { file_id: text }),
  ]);
  const call =
    (toolName: string, input: object, more: object = {}, answer: "yes" | "no" = "yes") =>
    (at: number) => {
      const own = digest(toolName, input);
      return { callId: `c${at}`, toolName, at, session: `s${at % 3}`, answer, digest: own && { ...own, ...more } };
    };
  const propose = async (calls: readonly ((at: number) => AnsweredCall)[], options: object = {}) => {
    const made = calls.map((each, at) => each(at));
    return (await suggestPolicy(made, { rules, cwd: folder, toolOf, ...options })).flatMap((each) => each.rules);
  };
  return { call, propose, toolOf };
}

test("a denial counts whatever asked at that time, and also if it cannot be judged", async () => {
  const { call, propose } = openHabits();
  const command = { command: "npm run deploy" };
  const exact = [1, 2, 3, 4].map(() => call("exec", command));
  const open = WORDS.map((word) => call("exec", { command: `git add src/${word}.ts` }));
  expect(await propose([...exact, ...open])).toHaveLength(2);
  const said = [{ by: "taint" }, { by: "provenance" }, { by: "hook" }, { by: "host", origin: "decide" }];
  for (const more of [...said.map((by) => ({ said: { decision: "ask", ...by } })), { mode: "plan" }])
    expect([more, await propose([...exact, call("exec", command, more, "no")])]).toEqual([more, []]);
  const hidden = call("exec", { command: null }, { unjudged: "secret", without: { command: "secret" } }, "no");
  expect(await propose([...exact, ...open, hidden])).toEqual(["Bash(npm run deploy)"]);
  expect(await propose([...exact, ...open, call("exec", command, { unjudged: "failed" }, "no")])).toEqual([]);
});

test("rules of one proposal together allow nothing that was denied", async () => {
  const { call, propose } = openHabits();
  const both = ["npm run db:reset", "npm run db:seed"].map((command) => call("exec", { command }));
  const yes = [1, 2, 3, 4].flatMap(() => both);
  expect(await propose(yes)).toHaveLength(2);
  const chained = call("exec", { command: "npm run db:reset && npm run db:seed" }, {}, "no");
  expect(await propose([...yes, chained])).toHaveLength(1);
});

test("where something goes, options and what a tool executes stay as they were seen", async () => {
  const { call, propose, toolOf } = openHabits();
  const numbers = [5, 70, 900, 12_000];
  expect(await propose(numbers.map((chat_id) => call("send_chat", { chat_id, text: "hi" })))).toEqual([]);
  expect(await propose(numbers.map((account) => call("wire", { account, amount: 5 })))).toEqual([]);
  expect(await propose(numbers.map((amount) => call("wire", { account: 1, amount })))).toEqual([
    "wire(account==1 && amount>=5 && amount<=12000)",
  ]);
  expect(await propose([1, 2, 3, 4].map((at) => call("join", { channel: `team-${at}` })))).toEqual([]);
  const sites = WORDS.map((word) => call("ship", { warehouse: `site-${word}` }));
  expect(await propose(sites)).toEqual(["ship(warehouse==site-<name>)"]);
  // The user says what it is.
  const corrected = (tool: AnyTool) => rolesOf(tool, [{ arguments: { warehouse: "destination" } }]);
  expect(await propose(sites, { rolesOf: corrected })).toEqual([]);
  expect(await propose(WORDS.map((word) => call("ship", { warehouse: `https://${word}.corp/x` })))).toEqual([]);
  const commands = [
    (word: string) => `git push https://github.com/${word}/repo main`,
    (word: string) => `pip install git+https://github.com/${word}/repo`,
    (word: string) => `mytool --${word}`,
    (word: string) => `bin/${word}`,
    (word: string) => `ssh root@${word} uptime`,
  ];
  for (const command of commands)
    expect(await propose(WORDS.map((word) => call("exec", { command: command(word) })))).toEqual([]);
  // A text that is executed may have the name of one that is only written.
  expect(await propose([1, 2, 3].map((at) => call("query_sql", { query: `SELECT ${at}` })))).toEqual([]);
  for (const name of ["post", "annotate"])
    expect([name, toolOf(name)?.kind, await propose(WORDS.map((message) => call(name, { message })))]).toEqual([
      ...[name, name === "post" ? "execute" : "write"],
      [`${name}(message==${name === "post" ? "*" : "<text>"})`],
    ]);
});

test("a text of a tool that executes is open as plain text, if another argument says where it goes and nothing follows it", async () => {
  const { call, propose } = openHabits();
  const long = (word: string) => `${word} is late, and the order will come on Monday. `.repeat(6).trim();
  const mails = WORDS.map((word) => call("send_mail", { to: "team@corp.example", body: long(word) }));
  const rule = 'send_mail(to=="team@corp.example" && body==<text>)';
  expect(await propose(mails)).toEqual([rule]);
  // The text is cut in the record, which knows that its end is no plain text.
  const links = WORDS.map((word) => call("send_mail", { to: "team@corp.example", body: `${long(word)} evil.example` }));
  expect(await propose(links)).toEqual([]);
  const no = call("send_mail", { to: "team@corp.example", body: `${long("x")} evil.example` }, {}, "no");
  expect(await propose([...mails, no])).toEqual([rule]);
  const denied = call("send_mail", { to: "team@corp.example", body: long("alpha") }, {}, "no");
  expect(await propose([...mails, denied])).toEqual([]);
  for (const name of ["ask_agent", "type_text", "notify"])
    expect([name, await propose(WORDS.map((word) => call(name, { id: "room", text: `Hello ${word}` })))]).toEqual([
      name,
      name === "notify" ? ['notify(id=="room" && text==<text>)'] : [],
    ]);
  expect(await propose(WORDS.map((word) => call("say", { text: `Hello ${word}` })))).toEqual([]);
});

test("numbers and ids are open only as far as their values say what they are", async () => {
  const { call, propose } = openHabits();
  const each = (values: readonly unknown[], name: string, input: (value: unknown) => object) =>
    propose([1, 2, 3].flatMap(() => values.map((value) => call(name, input(value)))));
  const light = (level: unknown) => ({ lamp: "desk", level });
  expect(await each([10, 20, 30, 40, 50, 60, 70, 80, 90], "dim", light)).toEqual([
    'dim(lamp=="desk" && level>=10 && level<=90)',
  ]);
  // Few values, and values that lie apart, stay as they were seen.
  expect(await each([20, 40], "dim", light)).toEqual([
    'dim(lamp=="desk" && level==20)',
    'dim(lamp=="desk" && level==40)',
  ]);
  const apart = [1, 900, 17_000, 42, 5300, 7, 88_000, 640, 123_456, 33_333];
  expect(await each(apart, "pick", (unit) => ({ unit }))).toHaveLength(10);
  // `level` is an amount by its name.
  expect(await each(apart, "dim", light)).toEqual(['dim(lamp=="desk" && level>=1 && level<=123456)']);
  expect(await each(apart, "close", (ticket_id) => ({ ticket_id, tags: ["a", "b"] }))).toEqual([
    `close(ticket_id==<number> && tags=='["a","b"]')`,
  ]);
  const dates = Array.from({ length: 9 }, (_, at) => `2026-1${at % 3}-0${at + 1}`);
  expect(await each(dates, "book", (day) => ({ day }))).toEqual(["book(day==2026-<number>-<number>)"]);
  const ids = WORDS.map((_, at) => `8f3a2b1c-4a1f-4${at + 100}-a1b2-0123456789ab`);
  expect(await each(ids, "open_file", (file_id) => ({ file_id }))).toEqual([
    "open_file(file_id==<hex>-<hex>-<hex>-<hex>-<hex>)",
  ]);
});

test("a habit of writing files allows no other tool to change them", async () => {
  const { call, propose } = openHabits();
  const files = WORDS.map((word) => call("write", { path: `notes/${word}.md`, content: "x" }));
  expect(await propose(files)).toEqual(["Write(./notes/*.md)"]);
  const { decide } = openTools();
  const set = new RuleSet([{ origin: "test", allow: ["Write(./notes/*.md)"] }]);
  expect(decide(set, "write", { path: "notes/new.md", content: "x" })).toBe("allow");
  for (const [tool, input] of [
    ["delete_file", { path: "notes/new.md" }],
    ["write", { path: "notes/../new.md", content: "x" }],
    ["write", { path: "notes/a/new.md", content: "x" }],
    ["write", { path: "notes/new.md.sh", content: "x" }],
  ] as const)
    expect([input, decide(set, tool, input)]).toEqual([input, "ask"]);
});

test("a placeholder reaches no other word, folder, option or host", () => {
  const { decide } = openTools();
  const set = new RuleSet([
    {
      origin: "test",
      allow: ["Bash(git add src/<name>-<name>.ts)", "read_it(id==T-<number>)", "Bash(git checkout -b x-<number>)"],
    },
  ]);
  const commands = ["git add src/a-b.ts", "git checkout -b x-12"];
  const others = [
    "git add src/../b-c.ts",
    "git add src/a-b.ts -f",
    "git add src/a b-c.ts",
    "git checkout -b x-",
    "git checkout -b x-1 y",
    "git checkout -b x-1a",
  ];
  for (const command of commands) expect([command, decide(set, "exec", { command })]).toEqual([command, "allow"]);
  for (const command of others) expect([command, decide(set, "exec", { command })]).toEqual([command, "ask"]);
});

test("each question with a yes that still asks, and that nothing is proposed for, has one reason", async () => {
  const { call, propose } = openHabits();
  const left = new Map<string, number>();
  const onLeft = (why: string) => left.set(why, (left.get(why) ?? 0) + 1);
  const times = (count: number, one: (at: number) => AnsweredCall) => Array.from({ length: count }, () => one);
  const inOne = (command: string) => (at: number) => ({ ...call("exec", { command })(at), session: "one" });
  const found = await propose(
    [
      ...times(4, call("exec", { command: "npm run build" })),
      ...times(4, call("exec", { command: "npm test" }, { hasReadUntrusted: true })),
      ...times(5, call("gone_tool", { a: 1 })).map((one) => (at: number) => ({
        ...{ ...one(at), toolName: "gone_tool" },
        digest: call("exec", { command: "x" })(at).digest,
      })),
      ...times(3, call("exec", { command: "npm run lint $(id)" })),
      ...times(2, call("exec", { command: "npm run docs" })),
      ...times(5, inOne("npm run once")),
      ...times(4, call("exec", { command: "npm run deploy" })),
      call("exec", { command: "npm run deploy" }, {}, "no"),
      ...times(4, call("exec", { command: "rm -rf src" })),
      // No answer, or no: nobody said yes.
      call("exec", { command: "npm run other" }, {}, "no"),
    ],
    { onLeft },
  );
  expect(found).toEqual(["Bash(npm run build)"]);
  expect(Object.fromEntries(left)).toEqual({ untrusted: 4, no_tool: 5, open: 3, few: 7, denied: 4, attack: 4 });
  left.clear();
  await propose(times(4, call("exec", { command: "npm run build" })), { onLeft, never: new Set() });
  expect(left.size).toBe(0);
});
