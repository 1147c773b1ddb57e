import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type HaftCommand, openHaftCommand } from "./run-haft.ts";

let haft: HaftCommand;

beforeAll(() => {
  haft = openHaftCommand();
});
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

const json = (text: string): Record<string, unknown> & { items: Record<string, unknown>[] } => JSON.parse(text);

test("what tools cost a model's context is shown, and to a program", async () => {
  const { code, stdout } = await haft.run(["stats", "--tokens"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^read +\d+ +\d+ +yes +0 +~0$/m);
  expect(stdout).toMatch(/A model gets (\d+) of \d+ tools: \d+ of \d+ tokens of definitions\./);
  expect(stdout).toContain("Definitions are counted in o200k_base");
  const reported = json((await haft.run(["stats", "--tokens", "--json"])).stdout);
  expect(reported).toMatchObject({ counter: "o200k_base", resultTokens: 0 });
});

describe("a tool is called", () => {
  test("with texts, JSON, files and stdin as arguments", async () => {
    writeFileSync(join(haft.folder, "note.txt"), "one\ntwo\nthree\n");
    writeFileSync(join(haft.folder, "pattern"), "tw.");
    const read = await haft.run(["tools", "call", "read", "path=note.txt", "offset:=2", "limit:=1"]);
    expect(read).toMatchObject({ code: 0 });
    expect(read.stdout).toContain("two");
    expect(read.stdout).not.toContain("three");
    const grep = await haft.run(["tools", "call", "grep", "pattern=@pattern"]);
    expect(grep.stdout).toContain("note.txt");
    const whole = await haft.run(["tools", "call", "read", "-", "limit:=1", "--json"], {
      input: '{"path": "note.txt", "offset": 3}',
    });
    expect(json(whole.stdout)).toMatchObject({ status: "completed", toolName: "read" });
    expect(whole.stdout).toContain("three");
    expect(whole.stdout).not.toContain("one");
  });

  test("and its failure is told on stderr, with another exit code than a wrong command line", async () => {
    const missing = await haft.run(["tools", "call", "read", "path=missing.txt"]);
    expect(missing).toMatchObject({ code: 5, stdout: "" });
    expect(missing.stderr).toContain("path_not_found");
    const unknown = await haft.run(["tools", "call", "raed", "path=a"]);
    expect(unknown.code).toBe(5);
    expect(unknown.stderr).toContain('"read"');
    haft.openFolder();
    const wrong = await haft.run(["tools", "call", "read", "path"]);
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    const noJson = await haft.run(["tools", "call", "read", "path=a", "limit:=many"]);
    expect(noJson).toMatchObject({ code: 2 });
    expect(existsSync(haft.stateFolder), "nothing is opened for a command line that is wrong").toBe(false);
  });

  test("frame by frame as JSON lines, the result last", async () => {
    const { code, stdout } = await haft.run(["tools", "call", "current_time", "--jsonl"]);
    const frames = stdout
      .trim()
      .split("\n")
      .map((line) => json(line));
    expect(code).toBe(0);
    expect(frames[0]).toMatchObject({ type: "started" });
    expect(frames.at(-1)).toMatchObject({ type: "result", result: { status: "completed" } });
  });

  test("and text that a terminal would act on or hide is spelled out, losing nothing in JSON and --raw", async () => {
    const hostile = "\u001b[31mred\u001b]0;title\u0007 \u202eevil\u200b \u009b2J";
    writeFileSync(join(haft.folder, "hostile.txt"), hostile);
    const call = ["tools", "call", "read", "path=hostile.txt"];
    const shown = await haft.run(call);
    expect(shown.stdout).toContain("\\u{1b}[31mred");
    expect(shown.stdout).toContain("\\u{202e}evil");
    const asJson = await haft.run([...call, "--json"]);
    for (const output of [shown.stdout, asJson.stdout]) expect(output).not.toMatch(/[\u001b\u0007\u202e\u200b\u009b]/);
    expect(JSON.stringify(json(asJson.stdout))).toContain("\u202eevil\u200b");
    const raw = await haft.run([...call, "--raw"]);
    expect(raw.stdout).toContain(hostile);
  });
});

describe("a call that needs a yes", () => {
  const write = ["tools", "call", "write", "path=a.txt", "content=Hello"];

  test("never runs after no, and the reason is kept", async () => {
    const requested = await haft.run([...write, "--json"]);
    const { pending } = json(requested.stdout) as unknown as { pending: { id: string } };
    expect(requested.code).toBe(7);
    expect(await haft.run(["approvals", "deny", pending.id, "--reason", "not here"])).toMatchObject({ code: 0 });
    expect((await haft.run(["approvals", "approve", pending.id])).code).not.toBe(0);
    expect(existsSync(join(haft.folder, "a.txt"))).toBe(false);
    const denied = await haft.run(["approvals", "list", "--state", "denied", "--jsonl"]);
    expect(json(denied.stdout)).toMatchObject({ id: pending.id, note: "not here" });
  });

  test("is denied by a rule with exit code 6, and explained", async () => {
    writeFileSync(
      join(haft.folder, "haft.config.yml"),
      'permissions: { deny: ["Edit(./a.txt)"], tests: [{ tool: write, input: { path: a.txt, content: x }, expect: deny }, { tool: write, input: { path: b.txt, content: x }, expect: allow }] }\n',
    );
    const refused = await haft.run(write);
    expect(refused).toMatchObject({ code: 6 });
    expect(refused.stderr.split("Edit(./a.txt)"), "the rule is named once").toHaveLength(2);
    const other = await haft.run(["policy", "explain", "write", "path=b.txt", "content=x"]);
    expect(other.stdout).toMatch(
      /^ask: "write" asks about this call, and no rule allows it\.\n\n  deny rules +- +no rule matches\n/,
    );
    const explained = await haft.run(["policy", "explain", "write", "path=a.txt", "content=x", "--json"]);
    expect(explained.code, "an explanation is no refusal").toBe(0);
    expect(json(explained.stdout)).toMatchObject({ verdict: { decision: "deny", rule: "Edit(./a.txt)" } });
    const tested = await haft.run(["policy", "test", "--json"]);
    expect(tested.code).toBe(1);
    expect(json(tested.stdout).items).toMatchObject([{ holds: true }, { holds: false, decision: "ask" }]);
    const configured = await haft.run(["config", "show", "--origin", "--json"]);
    expect(json(configured.stdout).items[0]).toMatchObject({
      key: "permissions.deny[0]",
      origin: expect.stringContaining("haft.config.yml:1"),
    });
  });
});

test("policy lint finds mistakes in rules that are not trusted yet, with their lines, and exits with 1", async () => {
  const lint = async () => haft.run(["policy", "lint"]);
  writeFileSync(join(haft.folder, "haft.config.yml"), 'permissions:\n  allow:\n    - "Bahs(npm test)"\n');
  const found = await lint();
  expect(found.code).toBe(1);
  expect(found.stdout).toMatch(/Bahs\(npm test\).*haft\.config\.yml:3/);
  writeFileSync(join(haft.folder, "haft.config.yml"), 'permissions:\n  allow:\n    - "Bash(npm test)"\n');
  expect(await lint()).toMatchObject({ code: 0, stdout: "" });
});

describe("the command line itself", () => {
  test("offers the nearest name for a wrong one, and says what a command takes", async () => {
    const wrong = await haft.run(["tols", "list"]);
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    expect(wrong.stderr).toContain('"tools"');
    expect((await haft.run(["tools", "lst"])).stderr).toContain('"tools list"');
    expect((await haft.run(["tools", "list", "--knd", "write"])).stderr).toContain('"--kind"');
    expect((await haft.run(["tools", "list", "--kind", "writes"])).stderr).toContain('"write"');
    const missing = await haft.run(["tools", "describe"]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("`haft help tools describe`") });
    expect(await haft.run(["tools"])).toMatchObject({ code: 2, stdout: "" });
    const asJson = await haft.run(["tools", "lst", "--json"]);
    expect(json(asJson.stderr)).toMatchObject({ error: { code: "usage" } });
  });

  test("shows examples before options in its help, on stdout", async () => {
    const { code, stdout } = await haft.run(["tools", "call", "--help"]);
    expect(code).toBe(0);
    expect(stdout.indexOf("haft tools call read")).toBeLessThan(stdout.indexOf("--timeout"));
    const help = await haft.run(["help"]);
    expect(help.stdout).toMatch(
      /approvals watch[\s\S]*\nStart\n {2}serve [\s\S]*\nApprove\n {2}approvals .*: list, show/,
    );
    expect(await haft.run(["--help"])).toEqual(help);
    expect(await haft.run([]), "nobody looks at a pipe").toEqual(help);
    expect((await haft.run(["help", "tools", "call"])).stdout).toBe(stdout);
    expect(await haft.run(["-v"])).toEqual(await haft.run(["--version"]));
    const misplaced = await haft.run(["--port", "0"]);
    expect(misplaced).toMatchObject({ code: 2, stderr: expect.stringContaining("haft serve --port 0") });
  });

  test("has colours where they are wanted, and none in a pipe or where they are not", async () => {
    const list = ["tools", "list"];
    expect((await haft.run(list)).stdout).not.toContain("\u001b");
    expect((await haft.run(list, { env: { FORCE_COLOR: "1" } })).stdout).toContain("\u001b[");
    expect((await haft.run(list, { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stdout).not.toContain("\u001b");
    expect((await haft.run([...list, "--no-color"], { env: { FORCE_COLOR: "1" } })).stdout).not.toContain("\u001b");
  });

  test("says nothing but data when it is told to be quiet", async () => {
    expect(await haft.run(["approvals", "list", "-q"])).toEqual({ code: 0, stdout: "", stderr: "" });
    // A command that runs none of the workspace's commands says nothing about confining them.
    expect((await haft.run(["approvals", "list"])).stderr).not.toContain("not confined");
    expect((await haft.run(["approvals", "list"])).stderr).toContain("Nothing waits");
  });

  test("completes commands, options, tools and their parameters without making a store", async () => {
    const complete = async (...words: string[]) =>
      (await haft.run(["completion", "--words", "--", ...words])).stdout.trim().split("\n");
    expect(await complete("to")).toEqual(["tools", "token"]);
    expect(await complete("tools", "de")).toEqual(["describe"]);
    expect(await complete("tools", "call", "apply")).toEqual(["apply_patch"]);
    expect(await complete("tools", "call", "read", "pa")).toEqual(["path=", "pages="]);
    expect(await complete("tools", "list", "--kind", "")).toEqual(["readonly", "write", "execute"]);
    expect(existsSync(haft.stateFolder)).toBe(false);
    expect((await haft.run(["completion", "bash"])).stdout).toContain("complete -o default -F _haft haft");
    expect(await haft.run(["completion", "tcsh"])).toMatchObject({ code: 2 });
  });

  test("works on the folder that is named, and reports a broken configuration with its place", async () => {
    const first = haft.folder;
    writeFileSync(join(first, "haft.config.yml"), "tools: { timeot: 1 }\n");
    haft.openFolder();
    const broken = await haft.run(["tools", "list", "-C", first]);
    expect(broken).toMatchObject({ code: 1, stdout: "" });
    expect(broken.stderr).toContain("haft.config.yml:1");
    expect(broken.stderr).toContain('"timeout"');
    expect(await haft.run(["tools", "list"])).toMatchObject({ code: 0 });
  });
});

describe("the other commands", () => {
  test("search tools, in words of one's own", async () => {
    const { code, stdout } = await haft.run(["tools", "search", "rename", "a", "file", "--limit", "1", "--json"]);
    expect(code).toBe(0);
    expect(json(stdout).items).toMatchObject([{ name: "move_file" }]);
  });

  test("query, export and verify the audit log, and find a change in it", async () => {
    await haft.run(["tools", "call", "current_time"]);
    await haft.run(["tools", "call", "read", "path=missing"]);
    const failed = await haft.run(["audit", "query", "--status", "failed", "--json"]);
    expect(json(failed.stdout).items).toMatchObject([{ toolName: "read", errorCode: "path_not_found" }]);
    const exported = await haft.run(["audit", "export"]);
    expect(
      exported.stdout
        .trim()
        .split("\n")
        .map((line) => json(line)["toolName"]),
    ).toContain("current_time");
    const { DatabaseSync } = await import("@photostructure/sqlite");
    const database = new DatabaseSync(join(haft.stateFolder, "haft.db"));
    database.exec("UPDATE audit SET tool = 'exec' WHERE seq = 1");
    database.close();
    expect(await haft.run(["audit", "verify"])).toMatchObject({ code: 1 });
    expect(await haft.run(["doctor"])).toMatchObject({ code: 1 });
  });

  test("print the state folder, without creating it", async () => {
    const { stdout } = await haft.run(["doctor", "--json"]);
    const found = `${haft.stateFolder} is created at the first use`;
    expect(json(stdout).items).toContainEqual({ what: "state folder", state: "ok", found });
    expect(existsSync(haft.stateFolder)).toBe(false);
    await haft.run(["tools", "call", "current_time"]);
    const used = await haft.run(["doctor", "--json"]);
    expect(json(used.stdout).items).toContainEqual({ what: "state folder", state: "ok", found: haft.stateFolder });
  });

  test("say which message channels are ready, and send nothing", async () => {
    const channels = { term: { type: "console" }, team: { type: "slack", targets: { general: "C1" } } };
    writeFileSync(join(haft.folder, "haft.config.json"), JSON.stringify({ message: { channels } }));
    expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
    const { stdout } = await haft.run(["doctor", "--json"]);
    expect(json(stdout).items).toEqual(
      expect.arrayContaining([
        { what: "channel term", state: "ok", found: "console to default" },
        expect.objectContaining({ what: "channel team", state: "warning", next: expect.stringContaining("token") }),
      ]),
    );
  });

  test("record the calls of a command and answer them from the recording", async () => {
    writeFileSync(join(haft.folder, "a.txt"), "recorded");
    const read = ["tools", "call", "read", "path=a.txt"];
    expect(await haft.run(["record", "calls.jsonl", "--", ...read])).toMatchObject({ code: 0 });
    writeFileSync(join(haft.folder, "a.txt"), "changed");
    const replayed = await haft.run(["replay", "calls.jsonl", "--", ...read]);
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining("recorded") });
    const other = await haft.run(["replay", "calls.jsonl", "--", "tools", "call", "current_time"]);
    const missing = await haft.run(["replay", "none.jsonl"]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("There is no recording") });
    expect(other.code).toBe(5);
    expect(other.stderr).toContain("replay_mismatch");
  });

  test("write a configuration once, and let nothing of a folder count that nobody agreed to", async () => {
    expect(await haft.run(["init"])).toMatchObject({ code: 0 });
    expect((await haft.run(["init"])).stderr).toContain("already");
    writeFileSync(join(haft.folder, "haft.config.yml"), 'permissions: { allow: ["Edit"] }\n');
    const write = ["tools", "call", "write", "path=a.txt", "content=x"];
    expect((await haft.run(write)).code).toBe(7);
    const open = await haft.run(["trust"]);
    expect(open).toMatchObject({ code: 7 });
    expect(open.stdout).toContain("allow without asking: Edit");
    expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
    expect(await haft.run(["tools", "call", "write", "path=b.txt", "content=x"])).toMatchObject({ code: 0 });
    await haft.run(["trust", "--forget"]);
    expect((await haft.run(["tools", "call", "write", "path=c.txt", "content=x"])).code).toBe(7);
  });

  test("make tokens that are shown once, and revoke them", async () => {
    const made = await haft.run(["token", "create", "ci", "--scope", "read,call", "--expires", "30d", "--json"]);
    const { token, id } = json(made.stdout) as unknown as { token: string; id: string };
    const listed = await haft.run(["token", "list", "--json"]);
    expect(listed.stdout).not.toContain(token);
    expect(json(listed.stdout).items).toMatchObject([{ id, name: "ci", scopes: ["read", "call"] }]);
    expect(await haft.run(["token", "revoke", id])).toMatchObject({ code: 0 });
    expect(json((await haft.run(["token", "list", "--json"])).stdout).items).toEqual([]);
    expect(await haft.run(["token", "create", "ci", "--scope", "everything"])).toMatchObject({ code: 2 });
  });
});

test("the log says who answered, with the approval that the run names too, and what a grant allows", async () => {
  const asked = async (id: string): Promise<string> => {
    const words = ["tools", "call", "write", `path=${id}.txt`, "content=a", "--id", id];
    return /approvals approve (\S+)/.exec((await haft.run(words)).stderr)![1]!;
  };
  const [yes, no] = [await asked("yes-1"), await asked("no-1")];
  expect(await haft.run(["approvals", "approve", yes, "--for-session"])).toMatchObject({ code: 0 });
  await haft.run(["approvals", "deny", no, "--reason", "use notes"]);
  const { stdout } = await haft.run(["audit", "query"]);
  const lineOf = (...words: string[]) => stdout.split("\n").find((line) => words.every((word) => line.includes(word)));
  expect(lineOf("approval_answered", "yes-1")).toMatch(new RegExp(`allow .*yes-1  ${yes}  by \\S+$`));
  expect(lineOf("approval_answered", "no-1")).toMatch(new RegExp(`deny .*no-1  ${no}  by \\S+: use notes$`));
  expect(lineOf("approval_asked", "yes-1")).toContain(yes);
  expect(lineOf("call_begun", "yes-1")).toContain(yes);
  expect((await haft.run(["audit", "query", "--search", yes])).stdout).toMatch(/approval_asked[^]*call_begun/);
  expect(lineOf("grant", "granted")).toMatch(/grt_\S+  .*until \d{4}-.*  by \S+$/);
});

describe("what a model wrote", () => {
  const TEXT = 'So.\n<tool_call>{"name": "current_time", "arguments": {}}</tool_call>\n<tool_call>{"name": "wri';

  test("is read, with the verdict on each call, and nothing runs", async () => {
    const { code, stdout } = await haft.run(["parse"], { input: TEXT });
    expect(code).toBe(5);
    expect(stdout).toMatch(/current_time hermes\n {2}\{\}\n {2}allow: /);
    expect(stdout).toContain("not parsed");
    expect(json((await haft.run(["parse", "--json"], { input: TEXT })).stdout)).toMatchObject({
      text: "So.\n\n",
      calls: [{ name: "current_time", explanation: { verdict: { decision: "allow" } } }, { failure: {} }],
    });
    const asks = await haft.run(["audit", "query", "--json"]);
    expect(json(asks.stdout).items).toEqual([]);
  });

  test("is run, and answered as the model is to be", async () => {
    writeFileSync(join(haft.folder, "answer.txt"), TEXT);
    const { code, stdout } = await haft.run(["parse", "answer.txt", "--run"]);
    expect(code).toBe(5);
    const answers = [...stdout.matchAll(/<tool_response>\n(.*)\n<\/tool_response>/g)].map(([, answer]) =>
      json(answer!),
    );
    expect(answers).toMatchObject([{ name: "current_time", success: true }, { success: false }]);
  });
});
