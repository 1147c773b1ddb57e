// What the record of calls says about a policy: through the command line, on calls that really ran.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Simulation } from "../../src/contracts/policy.ts";
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
