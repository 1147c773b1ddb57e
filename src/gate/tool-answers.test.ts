import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import type { Signature } from "../core/signature.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
} as const;

interface Input {
  path: string;
}
interface Answers {
  permission?: (input: Input) => Promise<"auto" | "confirm">;
  signature?: (input: Input) => Promise<Signature>;
  locks?: (input: Input) => Promise<string[]>;
}

/** A tool that says asynchronously what its calls need, as one in another process does. */
function start(answers: Answers, options: HaftOptions = {}, body?: (input: Input) => unknown) {
  const runs: Input[] = [];
  const tool = createTool({
    name: "change",
    description: "Changes a file.",
    kind: "write",
    parameters: PARAMETERS,
    permission: "auto",
    run: (input: Input) => {
      runs.push(input);
      return body ? body(input) : "changed";
    },
    ...answers,
  });
  return { haft: createHaft({ ...options, tools: [tool] }), tool, runs };
}

const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(value)));
const changes = ({ path }: Input): Promise<Signature> => later({ text: path, changes: [path] });

describe("a tool that returns promises", () => {
  test("runs if its permission resolves to auto, and asks if it resolves to confirm", async () => {
    const { haft, runs } = start({ permission: ({ path }) => later(path === "a" ? "auto" : "confirm") });
    expect(await haft.execute("change", { path: "a" })).toMatchObject({ status: "completed" });
    const asked = await haft.execute("change", { path: "b" });
    expect(asked).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(runs).toEqual([{ path: "a" }]);
    if (asked.status !== "pending") return;
    expect(await haft.approvals.approve(asked.pending.id)).toMatchObject({ status: "completed" });
    expect(runs).toEqual([{ path: "a" }, { path: "b" }]);
  });

  test("is denied and asked by the rules that match its signature", async () => {
    const rules = { deny: ["Edit(./secret)"], ask: ["Edit(./asked)"], allow: ["Edit(./ok)"] };
    const { haft, runs } = start({ signature: changes, permission: () => later("confirm") }, { rules });
    expect(await haft.execute("change", { path: "secret" })).toMatchObject({ error: { code: "denied" } });
    expect(await haft.execute("change", { path: "asked" })).toMatchObject({ status: "pending" });
    expect(await haft.execute("change", { path: "other" })).toMatchObject({ status: "pending" });
    expect(runs).toEqual([]);
    expect(await haft.execute("change", { path: "ok" })).toMatchObject({ status: "completed" });
  });

  test("asks if its signature rejects, and fails if its permission rejects", async () => {
    const lost = async () => Promise.reject(new Error("the process is gone"));
    const unsigned = start({ signature: lost, permission: () => later("auto") });
    expect(await unsigned.haft.execute("change", { path: "a" })).toMatchObject({ status: "pending" });
    const unjudged = start({ permission: lost });
    const error = { message: 'permission of "change" threw: the process is gone' };
    expect(await unjudged.haft.execute("change", { path: "a" })).toMatchObject({ status: "failed", error });
    expect([unsigned.runs, unjudged.runs]).toEqual([[], []]);
  });

  test.each(["permission", "locks"] as const)("fails with the name of its %s if that throws", async (name) => {
    const { haft, runs } = start({
      permission: () => later("auto"),
      [name]: () => {
        throw new ReferenceError("amout is not defined");
      },
    });
    const error = { code: "failed", message: `${name} of "change" threw: amout is not defined` };
    expect(await haft.execute("change", { path: "a" })).toMatchObject({ status: "failed", error });
    expect(runs).toEqual([]);
  });

  test("suggests the rule of its signature, and the explanation awaits it", async () => {
    const { haft } = start({ signature: changes, permission: () => later("confirm") });
    await haft.execute("change", { path: "a" });
    const [approval] = await haft.approvals.list("pending");
    expect(approval?.suggestedRules).toEqual(['change(path=="a" && nothing else)']);
    const { verdict } = await haft.policy.explain("change", { path: "a" });
    expect(verdict).toMatchObject({ decision: "ask", by: "tool" });
  });

  test("is explained and tried against examples if its schema is asynchronous", async () => {
    const isFree = async (path: string) => later(path !== "taken");
    const parameters = z.object({ path: z.string().refine(isFree, "is taken") });
    const tool = createTool({ name: "change", description: "", parameters, run: () => "changed" });
    const haft = createHaft({ tools: [tool], rules: { allow: ["change"] } });
    const { verdict } = await haft.policy.explain("change", { path: "a" });
    expect(verdict).toMatchObject({ decision: "allow", by: "rule" });
    await expect(haft.policy.explain("change", { path: "taken" })).rejects.toThrow("path: is taken");
    expect(await haft.policy.test([{ tool: "change", input: "a", expect: "allow" }])).toMatchObject([{ holds: true }]);
  });

  test("does not overlap a call that has the same lock", async () => {
    let running = 0;
    let max = 0;
    const { haft } = start({ locks: ({ path }) => later([path]) }, {}, async () => {
      max = Math.max(max, ++running);
      await later(undefined);
      running--;
    });
    const both = await Promise.all([
      haft.execute("change", { path: "same" }),
      haft.execute("change", { path: "same" }),
    ]);
    expect(both).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    expect(max).toBe(1);
  });

  test("cannot hold a call forever: an abort ends it, and so does time", async () => {
    const clock = createFakeClock();
    const never = new Promise<never>(() => {});
    for (const answers of [{ permission: () => never }, { signature: () => never }, { locks: () => never }]) {
      const { haft, runs } = start(answers, { clock });
      const controller = new AbortController();
      const aborted = haft.execute("change", { path: "a" }, { signal: controller.signal });
      controller.abort();
      expect(await aborted).toMatchObject({ error: { code: "cancelled" } });
      const waiting = haft.execute("change", { path: "a" });
      await clock.advance(30_000);
      expect(await waiting).toMatchObject({ error: { code: "timeout" } });
      expect(runs).toEqual([]);
    }
  });

  test("gives a synchronous judgement no wrong answer", () => {
    const { haft, tool } = start({ permission: () => later("auto") });
    expect(() => haft.policy.rules.judge({ tool, input: { path: "a" }, cwd: "/" })).toThrow(/returns a promise/);
  });
});
