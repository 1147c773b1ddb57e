// A policy beside the active one: through the command line, on calls that really ran.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { ShadowReport } from "../../src/contracts/policy.ts";
import { createShadowApi } from "../../src/api/handlers/policy-shadow.ts";
import { PolicyKeeper } from "../../src/capabilities/policy-keeper.ts";
import { openHaft } from "../../src/host.ts";
import { localRulesFile } from "../../src/config/saved-rules.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

vi.setConfig({ testTimeout: 180_000 });

async function open() {
  const folder = temporaryFolder("haft-shadow-");
  writeFileSync(join(folder, "a.txt"), "a");
  const { host, haft } = await openHostCli(folder);
  const call = (tool: string, input: object, session = "one") =>
    host.haft.execute(tool, input, { caller: { session, user: "ann" } });
  const report = async (): Promise<ShadowReport> => {
    await host.store.audit.flush();
    return JSON.parse((await haft("policy", "shadow", "--json")).stdout) as ShadowReport;
  };
  const rules = localRulesFile(folder, { home: folder, env: {} });
  return { folder, host, haft, call, report, rules };
}

test("a shadow notes where it decides in another way, and decides nothing", async () => {
  const { folder, host, haft, call, report } = await open();
  expect((await haft("policy", "shadow")).stdout).toContain("No shadow policy runs.");
  writeFileSync(join(folder, "new.yml"), "allow: [Edit(docs/**)]\nask: [read]\ndeny: [Edit(src/**)]\n");
  expect((await haft("policy", "shadow", "new.yml")).code).toBe(0);
  const docs = await call("write", { path: "docs/a.md", content: "x" });
  const src = await call("write", { path: "src/c.ts", content: "x" });
  expect([docs.status, src.status, (await call("read", { path: "a.txt" })).status]).toEqual([
    ...["pending", "pending"],
    "completed",
  ]);
  expect((await call("write", { path: "b.txt", content: "x" })).status).toBe("pending");
  expect(await report()).toMatchObject({
    calls: 4,
    failed: 0,
    newly: { allow: 1, ask: 1, deny: 1 },
    changed: [
      { toolName: "read", before: "allow", after: "ask", rule: "read" },
      { toolName: "write", before: "ask", after: "deny", rule: "Edit(src/**)" },
      { toolName: "write", before: "ask", after: "allow", rule: "Edit(docs/**)" },
    ],
  });
  // An approved call is the same call: it counts once, as what the policy said before the person.
  if (docs.status === "pending") await haft("approvals", "approve", docs.pending.id);
  expect((await report()).newly).toEqual({ allow: 1, ask: 1, deny: 1 });
  const text = (await haft("policy", "shadow")).stdout;
  expect(text).toContain("4 recorded calls: 1 newly allowed, 1 newly asked, 1 newly denied.");
  expect(text).toContain("docs/a.md");
  // Another process of the workspace runs it too; it outlives each of them.
  const other = await openHaft(folder, { home: folder, env: {}, approvalWaitMs: false });
  await other.haft.execute("write", { path: "docs/b.md", content: "x" }, { caller: { session: "two" } });
  await other.close();
  expect((await report()).newly).toEqual({ allow: 2, ask: 1, deny: 1 });
  expect((await haft("policy", "shadow", "--stop")).code).toBe(0);
  await call("write", { path: "docs/z.md", content: "x" });
  expect((await report()).shadow).toBeUndefined();
  const [last] = (await host.store.audit.query({ kind: "call_waiting", limit: 1 })).entries;
  expect(last?.data["digest"]).not.toHaveProperty("shadow");
  for (const wrong of [["nothere.yml"], ["Edit("], ["--stop"], ["new.yml", "--remove"]])
    expect((await haft("policy", "shadow", ...wrong)).code).not.toBe(0);
});

test("a promotion is one change with one entry, and a rollback restores the file exactly", async () => {
  const { haft, host, call, rules, folder } = await open();
  await haft("policy", "shadow", "Edit(docs/**)");
  await call("write", { path: "docs/a.md", content: "x" });
  await host.store.audit.flush();
  const shown = await haft("policy", "promote");
  expect(shown.code).not.toBe(0);
  expect(shown.stderr).toContain("1 newly allowed");
  expect(shown.stderr).toContain("+ allow  Edit(docs/**)");
  expect(existsSync(rules)).toBe(false);
  expect((await call("write", { path: "docs/b.md", content: "x" })).status).toBe("pending");
  expect((await haft("policy", "promote", "--yes")).stdout).toContain("Active now: allow Edit(docs/**)");
  expect((await call("write", { path: "docs/c.md", content: "x" })).status).toBe("completed");
  expect((await haft("policy", "shadow")).stdout).toContain("No shadow policy runs.");
  expect((await haft("policy", "rollback")).code).toBe(0);
  expect(existsSync(rules)).toBe(false);
  expect((await call("write", { path: "docs/d.md", content: "x" })).status).toBe("pending");
  expect((await haft("policy", "rollback")).code).not.toBe(0);
  // With a file that people have edited: its bytes come back.
  const text = "# mine\npermissions:\n  deny: [ 'Edit(secret/**)' ]   # keep\n";
  writeFileSync(rules, text);
  await host.refreshConfig();
  writeFileSync(join(folder, "more.yml"), "allow: [Edit(docs/**), Edit(notes/**)]\ndefaultMode: acceptEdits\n");
  const whole = await haft("policy", "promote", "more.yml", "--yes");
  expect(whole.code).toBe(0);
  expect(whole.stderr).toContain("- deny  Edit(secret/**)");
  expect(host.haft.policy.rules.rules().map((rule) => rule.text)).toEqual(["Edit(docs/**)", "Edit(notes/**)"]);
  expect(host.haft.policy.rules.defaultMode).toBe("acceptEdits");
  expect((await haft("policy", "rollback")).code).toBe(0);
  expect(readFileSync(rules, "utf8")).toBe(text);
  expect(host.haft.policy.rules.rules().map((rule) => rule.text)).toEqual(["Edit(secret/**)"]);
  expect(host.haft.policy.rules.defaultMode).toBe("default");
  // Edited since: refused with the file and the rules, and nothing is lost.
  expect((await haft("policy", "promote", "Edit(docs/**)", "--yes")).code).toBe(0);
  const edited = `${readFileSync(rules, "utf8")}# edited\n`;
  writeFileSync(rules, edited);
  const refused = await haft("policy", "rollback");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("were changed since");
  expect(refused.stderr).toContain("Edit(docs/**)");
  expect(readFileSync(rules, "utf8")).toBe(edited);
  await host.store.audit.flush();
  const { entries } = await host.store.audit.query({ kind: "config_changed" });
  const actions = entries.map(({ data }) => data["action"]);
  expect(actions.filter((action) => action === "policy_promoted")).toHaveLength(3);
  // What was refused did not happen, and no entry says that it did.
  expect(actions.filter((action) => action === "policy_rolled_back")).toHaveLength(2);
});

test("in a shared store a promotion is one transaction, and one that comes too late changes nothing", async () => {
  const { folder, host } = await open();
  const { rules } = host.store;
  let race: (() => Promise<void>) | undefined;
  const store = {
    database: { ...host.store.database, isShared: true },
    rules: {
      ...rules,
      replace: async (...given: Parameters<typeof rules.replace>) => {
        await race?.();
        race = undefined;
        return rules.replace(...given);
      },
    },
  };
  const keeper = new PolicyKeeper({
    ...{ haft: host.haft, store, folder, user: {}, clock: host.haft.settings.clock, warn: () => undefined },
  });
  const actions: unknown[] = [];
  const api = createShadowApi(host.haft, {
    keeper,
    record: async ({ data }) => void actions.push(data?.["action"]),
    pastCalls: () => (async function* () {})(),
  });
  const request = {
    identity: { id: "1", name: "ann", scopes: ["admin" as const], kind: "token" as const },
    ...{ params: {}, query: {}, signal: new AbortController().signal, setHeader: () => undefined },
  };
  const promote = async (rule: string) =>
    api.promote({ ...request, body: { change: { add: [{ rule, decision: "allow" }] }, name: rule } });
  const rollback = async () => api.rollback({ ...request, body: undefined });
  const saved = async () => (await rules.list()).map(({ rule }) => rule);
  await rules.add({ list: "deny", rule: "Edit(keep/**)" });
  const first = await promote("Edit(a/**)");
  expect(await saved()).toEqual(["Edit(keep/**)", "Edit(a/**)"]);
  race = () => rules.add({ list: "ask", rule: "Edit(other/**)" });
  await expect(promote("Edit(b/**)")).rejects.toThrow("changed meanwhile");
  expect(await saved()).not.toContain("Edit(b/**)");
  // Still the one that happened.
  expect(await keeper.promotion()).toMatchObject({ id: first.id, name: "Edit(a/**)" });
  await expect(rollback()).rejects.toThrow("changed since");
  await rules.remove({ list: "ask", rule: "Edit(other/**)" });
  race = () => rules.add({ list: "ask", rule: "Edit(other/**)" });
  await expect(rollback()).rejects.toThrow("changed since");
  expect(await keeper.promotion()).toMatchObject({ id: first.id });
  await rules.remove({ list: "ask", rule: "Edit(other/**)" });
  expect((await rollback()).id).toBe(first.id);
  expect(await saved()).toEqual(["Edit(keep/**)"]);
  await expect(rollback()).rejects.toThrow("No policy was promoted");
  // A rule that another process has saved meanwhile is there once, and can be taken back.
  await rules.add({ list: "allow", rule: "Edit(c/**)" });
  await promote("Edit(c/**)");
  expect(await saved()).toEqual(["Edit(keep/**)", "Edit(c/**)"]);
  await rollback();
  expect(await saved()).toEqual(["Edit(keep/**)", "Edit(c/**)"]);
  // Of two promotions, the one that a person wants to take back must be the last one.
  const earlier = await promote("Edit(d/**)");
  await promote("Edit(e/**)");
  expect(await keeper.rollback(earlier.id, { begin: async () => undefined })).toBe(false);
  expect(await saved()).toEqual(["Edit(keep/**)", "Edit(c/**)", "Edit(d/**)", "Edit(e/**)"]);
  expect(actions.splice(-2)).toEqual(["policy_promoted", "policy_promoted"]);
  expect(actions).toEqual([
    ...["policy_promoted", "policy_promoted", "policy_promoted_failed"],
    ...["policy_rolled_back", "policy_rolled_back_failed", "policy_rolled_back"],
    ...["policy_promoted", "policy_rolled_back"],
  ]);
});

test("a rule of a file that people edit is not removed by a promotion", async () => {
  const { folder, haft, host } = await open();
  writeFileSync(join(folder, "haft.config.yml"), "permissions:\n  deny: [Edit(keep/**)]\n");
  await host.refreshConfig();
  writeFileSync(join(folder, "new.yml"), "allow: [Edit(docs/**)]\n");
  const refused = await haft("policy", "promote", "new.yml", "--yes");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("Edit(keep/**)");
  expect((await haft("policy", "promote", "new.yml", "--add", "--yes")).code).toBe(0);
  expect(host.haft.policy.rules.rules().map((rule) => rule.text)).toEqual(["Edit(keep/**)", "Edit(docs/**)"]);
});

test("the log, the command line and the API agree on every figure about questions", async () => {
  const { haft, host, call } = await open();
  const answer = async (path: string, session: string, verb: "approve" | "deny" | undefined) => {
    const result = await call("write", { path, content: "x" }, session);
    if (result.status !== "pending") throw new Error(result.status);
    if (verb) await haft("approvals", verb, result.pending.id);
  };
  for (const at of [1, 2, 3, 4, 5]) await answer(`docs/page-${at}.md`, `s${at % 2}`, "approve");
  await answer("other/a.txt", "s1", "deny");
  await answer("other/b.txt", "s1", undefined);
  await host.store.audit.flush();
  const { stdout, code } = await haft("stats", "--questions", "--json");
  expect(code).toBe(0);
  const figures = JSON.parse(stdout);
  expect(figures).toMatchObject({ asked: 7, yes: 5, no: 1, open: 1, ended: 0 });
  const { items } = JSON.parse((await haft("policy", "suggest", "--json")).stdout) as { items: { saved: number }[] };
  expect(items.length).toBeGreaterThan(0);
  expect(figures.proposals).toEqual({ count: items.length, saved: items.reduce((sum, { saved }) => sum + saved, 0) });
  const log = JSON.parse((await haft("audit", "query", "--limit", "500", "--json")).stdout) as {
    items: { type: string; verdict?: { decision: string } }[];
  };
  const of = (wanted: string) => log.items.filter(({ type }) => type === wanted);
  const given = of("approval_answered");
  expect(of("approval_asked").length).toBe(figures.asked);
  expect(given.filter(({ verdict }) => verdict?.decision === "allow").length).toBe(figures.yes);
  expect(given.filter(({ verdict }) => verdict?.decision === "deny").length).toBe(figures.no);
  const text = (await haft("stats", "--questions")).stdout;
  expect(text).toContain("7 questions: 5 yes, 1 no, 1 open, 0 ended without a person's answer.");
  expect(text).toContain("ann: 6 answers in");
  expect((await haft("stats", "--questions", "--tokens")).code).toBe(2);
});
