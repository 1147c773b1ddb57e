// What "always" saves, and what it does not cover: approvals and permission rules together, on the real workspace tools.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openWorkspace } from "haft/workspace";
import { toolOf } from "../../src/core/call.ts";
import { RuleSet } from "../../src/gate/permit/rules/rule-set.ts";
import { suggestRules } from "../../src/gate/permit/rules/suggest-rules.ts";
import { idOf, makeFolder, openGate } from "./open-gate.ts";
import { memoryStoreFactory } from "./open-stores.ts";

async function start(sources: ConstructorParameters<typeof RuleSet>[0] = []) {
  const folder = makeFolder();
  const workspace = openWorkspace(folder);
  onTestFinished(() => workspace.close());
  const ruleSet = new RuleSet(sources);
  const gate = openGate({
    store: await (await memoryStoreFactory()).open(),
    folder,
    tools: workspace.tools,
    judge: (call) => ruleSet.judge({ tool: toolOf(call), input: call.input, mode: call.options.mode, cwd: folder }),
    suggestRules: (call) => ({
      narrow: suggestRules({ tool: toolOf(call), input: call.input, cwd: folder }),
      broader: [],
    }),
    remember({ scope = "once", rules = [] }) {
      for (const rule of rules) ruleSet.add(rule, "allow", scope);
    },
  });
  let calls = 0;
  const exec = (command: string) => gate.execute("exec", { command }, { id: `c${++calls}` });
  return { ...gate, folder, ruleSet, exec };
}

describe("always", () => {
  test.each([
    ["ap-015", "/bin/bash -lc 'whoami'", "/bin/bash -lc 'rm x'"],
    ["ap-015", "/bin/zsh -lc 'touch a'", "/bin/zsh -lc 'rm a'"],
    ["ap-015", "env FOO=1 bash -c 'touch a'", "env FOO=1 bash -c 'rm a'"],
    ["ap-017", "bash scripts/a.sh", "bash -s scripts/a.sh < scripts/b.sh"],
    ["ap-017", "bash scripts/a.sh", "bash -c 'rm a'"],
  ])("%s: of %j does not cover %j", async (_id, first, then) => {
    const { exec, approve, approvals, folder } = await start();
    mkdirSync(join(folder, "scripts"));
    writeFileSync(join(folder, "scripts/a.sh"), "touch made\n");
    writeFileSync(join(folder, "scripts/b.sh"), "rm a\n");
    // A command without effects asks nobody.
    for (const name of ["a", "x"]) writeFileSync(join(folder, name), "");
    const requested = await exec(first);
    // What is allowed without asking, or offers nothing to save, covers nothing.
    if (requested.status === "pending") {
      const { suggestedRules } = (await approvals.get(requested.pending.id))!;
      await approve(requested.pending.id, suggestedRules.length > 0 ? { scope: "always" } : {});
    }
    expect(await exec(then)).toMatchObject({ status: "pending" });
  });

  test("of a plain command covers it from then on, and no other", async () => {
    const { exec, approve, approvals, ruleSet, folder } = await start();
    writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { build: "echo built > built.txt" } }));
    const requested = idOf(await exec("npm run build"));
    const { suggestedRules } = (await approvals.get(requested))!;
    expect(suggestedRules).toHaveLength(1);
    await approve(requested, { scope: "always" });
    expect(ruleSet.rules().map(({ text }) => text)).toEqual(suggestedRules);
    expect((await exec("npm run build")).status).not.toBe("pending");
    expect(await exec("npm publish")).toMatchObject({ status: "pending" });
  });
});

describe("a grant", () => {
  test("ap-023: of a folder does not cover a child that is denied", async () => {
    const { execute, folder } = await start([
      { origin: "user", deny: ["Read(./secrets/**)", "Edit(./secrets/**)"], allow: ["Read(./**)", "Edit(./**)"] },
    ]);
    mkdirSync(join(folder, "secrets"));
    writeFileSync(join(folder, "secrets/x"), "hidden");
    writeFileSync(join(folder, "open"), "shown");
    expect(await execute("read", { path: "open" })).toMatchObject({ status: "completed" });
    expect(await execute("read", { path: "secrets/x" })).toMatchObject({ status: "failed", error: { code: "denied" } });
    expect(await execute("write", { path: "secrets/y", content: "" })).toMatchObject({ error: { code: "denied" } });
  });

  test("ap-024: deny rules hold in a chain that is too long to be looked at", async () => {
    const { exec } = await start([{ origin: "user", deny: ["Bash(rm:*)"], allow: ["Bash(echo:*)"] }]);
    const long = Array.from({ length: 200 }, (_, i) => `echo ${i}`).join(" && ");
    expect(await exec(`${long} && rm -rf x`)).toMatchObject({ status: "failed", error: { code: "denied" } });
  });
});
