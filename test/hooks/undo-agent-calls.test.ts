// Undo of what another agent's call changed in the workspace, whoever ran it.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HaftHost, openHaft } from "haft/host";
import { AgentCalls } from "../../src/capabilities/agent-calls.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { AGENT_RIGS } from "./events.ts";

let host: HaftHost;
let calls: AgentCalls;
let folder: string;

beforeAll(async () => {
  folder = temporaryFolder();
  const home = temporaryFolder();
  mkdirSync(join(home, ".config", "haft"), { recursive: true });
  const allow = ["Bash", "Edit(**)", "Write"];
  writeFileSync(join(home, ".config", "haft", "config.yml"), `permissions:\n  allow: ${JSON.stringify(allow)}\n`);
  host = await openHaft(folder, { stateFolder: home, home, env: {} });
  const { haft, workspace, store } = host;
  calls = new AgentCalls({ haft, workspace, audit: store.audit, user: "ann", journal: store.undo(host.config.folder) });
}, 300_000);
afterAll(() => host?.close());

const send = (event: object) => calls.answer("claude", JSON.stringify(event), { limitMs: 0 });
const at = (path: string): string => join(folder, path);
const text = (path: string): string | undefined => (existsSync(at(path)) ? readFileSync(at(path), "utf8") : undefined);

/** The agent runs it: whatever `change` does. Returns the id of the call and what was recorded. */
async function ran(session: string, command: string, change: () => unknown) {
  expect(await send(AGENT_RIGS.claude.before(command, folder, session))).toSatisfy(AGENT_RIGS.claude.passes);
  await change();
  await send(AGENT_RIGS.claude.after(command, folder, session));
  const { entries } = await host.store.audit.query({ limit: 1000 });
  const own = entries.filter(({ caller }) => caller?.session === `claude:${session}`);
  const notes = own.flatMap(({ kind, data }) => (kind === "note" ? [data] : []));
  return { callId: own.find(({ kind }) => kind === "call_ended")!.callId!, notes };
}

test("undo puts back what a command changed, made and deleted, and nothing else", { timeout: 60_000 }, async () => {
  mkdirSync(at("old/deep"), { recursive: true });
  writeFileSync(at("old/deep/a.txt"), "a\n");
  writeFileSync(at("changed.txt"), "before\n");
  writeFileSync(at("script.sh"), "run\n", { mode: 0o644 });
  symlinkSync("changed.txt", at("link"));
  writeFileSync(at("other.txt"), "untouched\n");
  const { callId, notes } = await ran("all", "make all", () => {
    rmSync(at("old"), { recursive: true });
    rmSync(at("link"));
    writeFileSync(at("changed.txt"), "after\n");
    chmodSync(at("script.sh"), 0o755);
    mkdirSync(at("new/deep"), { recursive: true });
    writeFileSync(at("new/deep/b.txt"), "b\n");
  });
  expect(notes).toEqual([]);
  // Later, by a person: it stays.
  writeFileSync(at("other.txt"), "mine\n");
  await host.undo.undoCall(callId);
  expect(text("old/deep/a.txt")).toBe("a\n");
  expect(text("changed.txt")).toBe("before\n");
  expect(text("link")).toBe("before\n");
  expect(statSync(at("script.sh")).mode & 0o777).toBe(0o644);
  expect(existsSync(at("new"))).toBe(false);
  expect(text("other.txt")).toBe("mine\n");
});

test("undo of an edit and of a written file covers what the agent wrote", { timeout: 60_000 }, async () => {
  writeFileSync(at("edited.txt"), "one\n");
  const event = (name: string, input: object, session: string) => ({
    ...{ session_id: session, cwd: folder, hook_event_name: name, tool_use_id: "t1" },
    ...{ tool_name: "Write", tool_input: input },
  });
  const input = { file_path: at("edited.txt"), content: "two\n" };
  expect(await send(event("PreToolUse", input, "write"))).toSatisfy(AGENT_RIGS.claude.passes);
  // The agent's formatter ran, too.
  writeFileSync(at("edited.txt"), "two, formatted\n");
  await send({ ...event("PostToolUse", input, "write"), tool_response: { ok: true } });
  const changes = await host.store.undo(host.config.folder).list({ session: "claude:write" });
  expect(changes).toMatchObject([{ path: at("edited.txt"), agent: "claude", user: "ann" }]);
  await host.undo.undoCall(changes[0]!.callId!);
  expect(text("edited.txt")).toBe("one\n");
});

test("each command is undone to what there was right before it", { timeout: 60_000 }, async () => {
  writeFileSync(at("often.txt"), "0\n");
  // Older than the clock of the file system can be wrong.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const ids: string[] = [];
  for (const round of [1, 2, 3]) {
    if (round === 3) writeFileSync(at("often.txt"), "x\n");
    const { callId } = await ran(`often-${round}`, `make often ${round}`, () =>
      writeFileSync(at("often.txt"), `${round}\n`),
    );
    ids.push(callId);
  }
  for (const [index, content] of ["x\n", "1\n", "0\n"].entries()) {
    if (index === 1) writeFileSync(at("often.txt"), "2\n");
    await host.undo.undoCall(ids.at(-1 - index)!);
    expect(text("often.txt")).toBe(content);
  }
});

test("says what it could not keep, and undo refuses that", { timeout: 60_000 }, async () => {
  writeFileSync(at("large.bin"), Buffer.alloc(2 * 1024 * 1024, 1));
  const { callId, notes } = await ran("large", "make large", () => writeFileSync(at("large.bin"), "small\n"));
  expect(notes).toMatchObject([{ action: "agent_changes", notKept: ["large.bin"] }]);
  await expect(host.undo.undoCall(callId)).rejects.toThrow(/large\.bin/);
  expect(text("large.bin")).toBe("small\n");
});

test("two calls at once: each change belongs to one of them", { timeout: 60_000 }, async () => {
  const [one, two] = ["make one", "make two"];
  await send(AGENT_RIGS.claude.before(one, folder, "first"));
  await send(AGENT_RIGS.claude.before(two, folder, "second"));
  writeFileSync(at("one.txt"), "1\n");
  await send(AGENT_RIGS.claude.after(one, folder, "first"));
  writeFileSync(at("two.txt"), "2\n");
  await send(AGENT_RIGS.claude.after(two, folder, "second"));
  const paths = async (session: string) =>
    (await host.store.undo(host.config.folder).list({ session: `claude:${session}` })).map(({ path }) => path);
  expect(await paths("first")).toEqual([at("one.txt")]);
  expect(await paths("second")).toEqual([at("two.txt")]);
});

test("what may not be read is not undone as if it had been new", { timeout: 60_000 }, async () => {
  // Both calls run; the file is replaced by something that is no file, which the journal cannot have.
  writeFileSync(at("kind.txt"), "kept\n");
  await send(AGENT_RIGS.claude.before("make three", folder, "third"));
  await send(AGENT_RIGS.claude.before("make four", folder, "fourth"));
  rmSync(at("kind.txt"));
  mkdirSync(at("kind.txt"));
  await send(AGENT_RIGS.claude.after("make three", folder, "third"));
  await send(AGENT_RIGS.claude.after("make four", folder, "fourth"));
  const store = host.store.undo(host.config.folder);
  for (const session of ["claude:third", "claude:fourth"]) expect(await store.list({ session })).toEqual([]);
  const { entries } = await host.store.audit.query({ limit: 1000 });
  const notes = entries.filter(({ kind, caller }) => kind === "note" && caller?.session === "claude:third");
  expect(notes).toMatchObject([{ data: { notKept: ["kind.txt"] } }]);
});

test("a report without its call, and a call without its report, record no changes", { timeout: 60_000 }, async () => {
  const count = async () => (await host.store.undo(host.config.folder).list()).length;
  const before = await count();
  writeFileSync(at("forged.txt"), "x\n");
  await send(AGENT_RIGS.claude.after("make forged", folder, "forged"));
  await send(AGENT_RIGS.claude.before("make silent", folder, "silent"));
  writeFileSync(at("silent.txt"), "x\n");
  await send({ session_id: "silent", cwd: folder, hook_event_name: "Stop" });
  expect(await count()).toBe(before);
});

test("two calls that end at the same time: each change is of one of them", { timeout: 60_000 }, async () => {
  const names = Array.from({ length: 20 }, (_, index) => `end-${index}.txt`);
  for (const name of names) writeFileSync(at(name), "old\n");
  await send(AGENT_RIGS.claude.before("make five", folder, "fifth"));
  await send(AGENT_RIGS.claude.before("make six", folder, "sixth"));
  for (const name of names) writeFileSync(at(name), "new\n");
  await Promise.all([
    send(AGENT_RIGS.claude.after("make five", folder, "fifth")),
    send(AGENT_RIGS.claude.after("make six", folder, "sixth")),
  ]);
  const store = host.store.undo(host.config.folder);
  const found = [
    ...(await store.list({ session: "claude:fifth" })),
    ...(await store.list({ session: "claude:sixth" })),
  ];
  expect(found.map(({ path }) => path).toSorted()).toEqual(names.map(at).toSorted());
});

test("says that a repository or packages are gone, which undo does not put back", { timeout: 60_000 }, async () => {
  mkdirSync(at(".git/objects"), { recursive: true });
  mkdirSync(at("app/node_modules/left"), { recursive: true });
  const { notes } = await ran("gone", "make clean", () => {
    for (const path of [".git", "app/node_modules"]) rmSync(at(path), { recursive: true });
  });
  expect(notes).toMatchObject([{ action: "agent_changes", notKept: expect.toSatisfy(hasBoth) }]);
  function hasBoth(paths: string[]): boolean {
    return paths.toSorted().join() === ".git,app/node_modules";
  }
});

test("covers a command with parameters that are not known, and says which file it cannot look at", async () => {
  writeFileSync(at("extra.txt"), "old\n");
  const used = (name: string, tool: string, input: object, session: string) => ({
    ...{ session_id: session, cwd: folder, hook_event_name: name, tool_use_id: "t1" },
    ...{ tool_name: tool, tool_input: input, tool_response: { ok: true } },
  });
  const extra = ["Bash", { command: "make extra", later: 1 }, "extra"] as const;
  const asked = send(used("PreToolUse", ...extra));
  expect(await asked).toSatisfy(AGENT_RIGS.claude.passes);
  writeFileSync(at("extra.txt"), "new\n");
  await send(used("PostToolUse", ...extra));
  expect(await host.store.undo(host.config.folder).list({ session: "claude:extra" })).toMatchObject([
    { path: at("extra.txt"), tool: "exec" },
  ]);
  const outside = ["Write", { file_path: join(temporaryFolder(), "x.txt"), content: "x" }, "outside"] as const;
  expect(await send(used("PreToolUse", ...outside))).toSatisfy(AGENT_RIGS.claude.passes);
  await send(used("PostToolUse", ...outside));
  const { entries } = await host.store.audit.query({ limit: 1000 });
  const notes = entries.filter(({ kind, caller }) => kind === "note" && caller?.session === "claude:outside");
  expect(notes).toMatchObject([{ data: { note: expect.stringContaining("Undo does not cover this call") } }]);
}, 60_000);

test("what is known of many calls that are not reported is dropped, and said", { timeout: 60_000 }, async () => {
  for (let index = 0; index < 18; index++)
    await send({ ...AGENT_RIGS.claude.before(`make ${index}`, folder, "many"), tool_use_id: `t${index}` });
  writeFileSync(at("many.txt"), "x\n");
  await send({ ...AGENT_RIGS.claude.after("make 0", folder, "many"), tool_use_id: "t0" });
  const store = host.store.undo(host.config.folder);
  expect(await store.list({ session: "claude:many" })).toEqual([]);
  const { entries } = await host.store.audit.query({ limit: 1000 });
  const notes = entries.filter(({ kind, caller }) => kind === "note" && caller?.session === "claude:many");
  expect(notes).toMatchObject([{ data: { isCut: true, recorded: 0 } }]);
  await send({ ...AGENT_RIGS.claude.after("make 17", folder, "many"), tool_use_id: "t17" });
  expect(await store.list({ session: "claude:many" })).toMatchObject([{ path: at("many.txt") }]);
});

test("large new files are taken back, and push nothing out of the journal", { timeout: 60_000 }, async () => {
  const { callId, notes } = await ran("build", "make build", () => {
    mkdirSync(at("dist"));
    for (const name of ["a", "b"]) writeFileSync(at(`dist/${name}`), Buffer.alloc(3 * 1024 * 1024, name));
  });
  expect(notes).toEqual([]);
  const store = host.store.undo(host.config.folder);
  const made = (await store.list({ callId })).flatMap(({ next }) => (next.kind === "file" ? [next.hash!] : []));
  expect(made).toHaveLength(2);
  for (const hash of made) expect(await store.content(hash)).toBeUndefined();
  await host.undo.undoCall(callId);
  expect(existsSync(at("dist"))).toBe(false);
});
