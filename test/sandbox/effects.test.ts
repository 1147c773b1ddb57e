// Commands that run in a copy of the workspace before their approval, with the real sandbox of this machine.
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Approval, createHaft, type Haft, textOf, type ToolResult } from "haft";
import { openHaft } from "haft/host";
import { createMemoryUndo, createUndo, openWorkspace, type Undo, type Workspace } from "haft/workspace";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { openStore } from "../../src/store/store.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { work, tests } = machineEngines();
const missing = work?.name === "namespaces" ? undefined : `There are no overlays here: ${JSON.stringify(tests)}.`;

describe.runIf(canRun("sandbox", missing))("a command that needs approval", () => {
  let folder: string;
  let workspace: Workspace;
  let haft: Haft;
  let undo: Undo;
  let asked: Approval[];
  type Answer = { approved: boolean; confirmUnshown?: boolean };
  let answer: (approval: Approval) => Promise<Answer> | Answer;

  beforeEach(() => {
    const base = temporaryFolder();
    folder = join(base, "workspace");
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    writeFileSync(join(folder, "src/b.txt"), "b\n");
    writeFileSync(join(folder, "src/run.sh"), "echo ran\n");
    writeFileSync(join(folder, ".env"), "TOKEN=secret-token\n");
    symlinkSync("a.txt", join(folder, "link"));
    asked = [];
    answer = () => ({ approved: true });
    const store = createMemoryUndo();
    workspace = openWorkspace(folder, { journal: store, stateFolder: join(base, "state") });
    undo = createUndo({ files: workspace.files, store });
    haft = createHaft({
      workspace,
      approver: async (approval) => {
        asked.push(approval);
        return answer(approval);
      },
    });
  });
  afterEach(() => haft.shutdown());

  const at = (path: string): string => join(folder, path);
  const read = (path: string): string => readFileSync(at(path), "utf8");
  const run = (command: string, more: object = {}, id = "call-1"): Promise<ToolResult> =>
    haft.execute("exec", { command, ...more }, { id, caller: { session: "s1" } });
  const shown = (index = 0): string => {
    const { facts = [], content = [], output = "" } = asked[index]?.preview ?? {};
    return [...facts.map((fact) => fact.text), textOf(content), output].join("\n");
  };
  const outputOf = (result: ToolResult): string => (result as { details?: { output?: string } }).details?.output ?? "";

  /** Everything below the workspace: kind, mode and content. */
  function picture(below = ""): Record<string, string> {
    const entries: Record<string, string> = {};
    for (const name of readdirSync(at(below)).toSorted()) {
      const path = join(below, name);
      const info = lstatSync(at(path));
      const mode = (info.mode & 0o7777).toString(8);
      if (info.isSymbolicLink()) entries[path] = `-> ${readlinkSync(at(path))}`;
      else if (info.isDirectory()) Object.assign(entries, { [path]: `folder ${mode}` }, picture(path));
      else entries[path] = `${mode} ${readFileSync(at(path), "base64")}`;
    }
    return entries;
  }

  test("shows its effects, applies exactly them without a second run, and can be undone byte for byte", async () => {
    chmodSync(at("src/run.sh"), 0o644);
    const before = picture();
    let during: Record<string, string> = {};
    answer = () => {
      during = picture();
      return { approved: true };
    };
    const result = await run(
      "echo three >> a.txt; mkdir new; date +%N > 'new/odd \n name'; chmod 755 src/run.sh; mv src/b.txt c.txt; ln -sf src link; echo $RANDOM; echo tmp > /tmp/kept",
    );
    expect(during).toEqual(before);
    expect(shown()).toContain("It ran in a copy of the workspace, without network: exit code 0. Approve to apply");
    expect(shown()).toContain("+three");
    expect(shown()).toContain("R src/b.txt -> c.txt");
    expect(shown()).toContain("M link -> src");
    expect(shown()).toContain("M src/run.sh (mode 644 to 755)");
    expect(shown()).toContain("Temporary files in /tmp: 1.");
    expect(result).toMatchObject({ status: "completed", details: { previewed: true, exitCode: 0 } });
    // The random number and the time are those that were shown.
    expect(shown()).toContain(outputOf(result).trim());
    expect(shown()).toContain(`+${read("new/odd \n name").trim()}`);
    expect(read("a.txt")).toBe("one\ntwo\nthree\n");
    expect(read("c.txt")).toBe("b\n");
    expect(existsSync(at("src/b.txt"))).toBe(false);
    expect(readlinkSync(at("link"))).toBe("src");
    expect(statSync(at("src/run.sh")).mode & 0o777).toBe(0o755);
    expect(outputOf(await run("cat /tmp/kept; true > x", {}, "call-2"))).toContain("tmp");
    const after = picture();
    const { undoId } = await undo.undoLast(2);
    expect(picture()).toEqual(before);
    await undo.undoCall(undoId!.concat("/2"));
    await undo.undoCall(undoId!.concat("/1"));
    expect(picture()).toEqual(after);
  });

  test("shows the dangerous effects first with true counts, and a cut list needs the second step", async () => {
    writeFileSync(at("keep.txt"), "keep\n");
    const command =
      "for i in $(seq 1 300); do echo $i > f$i.txt; done; ln -s /etc zlink; printf x > zrun; chmod 755 zrun; " +
      "printf x > zroot; chmod 4755 zroot; echo changed > keep.txt; printf 'A evil.txt\\nM keep.txt\\n'; " +
      "touch 'zz\nM src -> x'";
    expect(await run(command)).toMatchObject({ status: "pending" });
    expect(read("keep.txt")).toBe("keep\n");
    const { preview, unseen } = asked[0]!;
    const lines = textOf(preview!.content).split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "M keep.txt",
      "A zroot (executable; SETUID: runs with the rights of its owner)",
      "A zrun (executable)",
      "A zlink -> /etc",
    ]);
    expect(preview!.counts).toEqual({ files: 305, added: 303, removed: 1 });
    expect(unseen).toMatch(/^Not shown: the names of 105 changed files/);
    // What was printed is not in the list, and a name with a line end is one line of it.
    expect(preview!.output).toBe("A evil.txt\nM keep.txt");
    expect(textOf(preview!.content)).not.toMatch(/evil|^M src/m);
    const { text: whole } = await haft.approvals.whole(asked[0]!.id);
    expect(whole).toMatch(/^A "zz\\nM src -> x"$/m);
    expect(whole).toMatch(/^\+300$/m);
    expect(whole).toMatch(/^\| A evil.txt$/m);
    answer = () => ({ approved: true, confirmUnshown: true });
    expect(await haft.approvals.approve(asked[0]!.id, { confirmUnshown: true })).toMatchObject({ status: "completed" });
    expect(read("keep.txt")).toBe("changed\n");
    expect(read("f300.txt")).toBe("300\n");
  });

  test("keeps the long output of its preview from its caller", async () => {
    const spills = join(folder, "../state/spill");
    answer = () => ({ approved: false });
    await run("seq 1 200000; touch made", {}, "mine");
    const names = existsSync(spills) ? readdirSync(spills) : [];
    expect(names.filter((name) => name.includes("mine"))).toEqual([]);
  });

  test("changes nothing if it is denied, and keeps no record", async () => {
    const before = picture();
    const records = (): string[] => readdirSync(join(folder, "../state/previews"));
    answer = () => {
      expect(records()).toHaveLength(1);
      return { approved: false };
    };
    const result = await run("echo x > a.txt; mkdir d");
    expect(result.status).toBe("failed");
    expect(shown()).toContain("A d/");
    expect(picture()).toEqual(before);
    expect(records()).toEqual([]);
  });

  test("that replaces a folder loses what was in it, also below", async () => {
    mkdirSync(at("src/deep/deeper"), { recursive: true });
    writeFileSync(at("src/deep/deeper/old"), "old");
    const before = picture();
    await run("mv src gone && mkdir -p src/deep && echo new > src/deep/file && find gone -type f -exec unlink {} \\;");
    expect(shown()).toContain("D src/deep/deeper/old");
    expect(existsSync(at("src/b.txt"))).toBe(false);
    expect(existsSync(at("src/deep/deeper"))).toBe(false);
    expect(read("src/deep/file")).toBe("new\n");
    await undo.undoCall("call-1");
    expect(picture()).toEqual(before);
  });

  test("is asked about again if a file changed after the preview", async () => {
    answer = ({ id }) => {
      if (asked[0]?.id === id) writeFileSync(at("a.txt"), "changed by a person\n");
      return { approved: true };
    };
    const result = await run("echo three >> a.txt");
    expect(result.status).toBe("completed");
    expect(asked).toHaveLength(2);
    expect(shown(1)).toContain(" changed by a person");
    expect(read("a.txt")).toBe("changed by a person\nthree\n");
  });

  test("commits to a repository, and the undo removes the commit", async () => {
    const git = (...args: string[]): string => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    git("init", "-q");
    git("config", "user.name", "a");
    git("config", "user.email", "a@b");
    git("add", "a.txt", "src", "link");
    git("commit", "-qm", "first");
    const before = picture();
    const result = await run("echo more >> a.txt && git commit -qam second && git rev-parse HEAD");
    expect(shown()).toMatch(/^M \.git\/refs\/heads\/\w+ [\da-f]{12} → [\da-f]{12}$/m);
    expect(shown()).toMatch(/^and \d+ files in \.git$/m);
    expect(asked[0]?.unseen).toBeUndefined();
    expect(git("log", "--format=%s")).toBe("second\nfirst\n");
    expect(git("rev-parse", "HEAD").trim()).toBe(outputOf(result).trim());
    expect(git("fsck", "--strict")).toBe("");
    await undo.undoCall("call-1");
    expect(picture()).toEqual(before);
  });

  test("shows what git would run or follow, and applies a rebase that stopped", async () => {
    const git = (...args: string[]): string => execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    git("init", "-q", "-b", "main");
    git("config", "user.name", "a");
    git("config", "user.email", "a@b");
    git("add", "a.txt");
    git("commit", "-qm", "first");
    git("checkout", "-qb", "side");
    writeFileSync(at("a.txt"), "side\n");
    git("commit", "-qam", "side");
    git("checkout", "-q", "main");
    writeFileSync(at("a.txt"), "main\n");
    git("commit", "-qam", "main");
    answer = () => ({ approved: true, confirmUnshown: true });
    await run("git checkout -q side && git rebase --exec 'touch ran' main || true");
    expect(shown()).toMatch(/^M \.git\/HEAD ref: refs\/heads\/main → [\da-f]{12}$/m);
    expect(shown()).toMatch(/^A \.git\/rebase-merge\/git-rebase-todo$/m);
    expect(shown()).toContain("+exec touch ran");
    expect(existsSync(at(".git/rebase-merge/git-rebase-todo"))).toBe(true);
    git("rebase", "--abort");
    expect(git("status", "--short", "--branch")).toMatch(/^## side$/m);
    const paths = "mkdir -p .git/rebase-merge && cp a.txt .git/rebase-merge/git-rebase-todo && rm a.txt";
    const more = "echo /elsewhere > .git/objects/info/alternates; ln -s /etc .git/logs/link; cp /bin/true .git/index.d";
    await run(`${paths}; ${more}; echo 'exec id' > .git/refs/heads/odd`, {}, "call-2");
    expect(shown(1)).toMatch(/^A \.git\/rebase-merge\/git-rebase-todo$/m);
    expect(shown(1)).toContain("+side");
    expect(shown(1)).toContain("+/elsewhere");
    expect(shown(1)).toContain("A .git/logs/link -> /etc");
    expect(shown(1)).toContain("+exec id");
    expect(asked[1]?.unseen).toContain("the content of .git/index.d");
  });

  test("lists its temporary files in the whole", async () => {
    let text = "";
    answer = async ({ id }) => {
      ({ text } = await haft.approvals.whole(id));
      return { approved: false };
    };
    await run("echo x > /tmp/kept.txt; mkdir /tmp/d; ln -s a.txt '/tmp/d/odd name'; echo y > y");
    expect(text).toMatch(/^A y$/m);
    expect(text).toMatch(/^A \/tmp\/kept\.txt$/m);
    expect(text).toMatch(/^A "\/tmp\/d\/odd name" -> a\.txt$/m);
  });

  test("cannot leave protected files, and says so", async () => {
    execFileSync("git", ["init", "-q"], { cwd: folder });
    const result = await run(
      "mkdir .vscode && echo x > .vscode/tasks.json; git init -q inner; echo x > inner/.git/hooks/pre-commit; echo y > y",
    );
    expect(shown()).toContain("it changed protected files, which stay unchanged: .vscode, inner/.git/hooks/pre-commit");
    expect(JSON.stringify(result)).toContain("protected files");
    expect(existsSync(at(".vscode"))).toBe(false);
    expect(existsSync(at("inner/.git/HEAD"))).toBe(true);
    expect(existsSync(at("inner/.git/hooks/pre-commit"))).toBe(false);
    expect(read("y")).toBe("y\n");
  });

  test("reaches nothing outside before the approval", async () => {
    const base = join(folder, "..");
    writeFileSync(join(base, "outside"), "outside");
    writeFileSync(join(base, "state-secret"), "never shown");
    mkdirSync(join(base, "state"), { recursive: true });
    writeFileSync(join(base, "state/secret"), "never shown");
    let connections = 0;
    const server = createServer((socket) => (connections++, socket.destroy())).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    answer = () => ({ approved: false });
    const views = join(process.env["HAFT_STATE_DIR"] ?? "/nonexistent", "sandbox/views");
    await run(
      `cat ${base}/state/secret ${base}/state-secret; echo x > ${base}/outside; chmod 777 ${base}/outside; ` +
        `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1; ls ${views}; kill -9 ${process.pid}; mount -t tmpfs none .; echo reached the end`,
    );
    server.close();
    expect(shown()).toContain("reached the end");
    expect(shown()).not.toContain("never shown");
    expect(shown()).not.toMatch(/^view-/m);
    expect(readFileSync(join(base, "outside"), "utf8")).toBe("outside");
    expect(statSync(join(base, "outside")).mode & 0o777).not.toBe(0o777);
    expect(connections).toBe(0);
  });

  test("does not show secrets in its differences", async () => {
    answer = () => ({ approved: true, confirmUnshown: true });
    await run("echo TOKEN=$((40 + 2)) > src/.env.local");
    expect(asked[0]?.unseen).toContain("the content of src/.env.local");
    expect(shown()).not.toContain("TOKEN=42");
    expect(shown()).toContain("A src/.env.local (a secret: its content is not shown)");
    expect(read("src/.env.local")).toBe("TOKEN=42\n");
    await undo.undoCall("call-1");
    expect(existsSync(at("src/.env.local"))).toBe(false);
  });

  test.for([
    ["touch started && sleep 1", {}, "it waits or runs for long"],
    ["cat > x", { pty: true, timeout: 300 }, "it is interactive"],
    ["touch x", { run_in_background: true }, "it continues in the background"],
    ["mkfifo pipe", {}, "it works with sockets, pipes or devices"],
    ["touch started; node -e 'for(;;);'", { timeout: 300 }, "it did not end within 0.3 s"],
  ] as const)("says why %j is not previewed", async ([command, more, why]) => {
    const before = picture();
    answer = () => ({ approved: false });
    await run(command, more);
    expect(shown()).toContain(`Its effects are not known before it runs: ${why}`);
    expect(picture()).toEqual(before);
  });

  test.each(["curl example.com > x", "npm install left-pad"])("says what %j lacks, and no preview", async (command) => {
    const before = picture();
    answer = () => ({ approved: false });
    await run(command, {});
    const lacks = "It needs the network, which it will not have: expect it to fail.";
    expect(shown()).toContain(`${lacks} Its effects are not known before it runs.`);
    expect(picture()).toEqual(before);
  });

  test("runs for real after the approval if it could not be previewed", async () => {
    await run("mkfifo pipe && echo done > x");
    expect(lstatSync(at("pipe")).isFIFO()).toBe(true);
    expect(read("x")).toBe("done\n");
  });

  describe("in several processes", () => {
    let base: string;
    let program: string;

    beforeAll(async () => {
      base = temporaryFolder();
      chmodSync(base, 0o755);
      cpSync(join(ROOT, "native"), join(base, "native"), { recursive: true });
      program = await bundleProgram("test/sandbox/effects.program.ts", join(base, "out"));
    }, 60_000);

    const start = (mode: string, command: string, more: string[] = [], as: string[] = []) => {
      const [file = "", ...args] = [...as, process.execPath, program, mode, folder, stateFolder(), command, ...more];
      return spawnSync(file, args, { encoding: "utf8", env: { PATH: process.env["PATH"], HAFT_STATE_DIR: base } });
    };
    const stateFolder = (): string => join(folder, "../state");

    test("is applied by another process than the one that asked", async () => {
      await haft.shutdown();
      const { stdout, stderr } = start("ask", "date +%N > time.txt; echo $RANDOM");
      expect(JSON.parse(stdout || JSON.stringify({ stderr }))).toMatchObject({ status: "pending" });
      expect(existsSync(at("time.txt"))).toBe(false);
      const host = await openHaft(folder, { stateFolder: stateFolder(), home: folder });
      const [approval] = await host.haft.approvals.list();
      const result = await host.haft.approvals.approve(approval!.id);
      const text = textOf(approval?.preview?.content ?? []);
      expect(result).toMatchObject({ status: "completed", details: { previewed: true } });
      expect(text).toContain(`+${read("time.txt").trim()}`);
      expect(approval?.preview?.output).toContain(outputOf(result).trim());
      await host.close();
    });

    test("is rolled back if the process is killed while it applies the effects", async () => {
      await (await openStore({ stateFolder: stateFolder() })).close();
      const before = picture();
      const killed = start("kill", "echo 1 >> a.txt; mv src/b.txt c.txt; mkdir d; echo 2 > d/e", ["recorded3"]);
      expect(killed.signal).toBe("SIGKILL");
      expect(picture()).not.toEqual(before);
      const host = await openHaft(folder, { stateFolder: stateFolder(), home: folder });
      expect(host.warnings).toContainEqual(expect.stringMatching(/was killed while exec .*was rolled back/));
      await host.close();
      expect(picture()).toEqual(before);
    });

    test.runIf(process.geteuid?.() === 0)("works for an ordinary user", () => {
      for (const path of ["..", ".", "src", "a.txt", "src/b.txt", "src/run.sh", ".env"])
        chownSync(at(path), 65534, 65534);
      const before = picture();
      const as = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "env",
        `HAFT_STATE_DIR=${at("../state")}`,
      ];
      const command =
        "mv src x && mkdir src && echo new > src/n; echo three >> a.txt; chmod 600 a.txt; git init -q inner; id -u";
      const { stdout, stderr } = start("run", command, [], as);
      const found = JSON.parse(stdout || JSON.stringify({ stderr }));
      expect(found).toMatchObject({
        uid: 65534,
        result: { status: "completed", details: { previewed: true, output: "65534\n" } },
      });
      expect(JSON.stringify(found.shown)).toContain("R src/b.txt -> x/b.txt");
      expect(found.undone.paths).toContain("a.txt");
      expect(picture()).toEqual(before);
    });
  });
});
