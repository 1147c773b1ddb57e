// A program that a rule denies as a whole, in commands that other rules allow: the kernel refuses it.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { createHaft, type HaftOptions } from "../../src/runtime.ts";
import { openWorkspace } from "../../src/workspace.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { look, work, tests } = machineEngines();
const missing = look && work ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;

/** Each line would create the file, if the program ran under another name. */
const SCRIPT = `
touch PWNED
cp /usr/bin/touch copy && ./copy PWNED
cat /usr/bin/touch > printed; chmod +x printed; ./printed PWNED
ln -s /usr/bin/touch link; ./link PWNED
for loader in /lib*/ld-*.so* /lib/*/ld-*.so*; do $loader /usr/bin/touch PWNED; done
/proc/self/root/usr/bin/touch PWNED
`;

describe.runIf(canRun("sandbox", missing) && existsSync("/usr/bin/touch"))("a denied program", () => {
  const open: { shutdown(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const haft of open.splice(0)) await haft.shutdown();
  });

  function workspaceWith(rules: NonNullable<HaftOptions["rules"]>) {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "script.sh"), SCRIPT);
    const stateFolder = temporaryFolder();
    const haft = createHaft({ workspace: openWorkspace(folder, { stateFolder, sandbox: { previewMs: 0 } }), rules });
    open.push(haft);
    const run = (command: string) => haft.execute("exec", { command });
    const target = join(folder, "PWNED");
    return { haft, run, wrote: () => existsSync(target), reset: () => rmSync(target) };
  }

  test.each(["Bash(touch *)", "Bash(touch)", "Bash(touch:*)"])(
    "does not run in an allowed script: %s",
    async (deny) => {
      const { run, wrote } = workspaceWith({ allow: ["Bash(sh script.sh)"], deny: [deny] });
      expect((await run("sh script.sh")).status).not.toBe("pending");
      expect(wrote()).toBe(false);
      expect(await run("touch x")).toMatchObject({ status: "failed", error: { code: "denied" } });
    },
  );

  test("runs without the rule, and a rule that is added binds at the next start; other programs still run", async () => {
    const { haft, run, wrote, reset } = workspaceWith({ allow: ["Bash(sh script.sh)"] });
    await run("sh script.sh");
    expect(wrote()).toBe(true);
    reset();
    await haft.policy.add("Bash(touch *)", "deny");
    await run("sh script.sh");
    expect(wrote()).toBe(false);
    expect(await run("ls")).toMatchObject({ status: "completed" });
  });
});
