// What runs without approval is bounded, for root and for ordinary users, with the real sandbox of this machine.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";

const { work, tests } = machineEngines();
const missing = work?.name === "namespaces" ? undefined : `There are no overlays here: ${JSON.stringify(tests)}.`;
const USERS = process.geteuid?.() === 0 ? ["root", "an ordinary user"] : ["an ordinary user"];

/** Prints how many children it could start. */
const FORKS = `perl -e 'for (1..200) { my $p = fork; last unless defined $p; if (!$p) { sleep 20; exit } $n++ } print $n'`;
const MEMORY = `perl -e 'for (1..9) { if (!fork) { my $x = "a" x 60_000_000; sleep 20; exit } } sleep 20'`;
const SHARED =
  "for i in 1 2 3; do head -c 30000000 /dev/zero > /dev/shm/$i; done 2>/dev/null; du -sb /dev/shm | cut -f1";
const CLOSED = "mkdir -p a/b/c; chmod 000 a/b/c a/b a";
const DEEP = `perl -e 'for (1..40) { mkdir "d" x 200; chdir "d" x 200 } print "deep"'`;

describe.runIf(canRun("sandbox", missing))("what nobody has approved", () => {
  const base = temporaryFolder();
  let program: string;

  beforeAll(async () => {
    program = await bundleProgram("test/sandbox/bounds.program.ts", join(base, "program"));
    cpSync(join(ROOT, "native"), join(base, "program", "native"), { recursive: true });
    chmodSync(base, 0o755);
  });

  function start(user: string, ...commands: string[]) {
    const folder = join(base, user.replaceAll(" ", "-"));
    const [workspace, state] = [join(folder, "workspace"), join(folder, "state")];
    mkdirSync(workspace, { recursive: true });
    mkdirSync(state, { recursive: true });
    for (const path of [workspace, state]) chmodSync(path, 0o777);
    const as =
      user === "root" || USERS.length === 1 ? [] : ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const [file = "", ...args] = [...as, process.execPath, program, workspace, ...commands];
    const { stdout, stderr, signal } = spawnSync(file, args, {
      env: { PATH: process.env["PATH"], HAFT_STATE_DIR: state },
      encoding: "utf8",
    });
    if (stdout === "" && signal === null) throw new Error(stderr);
    const printed = JSON.parse(stdout || `{ "runs": [] }`) as {
      runs: { reason: string; hint?: string; output: string; survivors: number[] }[];
      left?: string[];
    };
    return { ...printed, signal, views: join(state, "sandbox", "views") };
  }

  test.each(USERS)("is bounded in processes, memory and shared memory, and leaves no view: %s", (user) => {
    const commands = [
      "view",
      FORKS,
      "look",
      // The kernel refuses further ones only to other users. Haft counts those of root.
      user === "root" ? `${FORKS}; sleep 20` : FORKS,
      "view",
      MEMORY,
      "look",
      MEMORY,
      "view",
      SHARED,
      "view",
      CLOSED,
    ];
    const { runs, left } = start(user, ...commands, "view", DEEP);
    const [forks, looking, memory, lookingMemory, shared, closed, deep] = runs;
    // Before Linux 6.14, what root forks is only counted.
    const isRefused = user !== "root" || work?.machine.hasOwnProcessNumbers === true;
    expect(forks).toMatchObject({ reason: isRefused ? "exited" : "limit", survivors: [] });
    const count = Number(forks?.output);
    expect(!isRefused || (count > 40 && count <= 60)).toBe(true);
    const counted = { reason: "limit", hint: "It used more than 60 processes.", survivors: [] };
    expect(looking).toMatchObject(user === "root" ? counted : { reason: "exited", survivors: [] });
    expect(user === "root" || Number(looking?.output) <= 60).toBe(true);
    for (const run of [memory, lookingMemory])
      expect(run).toMatchObject({ reason: "limit", hint: "It used more than 381 MiB of memory.", survivors: [] });
    expect(Number(shared?.output)).toBeLessThanOrEqual(51_000_000);
    expect([closed?.reason, deep?.output]).toEqual(["exited", "deep"]);
    expect(left).toEqual([]);
  });

  test.each(USERS)("ends with a process that is killed, and the next one removes its view: %s", async (user) => {
    const { signal, views } = start(user, "view", `${CLOSED}; exec sleep 4711.25 # KILLED`);
    expect(signal).toBe("SIGKILL");
    await until(() => !isRunning("4711.25"));
    expect(readdirSync(views)).toEqual(["view-0"]);
    start(user);
    expect(readdirSync(views)).toEqual([]);
  });
});

function isRunning(argument: string): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument);
      } catch {
        return false;
      }
    });
}
