import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { describe, expect, test } from "vitest";
import { openConfigFolders } from "./config-folders.fixture.ts";
import { initConfig } from "./init-config.ts";
import { removeLocalRule, saveLocalRule } from "./saved-rules.ts";
import { distrust } from "./trust.ts";

const rulesIn = async (folders: ReturnType<typeof openConfigFolders>) =>
  (await folders.load()).sources.find(({ origin }) => origin === "local")?.permissions;

describe("a saved rule", () => {
  test("has effect at once, and is kept for this user only, outside of the workspace", async () => {
    const folders = openConfigFolders();
    const rule = "Bash(git commit -m \"# 'x': y\":*)";
    const file = await saveLocalRule(folders.folder, "allow", rule, folders);
    const text = readFileSync(file, "utf8");
    expect(file).toBe(join(folders.stateFolder, "config.yml"));
    // A second time changes nothing.
    await saveLocalRule(folders.folder, "allow", rule, folders);
    expect(readFileSync(file, "utf8")).toBe(text);
    await saveLocalRule(folders.folder, "deny", "Read(./private/**)", folders);
    const { sources, untrusted } = await folders.load();
    expect(sources[0]).toMatchObject({ origin: "local", permissions: { allow: [rule], deny: ["Read(./private/**)"] } });
    expect(untrusted).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toMatch(/^# Rules that were answered/);
    expect(readdirSync(folders.folder)).toEqual([]);
  });

  test("leaves comments, order and the rest of the file as they are", async () => {
    const before =
      "# mine\ntools:\n  timeout: 5 # short\npermissions:\n  # asked for\n  deny:\n    - Edit(./x) # why\n  ask: []\n";
    const folders = openConfigFolders({ "state:config.yml": before });
    await saveLocalRule(folders.folder, "deny", "Edit(./y)", folders);
    await saveLocalRule(folders.folder, "ask", "Bash", folders);
    expect(readFileSync(join(folders.stateFolder, "config.yml"), "utf8")).toBe(
      before.replace("# why\n", "# why\n    - Edit(./y)\n").replace("ask: []", "ask: [ Bash ]"),
    );
    expect((await rulesIn(folders))?.deny).toEqual(["Edit(./x)", "Edit(./y)"]);
  });

  test("is trusted one by one: a rule that was written into the file is not", async () => {
    const folders = openConfigFolders({ "state:config.yml": "permissions:\n  allow: [Bash]\n" });
    expect(await rulesIn(folders)).toMatchObject({ allow: [] });
    await saveLocalRule(folders.folder, "allow", "Edit", folders);
    expect(await rulesIn(folders)).toMatchObject({ allow: ["Edit"] });
    await distrust(folders.folder, folders);
    expect(await rulesIn(folders)).toMatchObject({ allow: [] });
  });

  test("does not overwrite a broken file, is not written through a link, and is one line", async () => {
    const broken = openConfigFolders({ "state:config.yml": "permissions: [" });
    await expect(saveLocalRule(broken.folder, "deny", "Edit", broken)).rejects.toThrow("Not valid YAML");
    const odd = openConfigFolders({ "state:config.yml": "permissions: { deny: Bash }" });
    await expect(saveLocalRule(odd.folder, "deny", "Edit", odd)).rejects.toThrow("Must be a list");
    const linked = openConfigFolders();
    mkdirSync(join(linked.home, "elsewhere"));
    rmSync(linked.stateFolder, { recursive: true });
    symlinkSync(join(linked.home, "elsewhere"), linked.stateFolder);
    await expect(saveLocalRule(linked.folder, "deny", "Edit", linked)).rejects.toThrow("is a link");
    for (const rule of ["", " ", "a\nb", "a\0b"]) {
      await expect(saveLocalRule(odd.folder, "deny", rule, odd)).rejects.toThrow("one line of text");
    }
  });

  test("is not lost when three processes save at the same time", async () => {
    const folders = openConfigFolders();
    // A child needs plain JavaScript, beside a link to the installed packages.
    const root = fileURLToPath(new URL("../../", import.meta.url));
    symlinkSync(join(root, "node_modules"), join(folders.home, "node_modules"));
    const bundle = await rolldown({
      input: join(root, "src/config/saved-rules.ts"),
      platform: "node",
      external: (id) => !id.startsWith(".") && !isAbsolute(id),
    });
    await bundle.write({ file: join(folders.home, "local-rules.mjs"), format: "esm", codeSplitting: false });
    await bundle.close();
    const script = `const { saveLocalRule } = await import(${JSON.stringify(join(folders.home, "local-rules.mjs"))});
      const [folder, home, stateFolder, name] = process.argv.slice(1);
      for (let at = 0; at < 8; at += 1) await saveLocalRule(folder, "allow", "Bash(" + name + at + ")", { home, env: {}, stateFolder });`;
    const run = (name: string) =>
      new Promise<string>((resolve, reject) => {
        const child = spawn(process.execPath, [
          "--input-type=module",
          "-e",
          script,
          folders.folder,
          folders.home,
          folders.stateFolder,
          name,
        ]);
        let errors = "";
        child.stderr.on("data", (chunk: Buffer) => void (errors += chunk.toString()));
        child.on("error", reject);
        child.on("close", () => resolve(errors));
      });
    expect(await Promise.all(["a", "b", "c"].map(run))).toEqual(["", "", ""]);
    const expected = ["a", "b", "c"].flatMap((name) => Array.from({ length: 8 }, (_, at) => `Bash(${name}${at})`));
    expect((await rulesIn(folders))?.allow.toSorted()).toEqual(expected);
    expect((await folders.load()).untrusted).toEqual([]);
  });

  test("can be removed, alone and from its own file only", async () => {
    const folders = openConfigFolders();
    const file = await saveLocalRule(folders.folder, "allow", "Edit", folders);
    await saveLocalRule(folders.folder, "allow", "Bash(npm test)", folders);
    await saveLocalRule(folders.folder, "deny", "Edit", folders);
    const rule = { list: "allow", rule: "Edit", file } as const;
    expect(await removeLocalRule(folders.folder, { ...rule, file: "/elsewhere.yml" }, folders)).toBe(false);
    expect(await removeLocalRule(folders.folder, rule, folders)).toBe(true);
    expect(await removeLocalRule(folders.folder, rule, folders)).toBe(false);
    expect(await rulesIn(folders)).toMatchObject({ allow: ["Bash(npm test)"], deny: ["Edit"] });
  });

  test("takes its trust with it: the same rule of the project is not trusted", async () => {
    const folders = openConfigFolders({ "haft.config.yml": "permissions:\n  allow: [Edit, Bash]\n" });
    const file = await saveLocalRule(folders.folder, "allow", "Edit", folders);
    await saveLocalRule(folders.folder, "allow", "Bash", folders);
    const allowed = async () =>
      (await folders.load()).sources.map(({ origin, permissions }) => [origin, permissions.allow]);
    expect(await allowed()).toEqual([
      ["project", ["Edit", "Bash"]],
      ["local", ["Edit", "Bash"]],
    ]);
    await removeLocalRule(folders.folder, { list: "allow", rule: "Edit", file }, folders);
    expect(await allowed()).toEqual([
      ["project", ["Bash"]],
      ["local", ["Bash"]],
    ]);
  });

  test("does not wait for a dead process", async () => {
    const folders = openConfigFolders({ "state:config.yml": "{}" });
    const gone = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => gone.on("close", resolve));
    writeFileSync(join(folders.stateFolder, "config.yml.lock"), `${gone.pid}@${hostname()}`);
    expect(readFileSync(await saveLocalRule(folders.folder, "deny", "Edit", folders), "utf8")).toContain("Edit");
  });
});

describe("initConfig", () => {
  test("writes a file that is valid, needs no trust, and is never overwritten", async () => {
    const folders = openConfigFolders();
    expect(await initConfig(folders.folder)).toBe(join(folders.folder, "haft.config.yml"));
    const { value, warnings, untrusted, sources } = await folders.load();
    expect(value.tools).toEqual({ timeout: 30_000, maxConcurrent: 3 });
    expect(sources[0]!.permissions.deny).toEqual(["Read(./secrets/**)"]);
    expect([...warnings, ...untrusted]).toEqual([]);
    await expect(initConfig(folders.folder)).rejects.toThrow("already exists");
  });

  test("is still valid with everything in it uncommented", async () => {
    const folders = openConfigFolders();
    const file = await initConfig(folders.folder);
    const text = readFileSync(file, "utf8");
    folders.write({ "haft.config.yml": text.replace(/^(\s*)# (?=\s*(- )?\w+:( |$))/gm, "$1") });
    expect(readFileSync(file, "utf8")).toMatch(/^mcpServers:/m);
    expect(await folders.problems()).toEqual([]);
  });
});
