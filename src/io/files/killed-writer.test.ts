import { execFileSync, spawn } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { childOutput, killChild } from "../../../test/setup/child-end.ts";

const KILLS = process.env["HAFT_FULL"] === "1" ? 150 : 8;
const BYTES = 4 * 1024 * 1024;
const root = fileURLToPath(new URL("../../../", import.meta.url));

let base: string;
let workspace: string;
let script: string;

/** A child needs plain JavaScript: these modules are compiled beside a link to the installed packages. */
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "haft-kill-")));
  workspace = join(base, "ws");
  mkdirSync(workspace);
  mkdirSync(join(base, "out"));
  writeFileSync(join(base, "out/package.json"), `{ "type": "module" }`);
  symlinkSync(join(root, "node_modules"), join(base, "out/node_modules"));
  const config = {
    extends: join(root, "tsconfig.build.json"),
    compilerOptions: {
      rootDir: join(root, "src"),
      outDir: join(base, "out"),
      declaration: false,
      typeRoots: [join(root, "node_modules/@types")],
    },
    files: [join(root, "src/io/files/files.ts")],
    include: [],
  };
  writeFileSync(join(base, "tsconfig.json"), JSON.stringify(config));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", join(base, "tsconfig.json")]);
  script = join(base, "out/child.js");
  writeFileSync(
    script,
    `import { createFiles } from "./files/files.js";
     import { createPathPolicy } from "./files/path-policy.js";
     const [, , workspace, mode] = process.argv;
     const files = createFiles(createPathPolicy({ workspace }));
     const contents = ["A", "B"].map((letter) => Buffer.alloc(${BYTES}, letter));
     if (mode === "once") {
       const failure = await files.writeFileAtomic("target", contents[1]).then(() => null, (error) => error);
       process.stdout.write(JSON.stringify({ code: failure?.code, message: failure?.message }));
     } else {
       process.stdout.write("ready");
       for (let round = 0; ; round += 1) {
         if (mode === "plain") (await import("node:fs")).writeFileSync(workspace + "/target", contents[round % 2]);
         else await files.writeFileAtomic("target", contents[round % 2]);
       }
     }`,
  );
}, 60_000);
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** Kills a writer after so many milliseconds of writing; true when the file is neither old nor new. */
async function killWriter(mode: "atomic" | "plain", afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [script, workspace, mode], { stdio: ["ignore", "pipe", "inherit"] });
  await childOutput(child);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  await killChild(child);
  const content = readFileSync(join(workspace, "target"));
  return (
    content.length !== BYTES || !(content.equals(Buffer.alloc(BYTES, "A")) || content.equals(Buffer.alloc(BYTES, "B")))
  );
}

describe("a writer that is killed", () => {
  it("leaves the old content or the new, never a mixture", async () => {
    writeFileSync(join(workspace, "target"), Buffer.alloc(BYTES, "A"));
    let torn = 0;
    for (let kill = 0; kill < KILLS; kill += 1) if (await killWriter("atomic", 2 + ((kill * 7) % 40))) torn += 1;
    expect(torn).toBe(0);
    expect(readdirSync(workspace).every((name) => name === "target" || /^\.haft-tmp-\d+-/.test(name))).toBe(true);
  }, 600_000);

  it("would tear the file with a plain write, so the test can fail", async () => {
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
  it.runIf(canMount)("keeps the old content, says so, and gives the space back", () => {
    const disk = join(base, "disk");
    mkdirSync(disk);
    const commands = `mount -t tmpfs -o size=1m none ${disk} && printf OLD > ${disk}/target && "$0" "$1" ${disk} once && echo && cat ${disk}/target && ls -A ${disk}`;
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
