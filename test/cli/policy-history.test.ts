// What the record of calls says about a policy: through the command line, on calls that really ran.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HostApi } from "../../src/api/host-api.ts";
import { expect, test } from "vitest";
import { createTool } from "../../src/core/create-tool.ts";
import type { Simulation } from "../../src/contracts/policy.ts";
import type { HostOptions } from "../../src/host.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

async function openRecord() {
  const folder = temporaryFolder("haft-history-");
  writeFileSync(join(folder, "a.txt"), "a");
  const { host, haft } = await openHostCli(folder);
  const call = (tool: string, input: object, session = "one") =>
    host.haft.execute(tool, input, { caller: { session, user: "ann" } });
  for (const path of ["docs/a.md", "docs/b.md", "src/c.ts"]) await call("write", { path, content: "x" });
  await call("exec", { command: "npm run build" });
  await call("exec", { command: "npm run build -- --token=sk-live-0123456789abcdef0123" }, "two");
  await call("read", { path: "a.txt" });
  await host.store.audit.flush();
  const json = async (...words: string[]) => {
    const { stdout, code } = await haft("policy", "backtest", ...words, "--json");
    return { code, report: JSON.parse(stdout) as Simulation };
  };
  return { folder, haft, host, json };
}

test("a changed policy is judged over the record: what it newly allows, asks and denies, with the calls", async () => {
  const { folder, haft, json } = await openRecord();
  const rule = await json("Edit(docs/**)");
  expect(rule).toMatchObject({
    code: 0,
    report: { judged: 5, skipped: 1, unjudged: { secret: 1 }, newly: { allow: 2, ask: 0, deny: 0 } },
  });
  expect(rule.report.changed.map(({ subject }) => subject.text)).toEqual([
    expect.stringContaining("docs/b.md"),
    expect.stringContaining("docs/a.md"),
  ]);
  // The rules of a file replace the active ones, or are added to them.
  const file = join(folder, "new.yml");
  writeFileSync(file, "permissions:\n  deny: [Edit(src/**)]\n  allow:\n    - Bash(npm run build)\n  ask: [read]\n");
  expect((await json("new.yml")).report).toMatchObject({ newly: { allow: 1, ask: 1, deny: 1 } });
  expect((await json("new.yml", "--session", "two", "--since", "1h")).report).toMatchObject({ judged: 0, skipped: 1 });
  expect((await json("new.yml", "--tool", "write")).report).toMatchObject({
    judged: 3,
    tools: [{ tool: "write", before: "ask", after: "deny", count: 1 }],
  });
  // For CI.
  const codes = async (...words: string[]) => (await haft("policy", "backtest", "new.yml", ...words)).code;
  expect(await codes("--fail-on", "newly-allowed")).toBe(1);
  expect(await codes("--tool", "write", "--fail-on", "newly-allowed")).toBe(0);
  expect(await codes("--tool", "write", "--fail-on", "newly-allowed,newly-denied")).toBe(1);
  expect(await codes("--fail-on", "unjudged")).toBe(1);
  expect(await codes("--fail-on", "anything")).toBe(2);
  const { stdout } = await haft("policy", "backtest", "new.yml", "--sarif");
  const [run] = JSON.parse(stdout).runs;
  expect(run.results).toHaveLength(3);
  expect(run.results.find(({ ruleId }: { ruleId: string }) => ruleId === "newly-allowed")).toMatchObject({
    level: "error",
    locations: [{ physicalLocation: { artifactLocation: { uri: "new.yml" }, region: { startLine: 4 } } }],
  });
  // Nothing was changed by any of it.
  expect((await haft("policy", "explain", "exec", "command=npm run build")).stdout).toContain("ask");
  expect(readFileSync(file, "utf8")).toContain("ask: [read]");
  for (const wrong of [["nothere.yml"], ["Edit("], ["new.yml", "--remove"]])
    expect((await haft("policy", "backtest", ...wrong)).code).not.toBe(0);
  const text = (await haft("policy", "backtest", "Edit(docs/**)")).stdout;
  expect(text).toContain("5 calls judged: 2 newly allowed, 0 newly asked, 0 newly denied.");
  expect(text).toContain("1: a rule compares a value that was hidden");
});

test("what people answered yes to in several sessions is proposed, accepted, and not proposed again", async () => {
  const folder = temporaryFolder("haft-history-");
  const { host, haft } = await openHostCli(folder);
  const ask = async (path: string, session: string, verb: "approve" | "deny") => {
    const result = await host.haft.execute("write", { path, content: "x" }, { caller: { session, user: "ann" } });
    if (result.status !== "pending") throw new Error(result.status);
    await haft("approvals", verb, result.pending.id);
  };
  for (const at of [1, 2, 3, 4, 5, 6, 7, 8, 9]) await ask(`docs/page-${at}.md`, `s${at % 3}`, "approve");
  for (const at of [1, 2, 3]) await ask(`notes/${at}.txt`, "s1", "approve");
  for (const at of [1, 2, 3]) await ask(`plans/a${at}.txt`, `s${at}`, at === 3 ? "deny" : "approve");
  await host.store.audit.flush();
  const list = async (): Promise<{ id: string; rules: string[]; saved: number }[]> =>
    JSON.parse((await haft("policy", "suggest", "--json")).stdout).items;
  const [proposal, ...others] = await list();
  expect(others).toEqual([]);
  expect(proposal).toMatchObject({ rules: ["Write(./docs/*.md)"], saved: 9, sessions: 3, unanswered: 0 });
  const text = (await haft("policy", "suggest")).stdout;
  expect(text).toContain("saves 9 questions in 3 sessions");
  expect(text).toContain("docs/page-");
  const id = proposal?.id ?? "";
  expect((await haft("policy", "suggest", "--accept", "none")).code).toBe(1);
  // What is accepted is learned from the same time as what was listed.
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  expect((await haft("policy", "suggest", "--since", tomorrow, "--accept", id)).code).toBe(1);
  expect((await haft("policy", "suggest", "--for", "1h")).code).toBe(2);
  const handlers = await new HostApi(host).handlersOf("policy");
  const endless = { body: { id, answer: "accept", grant: {} }, identity: { name: "ann" } } as never;
  await expect(handlers?.answerProposal(endless)).rejects.toThrow("When does this grant end?");
  // As a grant: it ends, its uses are counted, and while it lasts the same is not proposed.
  const granted = (await haft("policy", "suggest", "--accept", id, "--for", "1h", "--uses", "2")).stdout;
  expect(granted).toContain(": Write(./docs/*.md)");
  expect(await list()).toEqual([]);
  const statuses: string[] = [];
  for (const at of [10, 11, 12])
    statuses.push((await host.haft.execute("write", { path: `docs/page-${at}.md`, content: "x" })).status);
  expect(statuses).toEqual(["completed", "completed", "pending"]);
  await haft("grants", "revoke", /grt_\w+/.exec(granted)?.[0] ?? "");
  expect((await list()).map((each) => each.id)).toEqual([id]);
  expect((await haft("policy", "suggest", "--accept", id)).stdout).toContain("saved: Write(./docs/*.md)");
  const explain = async (path: string) =>
    (await haft("policy", "explain", "write", `path=${path}`, "content=x")).stdout;
  expect(await explain("docs/new.md")).toMatch(/^allow/);
  for (const path of ["docs/a/new.md", "docs/new.js", "docs/.git/x.md", "other/new.md"])
    expect(await explain(path)).toMatch(/^ask/);
  expect(await list()).toEqual([]);
  // Without the rule it is proposed again, until a person says never.
  const rule = host.haft.policy.rules.rules().find((each) => each.text === "Write(./docs/*.md)");
  await host.haft.policy.remove("Write(./docs/*.md)", "allow", rule?.origin ?? "");
  expect((await list()).map((each) => each.id)).toEqual([id]);
  expect((await haft("policy", "suggest", "--never", id)).stdout).toContain("not proposed again");
  await host.store.audit.flush();
  expect(await list()).toEqual([]);
});

const tag = createTool({
  name: "tag",
  description: "Tags a ticket.",
  kind: "execute",
  parameters: [{ name: "ticket", type: "string", description: "Which", required: true }],
  run: () => "tagged",
});
const fetchPage = createTool({
  name: "fetch_page",
  description: "Reads a page.",
  kind: "readonly",
  parameters: [{ name: "page", type: "string", description: "Which", required: true }],
  run: () => "Text of somebody.",
});

async function openTags(options: HostOptions = {}) {
  const { host, haft } = await openHostCli(temporaryFolder("haft-history-"), { tools: [tag, fetchPage], ...options });
  const call = (tool: string, input: object, session: string, id?: string) =>
    host.haft.execute(tool, input, { id, caller: { session } });
  /** By ann, if `by` is not given. */
  const ask = async (ticket: string, session: string, how: { id?: string; deny?: boolean; by?: string } = {}) => {
    const result = await call("tag", { ticket }, session, how.id);
    if (result.status !== "pending") throw new Error(result.status);
    const given = "by" in how ? { by: how.by } : { by: "ann" };
    if (how.deny) await host.haft.approvals.deny(result.pending.id, "No.", given);
    else await host.haft.approvals.approve(result.pending.id, given);
    await host.haft.approvals.result(result.pending.id);
  };
  const proposed = async (): Promise<string[]> => {
    await host.store.audit.flush();
    const { items } = JSON.parse((await haft("policy", "suggest", "--json")).stdout);
    return items.flatMap(({ rules }: { rules: string[] }) => rules);
  };
  return { host, haft, call, ask, proposed };
}

test("an answer counts for the call that was asked, also if its id is used again", async () => {
  const { host, haft, call, ask, proposed } = await openTags();
  for (const at of [0, 1, 2, 3]) {
    await ask("T-1", `s${at % 2}`, { id: `c${at}` });
    expect((await call("tag", { ticket: "PROD-999" }, `s${at % 2}`, `c${at}`)).status).toBe("failed");
  }
  expect(await proposed()).toEqual(['tag(ticket=="T-1")']);
  // Every session numbers its calls from the beginning, and a later call does not hide an earlier one.
  await ask("EVIL", "s7", { id: "c0" });
  await call("tag", { ticket: "harmless" }, "s7", "c0");
  await host.store.audit.flush();
  const backtest = await haft("policy", "backtest", "tag(ticket==EVIL)", "--fail-on", "newly-allowed", "--json");
  expect(backtest.code).toBe(1);
  expect(JSON.parse(backtest.stdout)).toMatchObject({ judged: 10, newly: { allow: 1 } });
});

test("a session that has read text of others teaches nothing, whoever says that it is such text", async () => {
  const labels = ["untrusted_input"] as const;
  const own = createTool({
    ...{ name: "own_page", description: "Reads a page.", kind: "readonly", run: () => "Text of somebody." },
    parameters: [{ name: "page", type: "string", description: "Which", required: true }],
    labelsOf: (_input: unknown, result: unknown) => (result ? labels : []),
  });
  const overrides = { provenance: { tools: { fetch_page: { labels } } } };
  for (const [page, options] of [
    ["fetch_page", { overrides }],
    ["own_page", { tools: [tag, own] }],
    ["fetch_page", {}],
  ] as const) {
    const { call, ask, proposed } = await openTags(options as HostOptions);
    for (const at of [0, 1, 2, 3]) {
      expect((await call(page, { page: "a" }, `s${at % 2}`)).status).toBe("completed");
      await ask("T-1", `s${at % 2}`);
    }
    const isText = "overrides" in options || "tools" in options;
    expect([page, await proposed()]).toEqual([page, isText ? [] : ['tag(ticket=="T-1")']]);
    // Before it reads, a session teaches.
    if (!isText) continue;
    for (const at of [4, 5, 6]) await ask("U-1", `s${at}`);
    for (const at of [4, 5, 6]) await call(page, { page: "a" }, `s${at}`);
    expect(await proposed()).toEqual(['tag(ticket=="U-1")']);
  }
});

test("a yes needs the name of a person, and a no does not", async () => {
  const { ask, proposed } = await openTags();
  for (const at of [0, 1, 2, 3]) await ask("T-1", `s${at % 2}`);
  for (const at of [0, 1, 2, 3]) await ask("U-1", `s${at % 2}`, { by: undefined });
  expect(await proposed()).toEqual(['tag(ticket=="T-1")']);
  await ask("T-1", "s1", { deny: true, by: undefined });
  expect(await proposed()).toEqual([]);
});
