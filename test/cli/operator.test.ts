// What an operator types, against a host in this process: grants, rules, held stores, other processes, answers that do nothing.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HostApi } from "../../src/api/host-api.ts";
import { openHaft } from "../../src/host.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const open = () => openHostCli(temporaryFolder("haft-operator-"));
const write = (path: string) => ["write", { path, content: "x" }] as const;

test("grants give allows calls within its bounds, and refuses what the console refuses", async () => {
  const { haft, host } = await open();
  const call = (path: string, session = "s1") => host.haft.execute(...write(path), { caller: { session } });
  const given = await haft("grants", "give", "Edit(docs/**)", "--session", "s1", "--uses", "1", "--why", "the docs");
  expect(given).toMatchObject({ code: 0, stdout: expect.stringMatching(/allows +Edit\(docs\/\*\*\).*1 of 1 calls/s) });
  expect((await call("docs/a.md", "s2")).status).toBe("pending");
  expect((await call("src/a.md")).status).toBe("pending");
  expect((await call("docs/a.md")).status).toBe("completed");
  expect((await call("docs/b.md")).status).toBe("pending");
  expect((await haft("grants", "list")).stdout).toMatch(/used up.*session s1.*Edit\(docs/);
  const refused = async (...words: string[]) => {
    const { code, stderr } = await haft("grants", "give", ...words);
    expect(code).not.toBe(0);
    return stderr;
  };
  expect(await refused("Edit", "--for", "1h")).toContain("Who may use this grant?");
  expect(await refused("Edit", "--session", "s1")).toContain("When does this grant end?");
  expect(await refused("--session", "s1", "--for", "1h")).toContain("RULE");
  expect(await refused("nothere", "--session", "s1", "--for", "1h")).toContain("names no tool");
  expect(await refused("Edit(", "--session", "s1", "--for", "1h")).toContain("Edit(");
  expect((await host.haft.policy.grants.list()).length).toBe(1);
});

test("policy add says what a rule newly allows, asks before it allows more, and a denial needs no question", async () => {
  const { haft, host } = await open();
  const call = (path: string) => host.haft.execute(...write(path), { caller: { session: "one", user: "ann" } });
  await call("docs/a.md");
  await call("src/a.md");
  await host.store.audit.flush();
  const asked = await haft("policy", "add", "Edit(docs/**)");
  expect(asked).toMatchObject({ code: 7, stderr: expect.stringContaining("1 newly allowed") });
  expect(asked.stderr).toContain("docs/a.md");
  expect(asked.stderr).not.toContain("src/a.md");
  expect(asked.stderr).toMatch(/made-up calls?/);
  expect((await call("docs/b.md")).status).toBe("pending");
  // Broader than what was asked: known attacks and calls beside the recorded ones.
  expect((await haft("policy", "add", "Edit")).stderr).toMatch(
    /It also allows \d+ of \d+ made-up calls.*such as write/s,
  );
  expect((await haft("policy", "add", "Edit(docs/**)", "--yes")).code).toBe(0);
  expect((await call("docs/c.md")).status).toBe("completed");
  expect((await haft("policy", "add", "Edit(docs/secret/**)", "--as", "deny")).code).toBe(0);
  expect((await call("docs/secret/a.md")).status).toBe("failed");
  expect((await haft("policy", "rollback")).code).toBe(0);
  expect((await call("docs/secret/b.md")).status).toBe("completed");
  expect((await haft("policy", "add", "Bsh(npm test)")).stderr).toMatch(/warning.*Bsh/);
  expect((await haft("policy", "add", "Edit(docs/x/**)")).stderr).not.toContain("warning");
  expect((await haft("policy", "add", "Edit(", "--yes")).code).not.toBe(0);
  expect((await haft("policy", "add")).stderr).toContain("RULE");
});

test("an answer that a newer deny rule would undo is refused at once, and the question stays", async () => {
  const { haft, host } = await open();
  const asked = await host.haft.execute(...write("a.md"), { caller: { session: "one" } });
  const id = asked.status === "pending" ? asked.pending.id : "";
  expect((await haft("policy", "add", "Edit(a.md)", "--as", "deny")).code).toBe(0);
  const { code, stdout, stderr } = await haft("approvals", "approve", id);
  expect(code).not.toBe(0);
  expect(stderr).toContain("A rule denies this call now, so a yes would not let it run");
  expect(stderr).toContain("Edit(a.md)");
  expect(stdout + stderr).not.toContain("Approved");
  expect(await host.haft.approvals.get(id)).toMatchObject({ state: "pending" });
  expect((await haft("approvals", "deny", id)).code).toBe(0);
});

test("store hold, health and release", async () => {
  const { haft, host } = await open();
  const health = async () => (await new HostApi(host).handlersOf("server"))?.health({} as never);
  expect((await haft("store", "hold", "--why", "a snapshot")).stdout).toMatch(
    /held: a snapshot\..*haft store release/s,
  );
  expect(await health()).toMatchObject({ status: "degraded", problems: ["store_held"] });
  expect((await haft("store", "release")).stdout).toContain("not held");
  expect((await health())?.problems).not.toContain("store_held");
  const { entries } = await host.store.audit.query({ kind: "note" });
  expect(entries.map(({ data }) => data["action"])).toEqual(expect.arrayContaining(["store_held", "store_released"]));
});

test("a process that judges by other rules than another one of the store is named", async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  const { host } = await openHostCli(folder);
  const place = { stateFolder: host.stateFolder, home: folder, env: {}, approvalWaitMs: false } as const;
  const info = async () => (await new HostApi(host).handlersOf("server"))?.info({} as never);
  const same = await openHaft(other, place);
  expect([...same.warnings, ...((await info())?.warnings ?? [])].join()).not.toContain("Other rules");
  await same.close();
  writeFileSync(join(other, "haft.config.yml"), "permissions: { deny: [Read(secret.md)] }\n");
  const differs = await openHaft(other, place);
  onTestFinished(() => differs.close());
  // At its start a process is told of it only if several machines may use the store.
  expect(differs.warnings.join()).not.toContain("Other rules");
  expect((await info())?.warnings.join()).toContain(`Other rules or limits than here bind process ${process.pid} on `);
});
