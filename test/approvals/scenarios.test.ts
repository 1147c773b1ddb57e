// Approval scenarios, told as stories: each names the one it plays. All of them hold wherever approvals are kept.
import { mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AnyTool, createTool, text, textOf } from "haft";
import { createFakeClock } from "haft/testing";
import type { Verdict } from "../../src/core/call.ts";
import { definitionHash } from "../../src/core/definition.ts";
import { sha256 } from "../../src/calls/approval-binding.ts";
import { idOf, makeFolder, openGate, type GateOptions } from "./open-gate.ts";
import { type StoreFactory, memoryStoreFactory, postgresStoreFactory, sqliteStoreFactory } from "./open-stores.ts";

const HOUR = 60 * 60_000;
let callNumber = 0;
/** Every story has calls of its own: the shelves are shared. */
const newCall = (session = "S1") => ({ id: `call_${++callNumber}`, caller: { session: `${session}_${callNumber}` } });

describe.each([
  ["memory", memoryStoreFactory],
  ["SQLite", sqliteStoreFactory],
  ["PostgreSQL", postgresStoreFactory],
])("approvals in %s", (_name, make) => {
  let storeFactory: StoreFactory;
  beforeAll(async () => void (storeFactory = await make()));
  afterAll(() => storeFactory.remove());

  /** One process with a tool that asks, runs commands in its imagination and remembers what it ran. */
  async function start(more: Partial<GateOptions> & { description?: string; preview?: AnyTool["preview"] } = {}) {
    const { description = "Runs a command", preview, ...options } = more;
    const ran: unknown[] = [];
    const tool = createTool({
      name: "exec",
      description,
      kind: "execute",
      parameters: [
        { name: "cmd", type: "string", required: false },
        { name: "cwd", type: "string", required: false },
      ],
      permission: "confirm",
      ...(preview ? { preview } : {}),
      run: (input: unknown) => (ran.push(input), "ran"),
    });
    const world = openGate({ store: await storeFactory.open(), tools: [tool], ...options });
    return { ...world, tool, ran };
  }

  describe("an approval counts for exactly what was shown", () => {
    test("ap-001: other arguments under the same call id ask again", async () => {
      const { execute, approvals, ran } = await start();
      const call = newCall();
      const requested = idOf(await execute("exec", { cmd: "ls" }, call));
      await approvals.save(requested, { approved: true });
      const other = idOf(await execute("exec", { cmd: "rm -rf x" }, call));
      expect(other).not.toBe(requested);
      expect(ran).toEqual([]);
      expect(await execute("exec", { cmd: "ls" }, call)).toMatchObject({ status: "completed" });
      expect(ran).toEqual([{ cmd: "ls" }]);
    });

    test("ap-003: a folder whose link was turned is another folder, and so is another folder", async () => {
      const folder = makeFolder();
      for (const name of ["inside", "outside"]) mkdirSync(join(folder, name));
      symlinkSync(join(folder, "inside"), join(folder, "link"));
      const { execute, approve, approvals, ran } = await start({ folder });
      const requested = idOf(await execute("exec", { cmd: "ls", cwd: "link" }, newCall()));
      unlinkSync(join(folder, "link"));
      symlinkSync(join(folder, "outside"), join(folder, "link"));
      const again = idOf(await approve(requested));
      expect(again).not.toBe(requested);
      expect(await approvals.get(requested)).toMatchObject({
        state: "changed",
        note: expect.stringContaining("the folder"),
      });
      expect(await approvals.get(again)).toMatchObject({ state: "pending", binding: { cwd: join(folder, "outside") } });
      expect(ran).toEqual([]);
    });

    test("ap-004: another environment of the session makes it void", async () => {
      let environment = { A: "1" };
      const { execute, approve, approvals, ran } = await start({ overlayOf: () => environment });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      environment = { A: "2" };
      const again = idOf(await approve(requested));
      expect(await approvals.get(requested)).toMatchObject({ state: "changed" });
      expect(ran).toEqual([]);
      expect(await approve(again)).toMatchObject({ status: "completed" });
      expect(ran).toHaveLength(1);
    });

    test("ap-005: another session, agent, user or mode asks for itself", async () => {
      const { execute, approvals, ran } = await start();
      const call = newCall();
      await approvals.save(idOf(await execute("exec", { cmd: "ls" }, call)), { approved: true });
      for (const other of [
        { ...call, caller: { session: "S2" } },
        { ...call, caller: { ...call.caller, agent: "mallory" } },
        { ...call, caller: { ...call.caller, user: "mallory" } },
        { ...call, mode: "acceptEdits" as const },
        { ...call, policy: { deny: ["other"] } },
        { ...call, allowedPaths: ["/"] },
      ]) {
        expect(await execute("exec", { cmd: "ls" }, other)).toMatchObject({ status: "pending" });
      }
      expect(ran).toEqual([]);
    });

    test("ap-008: a tool that says something else of itself since is not the one that was shown", async () => {
      const { execute, approve, approvals, registry, ran } = await start();
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      registry.unregister("exec");
      registry.register({
        name: "exec",
        description: "Runs a command, and sends it away",
        parameters: [{ name: "cmd", type: "string" }],
        permission: "confirm",
        run: () => void ran.push("mallory"),
      });
      expect(await approve(requested)).toMatchObject({ status: "failed", error: { code: "conflict" } });
      expect(await approvals.get(requested)).toMatchObject({ state: "changed" });
      expect(ran).toEqual([]);
    });

    test("what changed on the disk since the preview was shown is asked about again, with the new preview", async () => {
      const folder = makeFolder();
      const file = join(folder, "a.txt");
      writeFileSync(file, "one");
      const preview = async () => ({ title: "Replace", content: [text(`-${readFileSync(file, "utf8")}\n+new`)] });
      const { execute, approve, approvals, ran } = await start({ folder, preview });
      const requested = idOf(await execute("exec", { cmd: "w" }, newCall()));
      writeFileSync(file, "two");
      const again = idOf(await approve(requested, { by: "ann" }));
      expect(await approvals.get(requested)).toMatchObject({
        state: "changed",
        note: expect.stringContaining("preview"),
      });
      expect(textOf((await approvals.get(again))!.preview!.content)).toBe("-two\n+new");
      expect(ran).toEqual([]);
      expect(await approve(requested)).toMatchObject({ status: "pending", pending: { kind: "approval", id: again } });
      expect(await approve(again)).toMatchObject({ status: "completed" });
      expect(ran).toHaveLength(1);
    });

    test("what changed while a person was thinking is asked about again, and what never holds still is given up", async () => {
      let version = 0;
      let requested = 0;
      const changesUntil = (last: number) => async () => ({
        title: "t",
        content: [text(`${Math.min(version, last)}`)],
      });
      const approver = async () => (requested++, version++, { approved: true });
      const calm = await start({ preview: changesUntil(2), approver });
      expect(await calm.execute("exec", {}, newCall())).toMatchObject({ status: "completed" });
      expect([requested, calm.ran.length]).toEqual([3, 1]);
      const restless = await start({ preview: changesUntil(Infinity), approver });
      expect(await restless.execute("exec", {}, newCall())).toMatchObject({ error: { code: "stale" } });
      expect(restless.ran).toEqual([]);
    });

    test("what asks for another reason by now is asked about again: the person did not know of it", async () => {
      let verdict: Verdict = { decision: "ask", by: "tool", reason: "it asks" };
      const { execute, approve, approvals, ran } = await start({ judge: () => verdict });
      const requested = idOf(await execute("exec", { cmd: "send" }, newCall()));
      verdict = { decision: "ask", by: "provenance", reason: "the session has read untrusted text and secrets" };
      const again = idOf(await approve(requested));
      expect(await approvals.get(requested)).toMatchObject({ state: "changed" });
      expect(await approvals.get(again)).toMatchObject({ verdict: { by: "provenance" } });
      expect(ran).toEqual([]);
    });

    test("what is over keeps no secret of its arguments", async () => {
      const { execute, approve, approvals } = await start();
      const key = `sk-ant-api03-${"aB3dE6".repeat(8)}`;
      const requested = idOf(await execute("exec", { cmd: `curl -H "Authorization: Bearer ${key}"` }, newCall()));
      expect(JSON.stringify(await approvals.get(requested))).toContain(key);
      await approve(requested);
      expect(JSON.stringify(await approvals.get(requested))).not.toContain(key);
    });

    test("is used once: the same call again is known, another one with its arguments asks", async () => {
      const { execute, approve, approvals, ran } = await start();
      const call = newCall();
      const requested = idOf(await execute("exec", { cmd: "ls" }, call));
      expect(await approve(requested)).toMatchObject({ status: "completed", callId: call.id });
      expect(await approvals.get(requested)).toMatchObject({ state: "approved", begunAt: expect.any(Number) });
      expect(await execute("exec", { cmd: "ls" }, call)).toMatchObject({ metadata: { known: "replay" } });
      expect(await execute("exec", { cmd: "ls" }, newCall())).toMatchObject({ status: "pending" });
      expect(ran).toHaveLength(1);
    });
  });

  describe("time", () => {
    /** A process whose wall clock can be set, as an administrator or a bad battery would. */
    function settableClock() {
      const clock = createFakeClock();
      let shift = 0;
      const now = clock.now.bind(clock);
      return Object.assign(Object.create(clock) as typeof clock, {
        now: () => now() + shift,
        set: (ms: number) => void (shift = ms),
      });
    }

    test("ap-007: a clock that is set back revives nothing", async () => {
      const clock = settableClock();
      const { execute, approve, approvals, ran } = await start({ clock, approvals: { lifetimeMs: HOUR / 2 } });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      await approvals.save(requested, { approved: true });
      await clock.advance(HOUR / 2);
      clock.set(-HOUR);
      expect(await approve(requested)).toMatchObject({ error: { code: "approval_expired" } });
      expect(await approvals.get(requested)).toMatchObject({ state: "expired" });
      clock.set(-10 * HOUR);
      expect(await approvals.get(requested)).toMatchObject({ state: "expired" });
      expect(ran).toEqual([]);
    });

    test("ap-007: nor in another process, which cannot tell how long ago it was asked", async () => {
      const first = await start({ clock: settableClock() });
      const requested = idOf(await first.execute("exec", { cmd: "ls" }, newCall()));
      await first.approvals.save(requested, { approved: true });
      const clock = settableClock();
      clock.set(-HOUR);
      const second = await start({ clock });
      expect(await second.approve(requested)).toMatchObject({ error: { code: "approval_expired" } });
      clock.set(0);
      expect(await second.approve(requested)).toMatchObject({ error: { code: "approval_expired" } });
      expect(second.ran).toEqual([]);
    });

    test("a clock that is set forward ends nothing before its time", async () => {
      const clock = settableClock();
      const { execute, approve, ran } = await start({ clock, approvals: { lifetimeMs: HOUR } });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      clock.set(48 * HOUR);
      expect(await approve(requested)).toMatchObject({ status: "completed" });
      expect(ran).toHaveLength(1);
    });

    test("a question that expired is asked anew when the call is made again", async () => {
      const { execute, approvals, clock } = await start({ approvals: { lifetimeMs: HOUR } });
      const call = newCall();
      const requested = idOf(await execute("exec", { cmd: "ls" }, call));
      await clock.advance(HOUR);
      expect(idOf(await execute("exec", { cmd: "ls" }, call))).not.toBe(requested);
      expect((await approvals.list("expired")).map(({ id }) => id)).toContain(requested);
      await expect(approvals.save(requested, { approved: true })).rejects.toThrow(/has expired: nobody answered/);
    });
  });

  describe("who answers", () => {
    test("ap-009: needs the right to approve, whatever door it comes through", async () => {
      const checkAnswer = (_approval: unknown, { by }: { by?: string }) =>
        by === "mallory" ? "not mallory" : undefined;
      const { execute, approvals, answer, ran } = await start({ approvals: { checkAnswer } });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      const weak = { approved: true, rights: ["operator.write"], via: "chat /approve" };
      await expect(approvals.save(requested, weak)).rejects.toThrow(/needs the right "approve", also through chat/);
      await expect(answer(requested, weak)).rejects.toThrow(/needs the right/);
      await expect(answer(requested, { approved: true, by: "mallory" })).rejects.toThrow(/not mallory/);
      expect(await approvals.get(requested)).toMatchObject({ state: "pending" });
      expect(ran).toEqual([]);
      expect(await answer(requested, { approved: true, rights: ["approve"] })).toMatchObject({ status: "completed" });
    });

    test("ap-019: of yes and no at the same moment one is stored, and it is no", async () => {
      for (const order of [
        [true, false],
        [false, true],
      ]) {
        const { execute, answer, approvals, ran } = await start();
        const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
        const outcomes = await Promise.allSettled(order.map((approved) => answer(requested, { approved })));
        expect(ran).toEqual([]);
        expect(await approvals.get(requested)).toMatchObject({ state: "denied" });
        const reported = outcomes.map((outcome) =>
          outcome.status === "fulfilled" ? outcome.value.display : String(outcome.reason),
        );
        for (const words of reported) expect(words).toMatch(/denied/);
      }
    });

    test("ap-019: in two processes exactly one decision is stored, and the call follows it", async () => {
      for (let round = 0; round < 5; round++) {
        const [one, two] = [await start(), await start()];
        const call = newCall();
        const requested = idOf(await one.execute("exec", { cmd: "ls" }, call));
        const decisions = await Promise.allSettled([
          one.approvals.save(requested, { approved: true, by: "ann" }),
          two.approvals.save(requested, { approved: false, by: "bob" }),
        ]);
        const { state } = (await one.approvals.get(requested))!;
        expect(["approved", "denied"]).toContain(state);
        const kept = decisions.flatMap((decision) => (decision.status === "fulfilled" ? [decision.value.state] : []));
        expect(kept).toContain(state);
        const result = await one.execute("exec", { cmd: "ls" }, call);
        expect(result.status).toBe(state === "approved" ? "completed" : "failed");
        expect(one.ran).toHaveLength(state === "approved" ? 1 : 0);
      }
    });

    test("first wins; the same again changes nothing; what contradicts it is refused", async () => {
      const { execute, approvals } = await start({ suggestRules: () => ({ narrow: ["exec(ls)"], broader: [] }) });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      const first = await approvals.save(requested, { approved: true, by: "ann" });
      expect(await approvals.save(requested, { approved: true, by: "bob" })).toEqual(first);
      await expect(approvals.save(requested, { approved: true, scope: "always" })).rejects.toThrow(
        /already approved by ann/,
      );
      // A denial counts until the call starts.
      expect(await approvals.save(requested, { approved: false, by: "bob" })).toMatchObject({ state: "denied" });
      await expect(approvals.save(requested, { approved: true })).rejects.toThrow(/already denied by bob/);
      await expect(approvals.save("apr_none", { approved: true })).rejects.toThrow(/no approval/);
    });

    test("runs once, whichever of several processes is told yes", async () => {
      const worlds = await Promise.all([start(), start(), start()]);
      const requested = idOf(await worlds[0]!.execute("exec", { cmd: "ls" }, newCall()));
      await Promise.allSettled(worlds.flatMap(({ approve }) => [approve(requested), approve(requested)]));
      expect(worlds.flatMap(({ ran }) => ran)).toHaveLength(1);
    });

    test("says no with a reason that reaches the model, and it stays a no for this call", async () => {
      const { execute, denyCall, ran } = await start();
      const call = newCall();
      const requested = idOf(await execute("exec", { cmd: "rm x" }, call));
      const denied = await denyCall(requested, "x is still needed");
      expect(denied).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
      expect(textOf(denied.content)).toContain("x is still needed");
      expect(await execute("exec", { cmd: "rm x" }, call)).toMatchObject({ error: { code: "approval_denied" } });
      expect(ran).toEqual([]);
    });
  });

  describe("what can be asked", () => {
    test("ap-013: arguments that are too long to read are approved by their hash, with a second step", async () => {
      const { execute, approve, approvals, ran } = await start({ maxShownBytes: 4000 });
      const cmd = `${"x".repeat(200_000)} && rm -rf ~`;
      const requested = idOf(await execute("exec", { cmd }, newCall()));
      const { unseen, input } = (await approvals.get(requested))!;
      expect(unseen).toMatch(/a part of the arguments, which have 200\d{3} bytes \(sha256:[0-9a-f]{64}\)/);
      expect(input).toEqual({ cmd });
      await expect(approve(requested)).rejects.toThrow(/confirmUnshown/);
      expect(ran).toEqual([]);
      expect(await approve(requested, { confirmUnshown: true })).toMatchObject({ status: "completed" });
      expect(ran).toHaveLength(1);
    });

    test("ap-013: what is no plain data cannot be shown either", async () => {
      const ran: unknown[] = [];
      const tool = createTool({
        name: "upload",
        description: "Takes bytes",
        permission: "confirm",
        parameters: { type: "object", properties: { bytes: {} } },
        run: (input: unknown) => void ran.push(input),
      });
      const { execute } = openGate({ store: await storeFactory.open(), tools: [tool] });
      for (const bytes of [Buffer.from("rm -rf"), () => "rm -rf"]) {
        expect(await execute("upload", { bytes }, newCall())).toMatchObject({ status: "failed" });
      }
      expect(ran).toEqual([]);
    });

    test("ap-013: a preview may be cut, and then its length, hash and end are shown", async () => {
      const long = `${"y".repeat(200_000)}THE END`;
      const preview = async () => ({ title: "t", content: [text(long)] });
      const { execute, approvals } = await start({ preview, maxShownBytes: 4000 });
      const shown = (await approvals.get(idOf(await execute("exec", {}, newCall()))))!.preview!;
      expect(textOf(shown.content).length).toBeLessThan(4000);
      expect(textOf(shown.content)).toMatch(/cut: the whole has 200007 bytes, sha256:[0-9a-f]{64}/);
      expect(textOf(shown.content)).toContain("THE END");
    });

    test("ap-013: the whole of a cut preview is kept while the question is open", async () => {
      const lines = Array.from({ length: 9000 }, (_, at) => `line ${at}`).join("\n");
      const preview = async () => ({ title: "t", content: [text(lines)] });
      const { execute, approve, approvals, ran } = await start({ preview, maxShownBytes: 4000 });
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      expect((await approvals.get(requested))!.unseen).toMatch(/^Not shown: \d+ bytes of the preview\.$/);
      expect((await approvals.whole(requested)).text).toContain("line 8999");
      await expect(approve(requested)).rejects.toThrow(/confirmUnshown/);
      await expect(approve(requested, { confirmBroader: true })).rejects.toThrow(/confirmUnshown/);
      await expect(approve(requested, { confirmUnshown: "yes" as never })).rejects.toThrow(/confirmUnshown/);
      expect(ran).toEqual([]);
      await approve(requested, { confirmUnshown: true });
      expect(ran).toHaveLength(1);
      expect((await approvals.whole(requested)).text).not.toContain("line 5000");
    });

    test("ap-021: open questions are bounded, and what is beyond is denied", async () => {
      const { execute, approve, ran } = await start({ approvals: { maxOpenPerSession: 20 } });
      const caller = { session: `flood ${Math.random()}` };
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          execute("exec", { cmd: `${i}` }, { caller, id: `f${i}_${Math.random()}` }),
        ),
      );
      const pending = results.filter(({ status }) => status === "pending");
      expect(pending).toHaveLength(20);
      const denied = results.find(({ status }) => status === "failed")!;
      expect(denied).toMatchObject({ error: { code: "denied" } });
      expect(textOf(denied.content)).toContain("20 approvals of this caller are already pending");
      await approve(idOf(pending[0]!));
      expect(await execute("exec", { cmd: "later" }, { caller, id: `${Math.random()}` })).toMatchObject({
        status: "pending",
      });
      expect(ran).toHaveLength(1);
    });
  });

  describe("policy", () => {
    const ask: Verdict = { decision: "ask", by: "rule", reason: "rm asks", rule: "Bash(rm:*)", origin: "project" };
    const deny: Verdict = {
      decision: "deny",
      by: "rule",
      reason: "it is forbidden",
      rule: "Bash(rm:*)",
      origin: "user",
    };

    test("that denies says the reason, the rule and where it stands, and nobody is asked", async () => {
      const { execute, approvals, ran } = await start({ judge: () => deny });
      const call = newCall();
      const refused = await execute("exec", { cmd: "rm" }, call);
      expect(refused).toMatchObject({ status: "failed", error: { code: "denied", name: "ToolPermissionError" } });
      expect(textOf(refused.content)).toMatch(/it is forbidden.*Bash\(rm:\*\).*user/);
      expect((await approvals.list()).filter(({ callId }) => callId === call.id)).toEqual([]);
      expect(ran).toEqual([]);
    });

    test("that denies in the meantime wins over a yes, given before or while the caller waits", async () => {
      let verdict = ask;
      const world = await start({ judge: () => verdict });
      const requested = idOf(await world.execute("exec", { cmd: "rm" }, newCall()));
      verdict = deny;
      expect(await world.approve(requested)).toMatchObject({ error: { code: "denied" } });
      verdict = ask;
      const waiting = await start({
        judge: () => verdict,
        approver: async () => ((verdict = deny), { approved: true }),
      });
      expect(await waiting.execute("exec", { cmd: "rm" }, newCall())).toMatchObject({ error: { code: "denied" } });
      expect([...world.ran, ...waiting.ran]).toEqual([]);
    });

    test("that allows in the meantime does not make a no into a yes, and uses a yes up", async () => {
      let verdict: Verdict = ask;
      const { execute, approve, denyCall, approvals, ran } = await start({ judge: async () => verdict });
      const [first, second] = [
        idOf(await execute("exec", { cmd: "a" }, newCall())),
        idOf(await execute("exec", { cmd: "b" }, newCall())),
      ];
      verdict = { decision: "allow", by: "rule", reason: "fine" };
      expect(await denyCall(first, "no")).toMatchObject({ error: { code: "approval_denied" } });
      expect(await approve(second)).toMatchObject({ status: "completed" });
      expect(await approvals.get(second)).toMatchObject({ state: "approved" });
      expect(ran).toEqual([{ cmd: "b" }]);
    });

    test("that says nonsense, or throws, lets nothing pass", async () => {
      const broken = await start({ judge: () => ({ decision: "maybe" }) as never });
      const throwing = await start({ judge: () => Promise.reject(new Error("no rules")) });
      for (const { execute, ran } of [broken, throwing]) {
        expect(await execute("exec", { cmd: "ls" }, newCall())).toMatchObject({ status: "failed" });
        expect(ran).toEqual([]);
      }
    });

    test("keeps its verdict with the question, and with the call what let it pass", async () => {
      const verdicts: unknown[] = [];
      const { execute, approve, approvals } = await start({
        judge: () => ask,
        remember: (_answer, call) => void verdicts.push({ ...call.verdict }),
        suggestRules: () => ({ narrow: ["Bash(rm x)"], broader: [] }),
      });
      const requested = idOf(await execute("exec", { cmd: "rm x" }, newCall()));
      expect(await approvals.get(requested)).toMatchObject({ reason: "rm asks", verdict: ask });
      await approve(requested, { by: "ann", scope: "session" });
      expect(verdicts).toMatchObject([
        { decision: "allow", by: "approval", approvalId: requested, reason: "approved by ann", rule: "Bash(rm x)" },
      ]);
    });
  });

  describe("yes for more than once", () => {
    const granting = async (suggested: string | string[] | undefined) => {
      const remembered: unknown[] = [];
      const world = await start({
        suggestRules: () => ({ narrow: [suggested ?? []].flat(), broader: [] }),
        remember: ({ scope, rules }, { tool }) => void remembered.push([scope, rules, tool!.name]),
      });
      return { ...world, remembered, ask: async () => idOf(await world.execute("exec", { cmd: "ls" }, newCall())) };
    };

    test("shows the rules it would save, and remembers them when the call goes on", async () => {
      const { ask, approve, approvals, remembered } = await granting(["Bash(a:*)", "Bash(b:*)"]);
      const requested = await ask();
      expect(await approvals.get(requested)).toMatchObject({ suggestedRules: ["Bash(a:*)", "Bash(b:*)"] });
      await approve(requested, { scope: "always" });
      expect(remembered).toEqual([["always", ["Bash(a:*)", "Bash(b:*)"], "exec"]]);
      expect(await approvals.get(requested)).toMatchObject({ rulesEdited: undefined });
    });

    test("takes another rule, and says that it is not the one that was shown", async () => {
      const { ask, approve, approvals, remembered } = await granting("Bash(git diff)");
      const requested = await ask();
      const plain = { approved: true, scope: "session", rule: "Bash(git:*)" } as const;
      await expect(approvals.save(requested, plain)).rejects.toThrow(/more than what was shown.*confirmBroader/s);
      const answered = await approvals.save(requested, {
        approved: true,
        scope: "session",
        rule: "Bash(git:*)",
        confirmBroader: true,
      });
      expect(answered).toMatchObject({ scope: "session", rules: ["Bash(git:*)"], rulesEdited: true });
      await approve(requested);
      expect(remembered).toEqual([["session", ["Bash(git:*)"], "exec"]]);
    });

    test("is not offered where no rule covers such calls, and once saves nothing", async () => {
      const { ask, approve, approvals, remembered } = await granting("");
      const requested = await ask();
      expect(await approvals.get(requested)).toMatchObject({ suggestedRules: [] });
      await expect(approve(requested, { scope: "always" })).rejects.toThrow(/only be approved once/);
      await expect(approve(requested, { scope: "always", rule: "*" })).rejects.toThrow(/only be approved once/);
      await expect(approve(requested, { scope: "for ever" as never })).rejects.toThrow(/not a scope/);
      expect(await approvals.get(requested)).toMatchObject({ state: "pending" });
      expect(await approve(requested)).toMatchObject({ status: "completed" });
      expect(remembered).toEqual([]);
    });

    test("runs the call also where the rule could not be kept, and says so", async () => {
      const world = await start({
        suggestRules: () => ({ narrow: ["r"], broader: [] }),
        remember: () => Promise.reject(new Error("disk full")),
      });
      const requested = idOf(await world.execute("exec", { cmd: "ls" }, newCall()));
      const result = await world.approve(requested, { scope: "always" });
      expect(result).toMatchObject({ status: "completed", metadata: { ruleNotRemembered: "disk full" } });
    });
  });

  describe("a caller who waits", () => {
    test("is given the answer of any door, in this process or another, and the call runs once", async () => {
      const waiting = await start({ waitMs: HOUR });
      const api = waiting.calls.isShared ? await start() : waiting;
      const [here, there] = [newCall(), newCall()];
      const first = waiting.execute("exec", { cmd: "here" }, here);
      const second = waiting.execute("exec", { cmd: "there" }, there);
      const idFor = async (callId: string): Promise<string> => {
        await expect
          .poll(async () => (await waiting.approvals.list("pending")).some((a) => a.callId === callId))
          .toBe(true);
        return (await waiting.approvals.list("pending")).find((a) => a.callId === callId)!.id;
      };
      expect(await waiting.approve(await idFor(here.id))).toMatchObject({ status: "completed" });
      expect(await first).toMatchObject({ status: "completed" });
      await api.approvals.save(await idFor(there.id), { approved: true });
      const answered = await Promise.race([second, tick(waiting.clock)]);
      expect(answered).toMatchObject({ status: "completed" });
      expect(waiting.ran).toEqual([{ cmd: "here" }, { cmd: "there" }]);
    });

    /** Time passes until the race is won by somebody else. */
    async function tick(clock: { advance(ms: number): Promise<void> }): Promise<never> {
      for (let i = 0; i < 200; i++) {
        await clock.advance(50);
        await new Promise((done) => setTimeout(done, 5));
      }
      throw new Error("nobody noticed the answer");
    }

    test("gets `pending` when nobody answers in the waiting time, and a later yes still runs the call, once", async () => {
      const world = await start({ waitMs: 60_000, approvals: { lifetimeMs: HOUR } });
      const call = newCall();
      const result = world.execute("exec", { cmd: "ls" }, call);
      await expect
        .poll(async () => (await world.approvals.list("pending")).some((a) => a.callId === call.id))
        .toBe(true);
      const [requested] = (await world.approvals.list("pending")).filter((a) => a.callId === call.id);
      await new Promise((done) => setTimeout(done, 20));
      await world.clock.advance(60_000);
      expect(await result).toMatchObject({ status: "pending", pending: { id: requested!.id } });
      expect(await world.approvals.get(requested!.id)).toMatchObject({ state: "pending", waitsUntil: undefined });
      expect(world.ran).toEqual([]);
      expect(await world.approve(requested!.id)).toMatchObject({ status: "completed" });
      expect(await world.execute("exec", { cmd: "ls" }, call)).toMatchObject({ status: "completed" });
      expect(world.ran).toEqual([{ cmd: "ls" }]);
    });

    test("twice for the same answer gets `pending` twice, and the question stays until its own end", async () => {
      const world = await start({ waitMs: 60_000, approvals: { lifetimeMs: HOUR } });
      const call = newCall();
      const both = [world.execute("exec", { cmd: "ls" }, call), world.execute("exec", { cmd: "ls" }, call)];
      const open = async () => (await world.approvals.list("pending")).filter(({ callId }) => callId === call.id);
      await expect.poll(async () => (await open()).length).toBe(1);
      await new Promise((done) => setTimeout(done, 50));
      await world.clock.advance(60_000);
      expect(await Promise.all(both)).toMatchObject([{ status: "pending" }, { status: "pending" }]);
      const { id } = (await open())[0]!;
      await world.clock.advance(HOUR);
      await expect(world.approve(id)).rejects.toThrow(/has expired: nobody answered within 60 min/);
      expect(world.ran).toEqual([]);
    });

    test("makes the same call twice, and both are answered by its one run", async () => {
      const world = await start({ waitMs: HOUR });
      const call = newCall();
      const both = [world.execute("exec", { cmd: "ls" }, call), world.execute("exec", { cmd: "ls" }, call)];
      await expect
        .poll(async () => (await world.approvals.list("pending")).some((a) => a.callId === call.id))
        .toBe(true);
      await new Promise((done) => setTimeout(done, 50));
      const [requested, ...more] = (await world.approvals.list("pending")).filter((a) => a.callId === call.id);
      expect(more).toEqual([]);
      await world.approve(requested!.id);
      expect(await Promise.all(both)).toMatchObject([{ status: "completed" }, { status: "completed" }]);
      expect(world.ran).toHaveLength(1);
    });

    test("is not needed: approvals.wait tells whoever asks, until its signal says stop", async () => {
      const { execute, approvals, denyCall } = await start();
      const requested = idOf(await execute("exec", { cmd: "ls" }, newCall()));
      const stop = new AbortController();
      const stopped = approvals.wait(requested, stop.signal);
      const waited = approvals.wait(requested);
      stop.abort(new Error("enough"));
      await expect(stopped).rejects.toThrow("enough");
      await denyCall(requested, "no");
      expect(await waited).toMatchObject({ state: "denied", note: "no" });
      await expect(approvals.wait("apr_none")).rejects.toThrow(/no approval/);
    });
  });

  test("the definition that is bound is the tool's own word, not its name", () => {
    const make = (more: object) =>
      createTool({ name: "t", description: "d", parameters: [], run: () => 1, ...more } as never) as AnyTool;
    const hash = definitionHash(make({}), sha256);
    expect(definitionHash(make({}), sha256)).toBe(hash);
    for (const more of [
      { version: "2.0.0" },
      { description: "e" },
      { kind: "readonly" },
      { labels: ["outside_effect"] },
    ]) {
      expect(definitionHash(make(more), sha256)).not.toBe(hash);
    }
  });
});
