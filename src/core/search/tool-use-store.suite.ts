import { describe, expect, test } from "vitest";
import { MAX_TOOLS, type ToolUseStore } from "./tool-use.ts";

const change = (user: string, tool: string, question?: string, lastUsedAt = 1_800_000_000_000) => ({
  user,
  tool,
  uses: 1,
  lastUsedAt,
  questions: question === undefined ? [] : [question],
});

/** The contract of every store of the use of tools. `open` returns an empty store of the workspace. */
export function describeToolUseStore(
  name: string,
  open: (workspace: string) => Promise<ToolUseStore> | ToolUseStore,
): void {
  describe(`the use of tools in ${name}`, () => {
    test("is added up by user and tool, questions oldest first", async () => {
      const store = await open("add");
      await store.add([change("ada", "pay", "send money\0")]);
      await store.add([change("ada", "pay", "pay an invoice"), change("ada", "mail")]);
      const [pay, mail] = (await store.load("ada")).toSorted((a, b) => (a.tool > b.tool ? -1 : 1));
      expect(pay).toMatchObject({ tool: "pay", uses: 2, questions: ["send money\0", "pay an invoice"] });
      expect(mail).toMatchObject({ tool: "mail", uses: 1, questions: [], lastUsedAt: 1_800_000_000_000 });
    });

    test("is of one user and one workspace", async () => {
      const [one, other] = [await open("one"), await open("other")];
      await one.add([change("ada", "pay", "send money"), change("", "pay", "of nobody")]);
      expect(await one.load("bob")).toEqual([]);
      expect(await other.load("ada")).toEqual([]);
      expect(await one.load("")).toMatchObject([{ questions: ["of nobody"] }]);
    });

    test("keeps the newest 20 questions of a tool, near duplicates once", async () => {
      const store = await open("bounds");
      for (let at = 0; at < 22; at++) await store.add([change("ada", "pay", `question number ${at} of ada`)]);
      await store.add([change("ada", "pay", "Question   number 21, of ADA")]);
      const [{ questions } = { questions: [] }] = await store.load("ada");
      expect(questions).toHaveLength(20);
      expect(questions.slice(-2)).toEqual(["question number 20 of ada", "Question   number 21, of ADA"]);
    });

    test("drops the tools that were not used for the longest time", async () => {
      const store = await open("tools");
      await store.add(Array.from({ length: MAX_TOOLS + 2 }, (_, at) => change("ada", `t${at}`, undefined, 1000 + at)));
      const names = (await store.load("ada")).map(({ tool }) => tool);
      expect(names).toHaveLength(MAX_TOOLS);
      expect(names).not.toContain("t0");
      expect(names).toContain("t2");
    });

    test("forgets one tool, or all tools of one user", async () => {
      const store = await open("forget");
      await store.add([change("ada", "pay"), change("ada", "mail"), change("ada", "chat"), change("bob", "pay")]);
      expect(await store.forget("ada", "pay")).toBe(1);
      expect(await store.forget("ada", "pay")).toBe(0);
      expect((await store.load("ada")).map(({ tool }) => tool).sort()).toEqual(["chat", "mail"]);
      expect(await store.forget("ada")).toBe(2);
      expect(await store.load("ada")).toEqual([]);
      expect(await store.load("bob")).toHaveLength(1);
    });
  });
}
