import { readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createSpillFolder, isSpillAddress } from "./spill-folder.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

function open(now?: () => number) {
  const stateFolder = temporaryFolder("haft-spill-");
  return { stateFolder, folder: join(stateFolder, "spill"), spills: createSpillFolder(() => stateFolder, { now }) };
}

const ann = { user: "ann", session: "one" };

test("an output has an address that is not a path, and is kept for this user only", async () => {
  const { spills, folder } = open();
  const { ref } = await spills.save({ callId: "call/1", caller: ann }, "all of it");
  expect(ref).toMatch(/^spill:[0-9a-f]{16}-call_1$/);
  expect(isSpillAddress(ref)).toBe(true);
  expect(await spills.read(ref)).toBe("all of it");
  expect(readdirSync(folder)).toEqual([`${ref.slice("spill:".length)}.txt`]);
  const modes = [folder, join(folder, readdirSync(folder)[0] ?? "")].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual(process.platform === "win32" ? modes : [0o700, 0o600]);
});

test("two outputs of one call id have two addresses", async () => {
  const { spills } = open();
  const first = await spills.save({ callId: "c", caller: ann }, "first");
  const second = await spills.open({ callId: "c", caller: ann });
  await second.write(Buffer.from("sec"));
  await second.write(Buffer.from("ond"));
  const { ref } = await second.close();
  expect(ref).not.toBe(first.ref);
  expect([await spills.read(first.ref), await spills.read(ref)]).toEqual(["first", "second"]);
});

test.each([
  ["another session", { user: "ann", session: "two" }],
  ["another user with a session of the same name", { user: "bob", session: "one" }],
  ["no session", { user: "ann" }],
  ["an agent that has the name of the session", { user: "ann", agent: "one" }],
])("a tool does not reach the output of %s, and is not told that it exists", async (_who, caller) => {
  const { spills } = open();
  const { ref } = await spills.save({ callId: "c", caller: ann }, "text");
  expect((await spills.locate(ref, ann)).name).toMatch(/-c\.txt$/);
  const refused = await spills.locate(ref, caller).catch((error: Error) => error.message.replaceAll(ref, "REF"));
  const missing = await spills
    .locate(`${ref}x`, ann)
    .catch((error: Error) => error.message.replaceAll(`${ref}x`, "REF"));
  expect(refused).toMatch(/There is no output "REF" of this session/);
  expect(missing).toBe(refused);
});

test.each(["spill:", "spill:../haft.db", "spill:a/b", "/etc/passwd", "haft.db", ".haft/spill/../haft.db"])(
  "%j is not an address of an output",
  async (ref) => {
    const { spills, stateFolder } = open();
    writeFileSync(join(stateFolder, "haft.db"), "the store");
    expect(await spills.read(ref)).toBeUndefined();
    await expect(spills.locate(ref, ann)).rejects.toThrow("There is no output");
  },
);

test("an output that an earlier version recorded as a path is read by the runtime, not by tools", async () => {
  const { spills, folder } = open();
  await spills.save({ callId: "c", caller: ann }, "text");
  writeFileSync(join(folder, "call-1.txt"), "old output");
  expect(await spills.read(".haft/spill/call-1.txt")).toBe("old output");
  await expect(spills.locate(".haft/spill/call-1.txt", ann)).rejects.toThrow("There is no output");
  await expect(spills.locate("spill:call-1", ann)).rejects.toThrow("There is no output");
});

test("outputs are removed after a week, when the folder is next opened", async () => {
  const { spills, stateFolder, folder } = open();
  const { ref } = await spills.save({ callId: "c", caller: ann }, "text");
  const [name = ""] = readdirSync(folder);
  utimesSync(join(folder, name), new Date(0), new Date(0));
  await createSpillFolder(() => stateFolder, { now: () => 6 * DAY_MS }).save({ callId: "d", caller: ann }, "text");
  expect(await spills.read(ref)).toBe("text");
  await createSpillFolder(() => stateFolder, { now: () => 8 * DAY_MS }).save({ callId: "e", caller: ann }, "text");
  expect(await spills.read(ref)).toBeUndefined();
});

test("a folder that cannot be created is an error with the path and the setting", async () => {
  const { stateFolder } = open();
  writeFileSync(join(stateFolder, "file"), "");
  const spills = createSpillFolder(() => join(stateFolder, "file"));
  await expect(spills.save({ callId: "c", caller: ann }, "text")).rejects.toThrow(/file\/spill .*HAFT_STATE_DIR/);
});

test("all outputs together are bounded: the oldest go first, and what then has no room is cut", async () => {
  const stateFolder = temporaryFolder("haft-spill-");
  const spills = createSpillFolder(() => stateFolder, { maxTotalBytes: 1000 });
  const [oldest, older] = [
    await spills.save(call("a"), "x".repeat(400)),
    await spills.save(call("b"), "x".repeat(400)),
  ];
  for (const [at, { ref }] of [oldest, older].entries())
    utimesSync(join(stateFolder, "spill", `${ref.slice("spill:".length)}.txt`), 1, Date.now() / 1000 - 3600 + at);
  const newest = await spills.open(call("c"));
  expect(await newest.write(Buffer.alloc(500))).toBe(500);
  expect([await spills.read(oldest.ref), (await spills.read(older.ref))?.length]).toEqual([undefined, 400]);
  // What was written within the last minute stays.
  expect(await newest.write(Buffer.alloc(700))).toBe(500);
  expect(await newest.write(Buffer.alloc(1))).toBe(0);
  const { ref } = await newest.close();
  expect([await spills.read(older.ref), (await spills.read(ref))?.length]).toEqual([undefined, 1000]);
  await expect(spills.save(call("d"), "x")).rejects.toThrow("more than 1000 bytes together");
});

const call = (callId: string) => ({ callId, caller: ann });
