// A session of the record as a test: written after a review, and judged by another policy or run with other tools.
import { existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTool } from "../../src/core/create-tool.ts";
import { createHaft } from "../../src/runtime.ts";
import { replayFixture } from "../../src/testing/index.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const SECRET = "sk-live-0123456789abcdef0123";

const refund = (more: readonly { name: string; type: "string"; description: string; required?: boolean }[] = []) =>
  createTool({
    name: "refund",
    description: "Pays money back.",
    kind: "execute",
    permission: "auto",
    parameters: [{ name: "amount", type: "number", description: "How much", required: true }, ...more],
    run: () => {
      throw new Error("It ran.");
    },
  });

async function openSession() {
  const folder = temporaryFolder("haft-fixture-");
  writeFileSync(join(folder, "a.txt"), "one\n");
  const { host, haft } = await openHostCli(folder);
  const call = (tool: string, input: object, session = "s1") =>
    host.haft.execute(tool, input, { caller: { session, user: "ann" } });
  await call("read", { path: "a.txt" });
  await call("write", { path: "docs/a.md", content: "A line of plain text. ".repeat(20) });
  await call("exec", { command: `npm run build -- --token=${SECRET}` });
  await call("read", { path: "missing.txt" });
  await call("read", { path: "a.txt" }, "other");
  await host.store.audit.flush();
  const replay = async (...words: string[]) => {
    const { code, stdout, stderr } = await haft("replay", "s1.json", ...words, "--json");
    return { code, stderr, report: stdout === "" ? undefined : JSON.parse(stdout) };
  };
  return { folder, host, haft, replay };
}

test("a session is shown for review, written with --yes, and never replaced silently", async () => {
  const { folder, haft } = await openSession();
  const shown = await haft("record", "export", "s1", "--output", "s1.json");
  expect(shown.code).toBe(7);
  expect(shown.stdout).toContain('"a.txt"');
  expect(shown.stderr).toContain("Nothing was written");
  expect(existsSync(join(folder, "s1.json"))).toBe(false);
  expect((await haft("record", "export", "s1", "--output", "s1.json", "--yes")).code).toBe(0);
  const text = readFileSync(join(folder, "s1.json"), "utf8");
  expect(statSync(join(folder, "s1.json")).mode & 0o077).toBe(0);
  expect(text).not.toContain(SECRET);
  const { calls } = JSON.parse(text);
  expect(calls).toMatchObject([
    { tool: "read", input: { path: "a.txt" }, verdict: { decision: "allow" }, result: { status: "completed" } },
    { tool: "write", verdict: { decision: "ask" }, digest: { folders: ["docs"] }, result: { status: "pending" } },
    { tool: "exec", isWhole: false, verdict: { decision: "ask" } },
    { tool: "read", isWhole: true, result: { status: "failed", errorCode: "path_not_found" } },
  ]);
  const again = await haft("record", "export", "s1", "--output", "s1.json", "--yes");
  expect(again.code).toBe(2);
  expect(again.stderr).toContain("exists");
  expect(readFileSync(join(folder, "s1.json"), "utf8")).toBe(text);
  expect((await haft("record", "export", "s1", "--output", "s1.json", "--yes", "--overwrite")).code).toBe(0);
  expect((await haft("record", "export", "nobody", "--yes")).code).toBe(2);
});

test("a replay fails where another policy decides otherwise, and runs nothing by default", async () => {
  const { folder, haft, replay, host } = await openSession();
  await haft("record", "export", "s1", "--output", "s1.json", "--yes");
  const before = (await host.store.audit.head()).count;
  expect(await replay()).toMatchObject({ code: 0, report: { calls: 4, ran: 0, differences: [] } });
  writeFileSync(join(folder, "new.yml"), "permissions:\n  allow: [Edit(docs/**)]\n  deny: [Read(a.txt)]\n");
  expect(await replay("--policy", "new.yml")).toMatchObject({
    code: 1,
    report: {
      differences: [
        { tool: "read", what: "verdict", text: expect.stringContaining("allow becomes deny") },
        { tool: "write", what: "verdict", text: expect.stringContaining("ask becomes allow") },
      ],
    },
  });
  expect((await host.store.audit.head()).count).toBe(before);
  expect(existsSync(join(folder, "docs/a.md"))).toBe(false);
  // A call whose command was hidden is counted, and fails only if that is asked for.
  expect((await replay()).report.unchecked).toEqual({ "a rule compares a value that was hidden": 1 });
  expect((await replay("--strict")).code).toBe(1);
  expect(await replay("--error", "write")).toMatchObject({ code: 1, report: { differences: [{ what: "tool" }] } });
  expect((await replay("--policy", "nothere.yml")).code).toBe(2);
  expect((await replay("--run", "read", "--error", "read")).code).toBe(2);
  expect((await haft("replay", "s1.json", "--", "tools", "list")).code).toBe(2);
});

test("tools that are named run through the gate, and another result is a difference", async () => {
  const { folder, haft, replay } = await openSession();
  await haft("record", "export", "s1", "--output", "s1.json", "--yes");
  expect(await replay("--run", "read,write")).toMatchObject({ code: 0, report: { ran: 2, differences: [] } });
  // What asks does not run for a test.
  expect(existsSync(join(folder, "docs/a.md"))).toBe(false);
  writeFileSync(join(folder, "missing.txt"), "there now\n");
  expect(await replay("--run", "read")).toMatchObject({
    code: 1,
    report: { ran: 2, differences: [{ what: "result", text: 'status: "failed" becomes "completed"' }] },
  });
  writeFileSync(join(folder, "deny.yml"), "deny: [read]\n");
  expect((await replay("--run", "read", "--policy", "deny.yml")).report.ran).toBe(0);
});

test("what is not a fixture is refused with the reason", async () => {
  const { folder, haft } = await openSession();
  await haft("record", "export", "s1", "--output", "s1.json", "--yes");
  const good = JSON.parse(readFileSync(join(folder, "s1.json"), "utf8"));
  const wrong: [unknown, string][] = [
    [{ ...good, version: 2 }, "version 2"],
    [{ ...good, calls: [] }, "no calls"],
    [{ ...good, calls: [{ ...good.calls[0], verdict: { decision: "yes" } }] }, "calls[0].verdict.decision"],
    [{ ...good, calls: [{ ...good.calls[0], digest: [] }] }, "calls[0].digest.input"],
    [{ ...good, tools: [] }, "`session` or `tools` is missing"],
  ];
  for (const [value, why] of wrong) {
    writeFileSync(join(folder, "bad.json"), JSON.stringify(value));
    const { code, stderr } = await haft("replay", "bad.json");
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  }
  writeFileSync(join(folder, "bad.json"), '{ "format": "haft-fixture", ');
  expect((await haft("replay", "bad.json")).stderr).toContain("not JSON");
  writeFileSync(join(folder, "recording.jsonl"), '{"type":"header"}\n');
  expect((await haft("replay", "recording.jsonl", "--policy", "x.yml")).stderr).toContain(
    "no file of haft record export",
  );
});

test("in a test runner: other tools and another policy of a runtime are compared with the session", async () => {
  const folder = temporaryFolder("haft-fixture-");
  const file = join(folder, "refund.json");
  const { host, haft } = await openHostCli(folder, { tools: [refund()] });
  await host.haft.execute("refund", { amount: 5 }, { caller: { session: "s1" } });
  await host.store.audit.flush();
  await haft("record", "export", "s1", "--output", "refund.json", "--yes");
  const report = await replayFixture(createHaft({ tools: [refund()] }), file);
  expect(report).toMatchObject({ calls: 1, judged: 1, ran: 0, changedTools: [] });
  const replay = (options: Parameters<typeof createHaft>[0], how = {}) => replayFixture(createHaft(options), file, how);
  await expect(replay({ tools: [refund()], rules: { ask: ["refund"] } })).rejects.toThrow("allow becomes ask");
  await expect(replay({ tools: [] })).rejects.toThrow("there is no such tool");
  const needsReason = refund([{ name: "reason", type: "string", description: "Why", required: true }]);
  await expect(replay({ tools: [needsReason] })).rejects.toThrow("reason");
  await expect(replay({ tools: [refund()] }, { tools: { refund: "error" } })).rejects.toThrow("no call of this tool");
  // The session's call failed too, in the same way.
  expect(await replayFixture(createHaft({ tools: [refund()] }), file, { tools: { refund: "run" } })).toMatchObject({
    ran: 1,
    differences: [],
  });
});

test("a file that is replaced is a new one: a link is not followed, and others cannot read it", async () => {
  const { folder, haft } = await openSession();
  writeFileSync(join(folder, "precious"), "precious", { mode: 0o644 });
  symlinkSync(join(folder, "precious"), join(folder, "s1.json"));
  symlinkSync(join(folder, "nothing"), join(folder, "dangling.json"));
  const write = (...words: string[]) => haft("record", "export", "s1", "--yes", "--output", ...words);
  expect((await write("s1.json")).code).toBe(2);
  expect((await write("dangling.json")).code).toBe(2);
  expect((await write("s1.json", "--overwrite")).code).toBe(0);
  expect((await write("dangling.json", "--overwrite")).code).toBe(0);
  expect(readFileSync(join(folder, "precious"), "utf8")).toBe("precious");
  expect(existsSync(join(folder, "nothing"))).toBe(false);
  expect(lstatSync(join(folder, "s1.json")).isFile()).toBe(true);
  expect(statSync(join(folder, "s1.json")).mode & 0o777).toBe(0o600);
});

test("a session that a shadow judged too is replayed like any other", async () => {
  const { folder, host, haft, replay } = await openSession();
  await haft("policy", "shadow", "read", "--as", "deny");
  await host.haft.execute("read", { path: "a.txt" }, { caller: { session: "s1", user: "ann" } });
  const [last] = (await host.store.audit.query({ kind: "call_ended", limit: 1 })).entries;
  expect(last?.data["digest"]).toHaveProperty("shadow.after", "deny");
  expect((await haft("record", "export", "s1", "--output", "s1.json", "--yes")).code).toBe(0);
  expect(readFileSync(join(folder, "s1.json"), "utf8")).not.toContain("shadow");
  expect(await replay()).toMatchObject({ code: 0, report: { differences: [] } });
});

test("what runs is what was judged, whatever the file says of it, and nobody is asked", async () => {
  const { folder, host, replay } = await openSession();
  writeFileSync(join(folder, "b.txt"), "two\n");
  writeFileSync(join(folder, "p.yml"), "allow: [read, write]\ndeny: [Read(./b.txt)]\n");
  const put = (tool: string, input: object, digest: object) =>
    writeFileSync(
      join(folder, "s1.json"),
      JSON.stringify({
        ...{ format: "haft-fixture", version: 1, session: "s1", tools: {} },
        calls: [
          {
            ...{ callId: "c", at: 1, tool, input, isWhole: true, digest },
            ...{ verdict: { decision: "allow", by: "tool" }, result: { status: "completed" } },
          },
        ],
      }),
    );
  const asked = (await host.haft.approvals.list("pending")).length;
  put("write", { path: "new.txt", content: "x" }, { input: {}, permission: "auto", mode: "bypassPermissions" });
  expect((await replay("--run", "write")).report).toMatchObject({ ran: 0 });
  put("read", { path: "b.txt" }, { input: { path: "a.txt" } });
  expect((await replay("--run", "read", "--policy", "p.yml")).report).toMatchObject({ ran: 0 });
  put("read", { path: "b.txt" }, { input: { path: "b.txt" } });
  expect((await replay("--run", "read")).report).toMatchObject({ ran: 1 });
  expect((await host.haft.approvals.list("pending")).length).toBe(asked);
  expect(existsSync(join(folder, "new.txt"))).toBe(false);
  await expect(replayFixture(host.haft, join(folder, "s1.json"), { tools: { read: "run" } })).resolves.toMatchObject({
    ran: 1,
  });
});
