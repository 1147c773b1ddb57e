import { expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createArtifactManager } from "./artifact-manager.ts";
import { createArtifactTools } from "./artifact-tools.ts";
import { saveOutputsAsArtifacts } from "./output-artifacts.ts";

function open() {
  const manager = createArtifactManager();
  const elsewhere: string[] = [];
  const spill = saveOutputsAsArtifacts(manager, {
    save: ({ text }) => ({ ref: `file:${elsewhere.push(text)}`, how: "It is in a file." }),
    read: (ref) => elsewhere[Number(ref.slice(5)) - 1],
  });
  const haft = createTestHaft({ spill, maxResultBytes: 1_000, tools: createArtifactTools(manager) });
  let size = 5_000;
  haft.register({
    name: "talk",
    description: "Says much",
    kind: "readonly",
    parameters: [],
    run: () => `begin\n${"x".repeat(size)}\nneedle\n`,
  });
  return { haft, spill, elsewhere, setSize: (to: number) => (size = to) };
}

test("a result that is too long becomes an artifact of its session", async () => {
  const { haft, spill } = open();
  const caller = { session: "se/ssion\ud800", agent: "lead" };
  const result = await haft.execute("talk", {}, { id: "c/1", caller });
  const shown = textOf(result.content);
  expect(shown).toContain('Continue with read_artifact {"id":"output-c_1"}');
  expect(Buffer.byteLength(shown)).toBeLessThan(1_500);
  expect(await spill.read(result.metadata.spill!.ref)).toMatch(/^begin\nx{5000}\nneedle\n$/);
  const found = await haft.execute("grep_artifact", { id: "output-c_1", pattern: "needle" }, { caller });
  expect(textOf(found.content)).toBe("3: needle");
  const listed = await haft.execute("list_artifacts", {}, { caller });
  expect(listed).toMatchObject({ details: { artifacts: [{ id: "output-c_1", origin: "output" }] } });
  expect(await haft.execute("read_artifact", { id: "output-c_1" }, { caller: { session: "other" } })).toMatchObject({
    error: { code: "path_not_found" },
  });
});

test("a page of such an artifact does not become another artifact", async () => {
  const { haft } = open();
  const caller = { session: "s" };
  await haft.execute("talk", {}, { id: "c1", caller });
  const page = await haft.execute("read_artifact", { id: "output-c1" }, { caller });
  expect(page.metadata.spill).toBeUndefined();
  expect(page).toMatchObject({ details: { characters: 5_014 } });
});

test("a second output under one id is a separate artifact, and one that is too large uses the fallback", async () => {
  const { haft, spill, elsewhere, setSize } = open();
  const save = (callId: string) => spill.save({ callId, toolName: "talk", text: "text", caller: {} });
  expect((await save("one")).how).toContain('"output-one"');
  expect((await save("one")).how).toContain('"output-one-2"');
  setSize(2_100_000);
  const result = await haft.execute("talk");
  expect(textOf(result.content)).toContain("It is in a file.");
  expect(elsewhere).toHaveLength(1);
  expect(await spill.read(result.metadata.spill!.ref)).toBe(elsewhere[0]);
  expect(await spill.read("artifact:no json")).toBeUndefined();
  expect(await spill.read('artifact:["","none"]')).toBeUndefined();
});
