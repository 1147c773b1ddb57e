// Attacks without any analysis of their text, in each engine that passes its self-test, as this user and as nobody.
// npm test runs a part of them. All of them: npm run test:full -- --long sandbox
import { spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { machineEngines } from "../../../src/io/sandbox/self-test.ts";
import { ROOT } from "../../architecture/read-entries.ts";
import { bundleProgram } from "../../setup/bundle-program.ts";
import { canRun } from "../../setup/requirements.ts";
import { ENGINES } from "./engine-for.ts";
import { isException } from "./exceptions.ts";
import type { Order, Outcome } from "./run-attacks.ts";

const IS_FULL = process.env["HAFT_FULL"] === "1";
/** In `npm test` each engine runs other attacks: together they are about a tenth. */
const PART = 100;
const NOBODY = 65_534;
const FULL_MS = 3_600_000;

const { look, tests } = machineEngines();
const missing = look ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;
const isRoot = process.getuid?.() === 0;
const users = isRoot ? ["root", "nobody"] : ["this user"];

interface Plan extends Pick<Order, "profile" | "engine" | "every" | "first"> {
  user: string;
}

const plans: Plan[] = users.flatMap((user) =>
  (["look", "work"] as const).flatMap((profile) => ENGINES[profile].map((engine) => ({ user, profile, engine }))),
);
for (const [index, plan] of plans.entries()) if (!IS_FULL) Object.assign(plan, { every: PART, first: index * 5 });

describe.runIf(canRun("sandbox", missing))("attacks", () => {
  const lines: string[] = [];
  let folder: string;
  let program: string;

  beforeAll(async () => {
    // Not below /tmp, of which a command in `work` has one of its own.
    folder = realpathSync(mkdtempSync("/var/tmp/haft-attacks-"));
    chmodSync(folder, 0o755);
    program = await bundleProgram("test/sandbox/attacks/run-attacks.ts", join(folder, "program"));
    cpSync(join(ROOT, "native"), join(folder, "native"), { recursive: true });
    for (const user of users) {
      mkdirSync(join(folder, user));
      if (user === "nobody") chownSync(join(folder, user), NOBODY, NOBODY);
    }
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    if (!isRoot) lines.push("not run as another user: only root can start it");
    if (IS_FULL || process.env["HAFT_SHOW"]) process.stdout.write(`${lines.join("\n")}\n`);
  });

  async function run({ user, ...order }: Plan): Promise<Outcome> {
    const place = join(folder, user);
    const { HAFT_STATE_DIR: _own, ...env } = process.env;
    const child = spawn(process.execPath, [program, JSON.stringify({ ...order, folder: place })], {
      ...(user === "nobody" ? { uid: NOBODY, gid: NOBODY } : {}),
      cwd: place,
      env: { ...env, XDG_STATE_HOME: join(place, "state") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(errors).toBe("");
    return JSON.parse(output) as Outcome;
  }

  test.each(plans)(
    "as $user in $profile with $engine reach nothing",
    async (plan) => {
      const { problem, ran, skipped, late, effects } = await run(plan);
      const name = `${plan.profile} ${plan.engine}, ${plan.user}`;
      // This one runs wherever commands can be confined at all.
      const mustRun = plan.profile === "look" && plan.engine === look?.name;
      expect(mustRun ? problem : undefined).toBeUndefined();
      if (problem !== undefined) return void lines.push(`${name}: not run, ${problem}`);
      const known = effects.filter((effect) => isException(plan, effect));
      lines.push(`${name}: ${ran} run, ${skipped.length} skipped, ${known.length} known effects`);
      if (IS_FULL) for (const one of skipped) lines.push(`  skipped, the program is missing: ${one}`);
      expect(ran).toBeGreaterThan(0);
      expect(effects.filter((effect) => !known.includes(effect))).toEqual([]);
      expect(late).toEqual([]);
    },
    FULL_MS,
  );

  test(
    "work without a sandbox",
    async () => {
      const user = isRoot ? "nobody" : "this user";
      const part = IS_FULL ? {} : { every: PART, first: 0 };
      const { ran, effects } = await run({ user, profile: "look", engine: "none", ...part });
      lines.push(`without a sandbox, ${user}: ${effects.length} of ${ran} have an effect`);
      expect(effects.length).toBeGreaterThan(ran * 0.5);
    },
    FULL_MS,
  );
});
