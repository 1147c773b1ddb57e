import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleProgram } from "../../../test/setup/bundle-program.ts";
import { childOutput, killChild } from "../../../test/setup/child-end.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";

const KILLS = process.env["HAFT_FULL"] === "1" ? 150 : 8;
const BYTES = 4 * 1024 * 1024;

let base: string;
let workspace: string;
let script: string;

beforeAll(async () => {
  base = temporaryFolder("haft-kill-");
  workspace = join(base, "ws");
  mkdirSync(workspace);
  script = await bundleProgram("src/io/files/killed-writer.fixture.ts", join(base, "out"));
}, 60_000);

/** Kills a writer after the given time. True if the file is neither old nor new. */
async function killWriter(mode: "atomic" | "plain", afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [script, workspace, mode, `${BYTES}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await childOutput(child);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  await killChild(child);
  const content = readFileSync(join(workspace, "target"));
  return (
    content.length !== BYTES || !(content.equals(Buffer.alloc(BYTES, "A")) || content.equals(Buffer.alloc(BYTES, "B")))
  );
}

describe("a writer that is killed", () => {
  it("leaves the old or the new content, never a mixture", async () => {
    writeFileSync(join(workspace, "target"), Buffer.alloc(BYTES, "A"));
    let torn = 0;
    for (let kill = 0; kill < KILLS; kill += 1) if (await killWriter("atomic", 2 + ((kill * 7) % 40))) torn += 1;
    expect(torn).toBe(0);
    expect(readdirSync(workspace).every((name) => name === "target" || /^\.haft-tmp-\d+-/.test(name))).toBe(true);
  }, 600_000);

  it("damages the file with a plain write, so the test can fail", async () => {
    let torn = 0;
    for (let kill = 0; kill < 50 && torn === 0; kill += 1) if (await killWriter("plain", 2 + kill)) torn += 1;
    expect(torn).toBeGreaterThan(0);
  }, 600_000);
});

const canMount = (() => {
  try {
    execFileSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

describe("a full disk", () => {
  it.runIf(canMount)("keeps the old content, reports it and frees the space", () => {
    const disk = join(base, "disk");
    mkdirSync(disk);
    const commands = `mount -t tmpfs -o size=1m none ${disk} && printf OLD > ${disk}/target && "$0" "$1" ${disk} once ${BYTES} && echo && cat ${disk}/target && ls -A ${disk}`;
    const output = execFileSync("unshare", ["-rm", "sh", "-c", commands, process.execPath, script], {
      encoding: "utf8",
    });
    const [failure, rest] = output.split("\n");
    expect(JSON.parse(failure ?? "")).toMatchObject({
      code: "io_error",
      message: expect.stringContaining("No space left"),
    });
    expect(rest).toBe("OLDtarget");
  });
});
