import { chmodSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createGetFileInfoTool } from "./get-file-info.ts";

function stage() {
  const folder = temporaryFolder("haft-info-");
  const tool = createGetFileInfoTool({ files: createFiles(createPathPolicy({ workspace: folder })) });
  const haft = createHaft({ tools: [tool], folder });
  return {
    at: (path: string) => join(folder, path),
    folder,
    tool,
    info: (path: string) => haft.execute("get_file_info", { path }),
  };
}

test("get_file_info keeps the contract of tools", async () => {
  const { tool, folder } = stage();
  await testTool(tool, {
    runtime: { folder },
    inputs: [{ path: "missing" }],
    badInputs: [{}, { path: null }],
  });
});

test("a file is described by its size, its time in milliseconds and its mode", async () => {
  const { at, info } = stage();
  writeFileSync(at("a.txt"), "héllo\n");
  chmodSync(at("a.txt"), 0o640);
  utimesSync(at("a.txt"), 1_700_000_000, 1_700_000_000);
  const { details, display } = await info("a.txt");
  expect(details).toMatchObject({ exists: true, type: "file", size: 7, modified: 1_700_000_000_000, mode: "0640" });
  expect(display).toBe("a.txt: file, 7 bytes, changed 2023-11-14T22:13:20.000Z");
});

test("a missing file is a result, not a failure", async () => {
  const { info } = stage();
  expect(await info("nope.txt")).toMatchObject({
    status: "completed",
    details: { exists: false, size: 0, modified: 0 },
  });
});

test("describes the target of a link, or a broken link itself", async () => {
  const { at, info } = stage();
  writeFileSync(at("a.txt"), "1234");
  symlinkSync("a.txt", at("good"));
  symlinkSync("gone", at("broken"));
  expect((await info("good")).details).toMatchObject({ exists: true, type: "file", size: 4, linkTarget: "a.txt" });
  expect((await info("broken")).details).toMatchObject({ exists: true, type: "symlink", linkTarget: "gone" });
});

test("reveals nothing outside the allowed paths, not even through a link", async () => {
  const { at, info } = stage();
  symlinkSync("/etc/passwd", at("out"));
  for (const path of ["/etc/passwd", "/etc/no-such-file", "out"]) {
    expect(await info(path)).toMatchObject({ error: { code: "path_denied" } });
  }
});
