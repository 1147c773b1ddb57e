// What commands see of secrets, of denied paths and of the home folder, with the real sandbox of this machine.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type Approval, createHaft, textOf, type ToolResult } from "haft";
import { openWorkspace, type WorkspaceOptions } from "haft/workspace";
import { RuleSet } from "../../src/gate/permit/rules/rule-set.ts";
import { createFiles, type Files } from "../../src/io/files/files.ts";
import { createPathPolicy, type PathPolicyOptions } from "../../src/io/files/path-policy.ts";
import { openSandbox, type Sandbox } from "../../src/io/sandbox/sandbox.ts";
import { type FoundEngines, machineEngines } from "../../src/io/sandbox/self-test.ts";
import type { HiddenUse } from "../../src/io/sandbox/view.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { look, work, tests } = machineEngines();
const missing =
  look && work?.name === "namespaces" ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;

/** Not a word of it may be printed. */
const CANARY = "canary-3141592653";

describe.runIf(canRun("sandbox", missing))("a command", () => {
  let base: string;
  let folder: string;
  let home: string;
  const at = (...names: string[]): string => join(folder, ...names);

  beforeEach(() => {
    base = temporaryFolder();
    folder = join(base, "workspace");
    home = join(base, "home");
    for (const path of [at("private", "deep"), at("src", "inner"), join(home, ".ssh"), join(home, "tools", "bin")])
      mkdirSync(path, { recursive: true });
    writeFileSync(at(".env"), `TOKEN=${CANARY}\n`);
    writeFileSync(at("src", "server.key"), CANARY);
    writeFileSync(at("private", "plan.md"), CANARY);
    writeFileSync(at("private", "deep", "more.md"), CANARY);
    writeFileSync(at("src", "inner", "notes.md"), CANARY);
    writeFileSync(at("open.txt"), "open text\n");
    writeFileSync(join(home, ".ssh", "id_ed25519"), CANARY);
    writeFileSync(join(home, "letter.txt"), CANARY);
    writeFileSync(join(home, ".gitconfig"), "[user]\n\tname = shown\n");
  });

  const DENIED = ["private", "src/inner/notes.md"];

  function filesWith(options: Partial<PathPolicyOptions> = {}): Files {
    const privatePaths = [join(base, "state")];
    mkdirSync(join(base, "state"), { recursive: true });
    writeFileSync(join(base, "state", "haft.db"), CANARY);
    return createFiles(createPathPolicy({ workspace: folder, denyGlobs: DENIED, privatePaths, ...options }));
  }

  const engines = (name: "namespaces" | "landlock") => (): FoundEngines => ({
    look: look && { ...look, name },
    work: work && { ...work, name },
    tests: [],
  });

  async function inSandbox(
    sandbox: Sandbox,
    profile: "look" | "work" | "view",
    script: string,
  ): Promise<{ output: string; used?: HiddenUse }> {
    const command = ["/bin/sh", "-c", script];
    const options = { cwd: folder, terminal: false };
    const view = profile === "view" ? await sandbox.openView(command, options) : undefined;
    if (view && "why" in view) throw new Error(view.why);
    const { command: argv, env } =
      view ?? (await sandbox.confine(profile === "look" ? "look" : "work", command, options));
    const result = spawnSync(argv[0]!, argv.slice(1), {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, ...env },
    });
    const used = view?.used(result.stdout + result.stderr);
    await view?.close();
    return { output: result.stdout + result.stderr, used };
  }

  /** Every way that this test knows to what is at a path. */
  const waysTo = (path: string): string => {
    const absolute = join(folder, path);
    return [
      `cat ${path}`,
      `cat ${absolute} /proc/self/root${absolute} /proc/self/cwd/${path} /proc/1/root${absolute}`,
      `stat -c 'size %s' ${path}`,
      `ls -la ${path}`,
      `find ${path} -type f -size +0`,
      `ln -s ${absolute} /tmp/link && cat /tmp/link`,
      `ln ${path} hard && cat hard`,
      `mv ${path} moved && cat moved`,
      `cp -r ${path} copied && cat copied copied/*`,
      `tar cf - ${path} | cat`,
      `dd if=${path} bs=1 count=99`,
      `python3 -c 'import mmap,os; f=os.open("${path}", os.O_RDONLY); print(mmap.mmap(f, 0, prot=1).read())'`,
      `unshare -Urm sh -c 'umount ${absolute}; cat ${absolute}'`,
      `umount ${absolute}; cat ${absolute}`,
      `mount --bind / /mnt; cat /mnt${absolute}`,
      `exec 9< ${path}; cat /proc/self/fd/9`,
      `find / -xdev -inum $(stat -c %i ${path}) -exec cat {} + 2>/dev/null | head -c 999`,
    ].join("\n");
  };

  test.each(["namespaces", "landlock"] as const)(
    "that nobody approved reads no secret and nothing denied, with %s",
    async (name) => {
      linkSync(at(".env"), at("src", "harmless.txt"));
      symlinkSync("private", at("pl"));
      const sandbox = openSandbox({ files: filesWith(), engines: engines(name), home });
      const paths = [
        ".env",
        "src/server.key",
        "private/plan.md",
        "private/deep/more.md",
        "src/inner/notes.md",
        "src/harmless.txt",
        "pl/plan.md",
      ];
      const script = [
        ...paths.map((path) => waysTo(path)),
        `cat ${base}/state/haft.db ${home}/letter.txt ${home}/.ssh/*`,
      ].join("\n");
      for (const profile of name === "landlock" ? (["look"] as const) : (["look", "view"] as const)) {
        const { output } = await inSandbox(sandbox, profile, script);
        expect(output, profile).not.toContain(CANARY);
        // It ran, and it reads everything else.
        expect((await inSandbox(sandbox, profile, "cat open.txt; git config user.name")).output).toContain("open text");
      }
      sandbox.close();
    },
  );

  test("that nobody approved sees no size, no name in a hidden folder and no file of the home folder", async () => {
    const sandbox = openSandbox({ files: filesWith(), home });
    const script = `stat -c '%n %s' .env src/server.key src/inner/notes.md; ls -A private; ls ${home}/.ssh; stat -c %s ${home}/letter.txt ${base}/state/haft.db; cat ${home}/.gitconfig`;
    for (const profile of ["look", "view"] as const) {
      const { output } = await inSandbox(sandbox, profile, script);
      expect(output, profile).toMatch(/^\.env 0\nsrc\/server\.key 0\nsrc\/inner\/notes\.md 0\n/);
      expect(output, profile).not.toMatch(/plan\.md|deep|id_ed25519\n|^\d+$/m);
    }
    // With a home folder outside the folder for temporary files only its settings are left; see `coveredHome`.
    expect((await inSandbox(sandbox, "look", script)).output).toContain("name = shown");
    sandbox.close();
  });

  test.each(["namespaces", "landlock"] as const)(
    "under an approval reads the project's secrets, but nothing denied, with %s",
    async (name) => {
      symlinkSync("src/inner", at("way"));
      linkSync(at("private", "plan.md"), at("second.txt"));
      const sandbox = openSandbox({ files: filesWith(), engines: engines(name), home });
      const paths = ["private/plan.md", "private", "src/inner/notes.md", "way/notes.md", "second.txt"];
      const script = [
        ...paths.map((path) => waysTo(path)),
        "mv src elsewhere && cat elsewhere/inner/notes.md",
        "mv src/inner inner2 && cat inner2/notes.md",
        "echo changed > private/plan.md",
        "rm -rf private src/inner",
      ].join("\n");
      expect((await inSandbox(sandbox, "work", script)).output).not.toContain(CANARY);
      expect((await inSandbox(sandbox, "work", "cat .env")).output).toBe(`TOKEN=${CANARY}\n`);
      expect(readFileSync(at("private", "plan.md"), "utf8")).toBe(CANARY);
      expect(readFileSync(at("src", "inner", "notes.md"), "utf8")).toBe(CANARY);
      sandbox.close();
    },
  );

  test("does not read what is denied outside the workspace, or what became denied while it is open", async () => {
    const files = filesWith({ denyGlobs: ["/etc/hosts"] });
    const policies = { policy: files.policy, narrow: () => policies };
    const sandbox = openSandbox({ files: policies as unknown as Files, home });
    expect((await inSandbox(sandbox, "work", "cat /etc/hosts; cat private/plan.md")).output).toBe(CANARY);
    policies.policy = filesWith().policy;
    expect((await inSandbox(sandbox, "work", "cat private/plan.md")).output).not.toContain(CANARY);
    policies.policy = filesWith({ denyGlobs: [] }).policy;
    expect((await inSandbox(sandbox, "work", "cat private/plan.md")).output).toBe(CANARY);
    sandbox.close();
  });

  test("fails to write what is hidden from it, or the write is reported", async () => {
    const sandbox = openSandbox({ files: filesWith(), home });
    const attempts = ["echo x > PATH", "echo x >> PATH", "truncate -s 5 PATH", "chmod 777 PATH", "touch PATH"];
    for (const path of [".env", "private/plan.md", "private", "src/inner/notes.md"]) {
      for (const attempt of attempts) {
        const script = `${attempt.replace("PATH", path)} && echo done`;
        expect((await inSandbox(sandbox, "look", script)).output, script).not.toContain("done");
        const { output, used } = await inSandbox(sandbox, "view", script);
        expect(used?.secrets, script).toEqual(output.includes("done") ? [at(path)] : []);
      }
    }
    sandbox.close();
  });

  test("that is previewed reports every hidden path that it opens, and no other", async () => {
    const sandbox = openSandbox({ files: filesWith(), home });
    const quiet = await inSandbox(
      sandbox,
      "view",
      "ls -la . src; cat open.txt; stat .env; git status; test -e .env; find . -maxdepth 1",
    );
    expect(quiet.used).toEqual({ secrets: [], denied: [] });
    const secrets = await inSandbox(sandbox, "view", "cat .env; (sleep 0.1; cat src/server.key) & wait");
    expect(secrets.used).toEqual({ secrets: [at(".env"), at("src", "server.key")], denied: [] });
    const denied = await inSandbox(sandbox, "view", "ls private; cat src/inner/notes.md");
    expect(denied.used).toEqual({ secrets: [], denied: [at("private"), at("src", "inner", "notes.md")] });
    const much = await inSandbox(sandbox, "view", "i=0; while [ $i -lt 3000 ]; do : < .env; i=$((i+1)); done");
    expect(much.used?.secrets).toEqual([at(".env")]);
    sandbox.close();
  });

  async function ask(
    command: string,
    options: WorkspaceOptions & { rules?: object } = {},
  ): Promise<{ asked: Approval[]; result: ToolResult }> {
    const { rules, ...rest } = options;
    const asked: Approval[] = [];
    const workspace = openWorkspace(folder, { stateFolder: join(base, "state"), ...rest });
    const approver = async (approval: Approval) => (asked.push(approval), { approved: true, confirmUnshown: true });
    const haft = createHaft({ workspace, approver, rules });
    const result = await haft.execute("exec", { command }, { id: "call-1", caller: { session: "s1" } });
    await haft.shutdown();
    return { asked, result };
  }
  const outputOf = (result: ToolResult): string => (result as { details?: { output?: string } }).details?.output ?? "";

  test("whose preview used a secret is not applied: it runs after its approval", async () => {
    for (const [command, output] of [
      ["cat .env > copy.txt; cat copy.txt", `TOKEN=${CANARY}\n`],
      ["echo X=1 >> .env; tail -1 .env", "X=1\n"],
      ["chmod 600 .env; echo changed", "changed\n"],
      ["mv .env gone; cat gone", `TOKEN=${CANARY}\nX=1\n`],
    ] as const) {
      const { asked, result } = await ask(command);
      const { unshown, content } = asked[0]?.preview ?? {};
      expect(unshown, command).toBe(
        "It opened .env, which it may only read after approval. It will run again after approval; its effects are not known",
      );
      expect(textOf(content ?? [])).toBe("");
      expect(outputOf(result), command).toBe(output);
    }
    expect(existsSync(at(".env"))).toBe(false);
  });

  test("whose preview tried to use a denied path is shown with that", async () => {
    const { asked, result } = await ask("cat private/plan.md; echo new > new.txt", { denyGlobs: ["private"] });
    const { unshown, facts = [] } = asked[0]?.preview ?? {};
    expect(unshown).toBeUndefined();
    expect(facts.map(({ text }) => text)).toContain(
      "It tried to use private, which a rule denies: it saw nothing there, also not after approval.",
    );
    expect(result).toMatchObject({ details: { previewed: true } });
    expect(readFileSync(at("new.txt"), "utf8")).toBe("new\n");
  });

  test("is bound by the Read rules of a runtime, whatever else allows it, and by a rule that is added later", async () => {
    const read = 'node -e \'console.log(fs.readFileSync("private/plan.md", "utf8"))\'';
    const deny = ["Read(private/**)", "Read(src/**)", "Read(./.env)"];
    for (const rules of [
      { deny, allow: [`Bash(${read})`] },
      { deny, defaultMode: "bypassPermissions" },
    ]) {
      for (const command of [read, "grep -r canary .", "find . -type f | xargs cat"])
        expect(JSON.stringify(await ask(command, { rules })), command).not.toContain(CANARY);
    }
    const autoAllow = await ask(read, { rules: { deny }, sandbox: { autoAllow: true } });
    expect(JSON.stringify(autoAllow)).not.toContain(CANARY);
    const rules = new RuleSet([{ origin: "host", defaultMode: "bypassPermissions" }]);
    const haft = createHaft({ workspace: openWorkspace(folder, { stateFolder: join(base, "state") }), rules });
    expect(outputOf(await haft.execute("exec", { command: read }))).toContain(CANARY);
    rules.add("Read(private/**)", "deny", "later");
    expect(outputOf(await haft.execute("exec", { command: read }))).not.toContain(CANARY);
    await haft.shutdown();
  });

  test("that only reads says which names in its output are hidden", async () => {
    execFileSync("git", ["init", "-q"], { cwd: folder });
    execFileSync("git", ["add", "-f", ".env", "open.txt"], { cwd: folder });
    const { asked, result } = await ask("git status --short");
    expect(asked).toEqual([]);
    expect(textOf(result.content)).toContain("[hidden from this command, and shown to it as empty: .env]");
    const { result: quiet } = await ask("grep -rn text .");
    expect(textOf(quiet.content).trim()).toBe(
      "./open.txt:1:open text\n\n[hidden from this command, and shown to it as empty: .env, src/server.key]",
    );
  });

  test("with secret variables is not previewed, and gets none if nobody is asked", async () => {
    const workspace = openWorkspace(folder, { stateFolder: join(base, "state"), sandbox: { autoAllow: true } });
    const haft = createHaft({ workspace });
    workspace.environments.of("s1").set("API_TOKEN", CANARY);
    const free = await haft.execute("exec", { command: "printenv; true > x" }, { caller: { session: "s1" } });
    expect(free.status).toBe("completed");
    expect(outputOf(free)).not.toContain(CANARY);
    await haft.shutdown();
  });

  test("is bound by what became a secret or was renamed since", async () => {
    const sandbox = openSandbox({ files: filesWith(), home });
    await inSandbox(sandbox, "look", "true");
    renameSync(at(".env"), at("settings.txt"));
    writeFileSync(at("src", ".env.local"), CANARY);
    renameSync(at("private", "plan.md"), at("plan.txt"));
    const script = "cat settings.txt src/.env.local plan.txt";
    for (const profile of ["look", "view"] as const)
      expect((await inSandbox(sandbox, profile, script)).output, profile).not.toContain(CANARY);
    expect((await inSandbox(sandbox, "work", "cat plan.txt")).output).not.toContain(CANARY);
    sandbox.close();
  });
});
