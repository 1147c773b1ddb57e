// Attacks without any analysis of their text, in every engine of this machine, as this user and as nobody.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { canRun } from "../setup/requirements.ts";

const { look, tests } = machineEngines();
const missing = look ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;
const NOBODY = 65_534;
const users = process.getuid?.() === 0 ? [0, NOBODY] : [process.getuid?.() ?? -1];

/** Landlock does not see modes, owners and times; only mounts protect those outside the workspace. */
const KNOWN = ["landlock", "perl"].map((engine) => `work ${engine}: chmod 777 "$BASE/outside.txt"`);

interface Report {
  report: Record<string, { tried: number; effective: string[] }>;
}

describe.runIf(canRun("sandbox", missing))("attacks", () => {
  test.each(users)("as user %i have no effect in any engine", async (uid) => {
    // Not below /tmp, of which a command in `work` has one of its own.
    const folder = realpathSync(mkdtempSync("/var/tmp/haft-attacks-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const program = await bundleProgram("test/sandbox/try-attacks.ts", join(folder, "program"));
    cpSync("native", join(folder, "native"), { recursive: true });
    const work = join(folder, "work");
    mkdirSync(work);
    for (const path of [folder, work]) chmodSync(path, 0o777);
    const asUser = uid === process.getuid?.() ? {} : { uid, gid: uid };
    const control = uid === users[0] ? ["control"] : [];
    const child = spawn(process.execPath, [program, work, ...control], {
      ...asUser,
      cwd: work,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(errors).toBe("");
    const { report } = JSON.parse(output) as Report;
    // The control: without a sandbox most of them work.
    const unconfined = Object.entries(report).filter(([name]) => name.endsWith("unconfined"));
    expect(unconfined.length).toBe(control.length * 2);
    for (const [, { tried, effective }] of unconfined) expect(effective.length).toBeGreaterThan(tried * 0.6);
    const confined = Object.entries(report).filter(([name]) => !name.endsWith("unconfined"));
    expect(confined.map(([name]) => name)).toContain("look landlock");
    const effects = confined.flatMap(([name, { effective }]) => effective.map((attack) => `${name}: ${attack}`));
    expect(effects.filter((effect) => !KNOWN.includes(effect))).toEqual([]);
  });
});
