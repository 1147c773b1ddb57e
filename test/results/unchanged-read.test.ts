import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textOf } from "../../src/core/content.ts";
import { scriptAgent } from "../../src/models/agent/scripted-agent.fixture.ts";
import { createHaft } from "../../src/runtime.ts";
import { openWorkspace } from "../../src/workspace.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const TEXT = Array.from({ length: 200 }, (_, i) => `line ${i + 1}`).join("\n");

function stage() {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.txt"), TEXT);
  const haft = createHaft({ workspace: openWorkspace(folder, { sandbox: false }), rules: { allow: ["edit"] } });
  const known = new Set<string>();
  const read = async (id: string, input: object = {}, session = "one") => {
    const isInConversation = (callId: string) => known.has(callId);
    const result = await haft.execute(
      "read",
      { path: "a.txt", ...input },
      { id, caller: { session }, isInConversation },
    );
    known.add(id);
    expect(result.details, "the details are whole").toMatchObject({ firstLine: expect.any(Number) });
    return textOf(result.content);
  };
  return { folder, haft, known, read };
}

test("a file that has not changed is answered briefly while its text is in the conversation", async () => {
  const { haft, known, read } = stage();
  expect(await read("c1")).toContain("200\tline 200");
  expect(await read("c2")).toBe("[a.txt has not changed since you read it in call c1: its text is in that result.]");
  expect(await read("c3", { offset: 1 }), "the same range").toContain("in call c1");
  expect(await read("c4", { offset: 50 }), "another range").toContain("200\tline 200");
  expect(await read("c5", {}, "two"), "another session").toContain("200\tline 200");
  known.delete("c1");
  expect(await read("c6"), "the earlier result was dropped").toContain("200\tline 200");
  expect(await read("c7")).toContain("in call c6");
  const plain = await haft.execute("read", { path: "a.txt" }, { caller: { session: "one" } });
  expect(textOf(plain.content), "a caller that does not know").toContain("200\tline 200");
});

test("a change, also one that keeps size and time, gives the text again", async () => {
  const { folder, haft, read } = stage();
  await read("c1");
  await haft.execute(
    "edit",
    { path: "a.txt", old_string: "line 7\n", new_string: "LINE 7\n" },
    { caller: { session: "one" } },
  );
  expect(await read("c2")).toContain("LINE 7");
  utimesSync(join(folder, "a.txt"), 1, 1);
  await read("c3");
  writeFileSync(join(folder, "a.txt"), TEXT.replace("line 9\n", "line 0\n"));
  utimesSync(join(folder, "a.txt"), 1, 1);
  expect(await read("c4")).toContain("9\tline 0");
});

test("the agent loop says which results its model still sees", async () => {
  const { haft } = stage();
  const calls = (id: string) => ({ calls: [{ id, name: "read", input: { path: "a.txt" } }] });
  const { agent } = scriptAgent(haft, [calls("r1"), calls("r2"), { text: "done" }, calls("r3"), { text: "done" }]);
  const { messages } = await agent.run("Read it twice.");
  const shown = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(shown.map(({ content }) => textOf(content).includes("line 200"))).toEqual([true, false]);
  expect(textOf(shown[1]!.content)).toContain(`has not changed since you read it in call ${shown[0]!.callId}`);
  const fresh = await agent.run("Read it in a conversation without these results.");
  const [again] = fresh.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(textOf(again!.content)).toContain("line 200");
});
