import { appendFileSync, linkSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { ACCESS, handledRights, splitAround } from "./landlock.ts";
import { packageCaches, readableSystem, toolFolders, worktreeRepository } from "./profiles.ts";
import { WorkspaceScan } from "./workspace-scan.ts";

let folder: string;
let scan: WorkspaceScan;
const at = (...names: string[]): string => join(folder, ...names);
const secrets = (): string[] => [...scan.secrets].map((path) => path.slice(folder.length + 1)).sort();

beforeEach(() => {
  folder = temporaryFolder("haft-scan-");
  mkdirSync(at("src", "deep"), { recursive: true });
  for (const name of [".env", "src/a.txt", "src/deep/server.key", ".mcp.json"]) writeFileSync(at(name), name);
  scan = new WorkspaceScan({ policy: createPathPolicy({ workspace: folder }) });
  scan.refresh();
});

describe("a scan", () => {
  test("finds secrets and guarded paths at any depth", () => {
    mkdirSync(at(".vscode", "inner"), { recursive: true });
    mkdirSync(at("src", ".git"));
    scan.refresh();
    expect(secrets()).toEqual([".env", "src/deep/server.key"]);
    expect(scan.guarded).toEqual([at(".mcp.json"), at(".vscode")]);
    expect(scan.repositories).toEqual([at("src", ".git")]);
  });

  test("finds secrets also where nothing may be written", () => {
    const readOnly = new WorkspaceScan({
      policy: createPathPolicy({ workspace: folder, allowedPaths: [], readOnlyPaths: [folder] }),
    });
    readOnly.refresh();
    expect([...readOnly.secrets]).toContain(at(".env"));
  });

  test("notices a secret that is new, and reports no change without one", async () => {
    // Folders that have just changed are read again.
    await sleep(60);
    scan.refresh();
    const before = scan.version;
    scan.refresh();
    expect(scan.version).toBe(before);
    writeFileSync(at("src", "deep", ".env.local"), "new");
    scan.refresh();
    expect(scan.version).toBeGreaterThan(before);
    expect(secrets()).toEqual([".env", "src/deep/.env.local", "src/deep/server.key"]);
  });

  test("keeps a secret closed under a new name, in another folder and as a hard link", () => {
    renameSync(at(".env"), at("src", "harmless.txt"));
    scan.refresh();
    expect(secrets()).toEqual(["src/deep/server.key", "src/harmless.txt"]);
    linkSync(at("src", "harmless.txt"), at("second.txt"));
    scan.refresh();
    expect(secrets()).toContain("second.txt");
    unlinkSync(at("second.txt"));
    scan.refresh();
    expect(secrets()).not.toContain("second.txt");
  });

  test("finds a secret again in folders that are not scanned, and forgets one that was deleted", () => {
    mkdirSync(at("node_modules", "pkg"), { recursive: true });
    mkdirSync(at(".git"));
    linkSync(at("src", "deep", "server.key"), at(".git", "link"));
    renameSync(at(".env"), at("node_modules", "pkg", "moved"));
    scan.refresh();
    expect(secrets()).toEqual([".git/link", "node_modules/pkg/moved", "src/deep/server.key"]);
    linkSync(at("node_modules", "pkg", "moved"), at("node_modules", "pkg", "linked"));
    scan.refresh();
    expect(secrets()).toContain("node_modules/pkg/linked");
    for (const name of ["moved", "linked"]) unlinkSync(at("node_modules", "pkg", name));
    scan.refresh();
    expect(secrets()).toEqual([".git/link", "src/deep/server.key"]);
    expect(scan.inodes.size).toBe(1);
  });

  test("keeps a folder of keys closed under a new name, and a key that was moved out of it", () => {
    mkdirSync(at("keys", ".ssh"), { recursive: true });
    for (const name of ["one", "two"]) writeFileSync(at("keys", ".ssh", name), name);
    scan.refresh();
    renameSync(at("keys", ".ssh", "one"), at("src", "one.txt"));
    renameSync(at("keys", ".ssh"), at("keys", "plain"));
    scan.refresh();
    expect(secrets()).toEqual([".env", "keys/plain", "src/deep/server.key", "src/one.txt"]);
  });

  test("closes configurations of git with a password, also of submodules, when they get one", () => {
    mkdirSync(at("src", ".git", "modules", "lib"), { recursive: true });
    const configs = [at("src", ".git", "config"), at("src", ".git", "modules", "lib", "config")];
    for (const path of configs) writeFileSync(path, "[core]\n");
    scan.refresh();
    expect(secrets()).toEqual([".env", "src/deep/server.key"]);
    // In place: the times of its folder stay the same.
    for (const path of configs)
      appendFileSync(path, '[remote "origin"]\n\turl = https://user:password@host.example/x\n');
    scan.refresh();
    expect(secrets()).toEqual([".env", "src/.git/config", "src/.git/modules/lib/config", "src/deep/server.key"]);
  });

  test("closes further names that a secret has from the beginning", () => {
    linkSync(at(".env"), at("src", "copy.txt"));
    const fresh = new WorkspaceScan({ policy: createPathPolicy({ workspace: folder }) });
    fresh.refresh();
    expect([...fresh.secrets]).toContain(at("src", "copy.txt"));
  });
});

describe("rules around closed paths", () => {
  const closed = (...names: string[]) => ({ paths: new Set(names.map((name) => at(name))), inodes: new Set<string>() });
  const granted = (...names: string[]): string[] =>
    splitAround(folder, ACCESS.read, closed(...names))
      .rules.filter(({ access }) => access === ACCESS.read)
      .map(({ path }) => path.slice(folder.length + 1))
      .sort();

  test("give a folder without secrets as a whole", () => {
    expect(granted()).toEqual([""]);
    expect(splitAround(at("src"), ACCESS.read, closed(".env")).folders).toEqual([]);
  });

  test("give every entry beside the way to a secret, and show all names", () => {
    expect(granted(".env", "src/deep/server.key")).toEqual([".mcp.json", "src/a.txt"]);
    const { rules, folders } = splitAround(folder, ACCESS.read, closed("src/deep/server.key"));
    expect(rules[0]).toEqual({ path: folder, access: ACCESS.list, isFolder: true });
    expect(folders).toEqual([folder, at("src"), at("src", "deep")]);
  });

  test("follow no link: it would open its target", () => {
    symlinkSync(at(".env"), at("link"));
    expect(granted(".env")).not.toContain("link");
    expect(splitAround(at("link"), ACCESS.read, closed()).rules).toEqual([]);
  });

  test("close a folder that is itself closed", () => {
    expect(splitAround(at("src"), ACCESS.read, closed("src")).rules).toEqual([]);
  });
});

test("each version of Landlock refuses all rights that it knows", () => {
  expect([1, 2, 3, 4, 5, 7].map(handledRights)).toEqual([0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff]);
});

describe("what a confined program reads", () => {
  test("includes installations on the PATH, not the folders around them", () => {
    for (const name of [".tool/bin", ".local/bin", ".cargo/bin", ".ssh/bin"]) mkdirSync(at(name), { recursive: true });
    const path = [at(".tool/bin"), at(".local/bin"), at(".cargo/bin"), at(".ssh/bin"), folder, "relative"].join(":");
    const own = readableSystem({ home: folder, path }).filter((one) => one.startsWith(folder));
    expect(own.sort()).toEqual([at(".cargo/bin"), at(".local/bin"), at(".tool")]);
  });

  test("includes only caches that exist", () => {
    mkdirSync(at(".npm"));
    expect(packageCaches(folder)).toEqual([at(".npm")]);
  });

  test("includes the repository of a worktree only if it points back", () => {
    const common = temporaryFolder("haft-common-");
    const linked = join(common, ".git", "worktrees", "one");
    mkdirSync(linked, { recursive: true });
    writeFileSync(join(common, ".git", "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(at(".git"), `gitdir: ${linked}\n`);
    expect(worktreeRepository(folder)).toEqual([]);
    writeFileSync(join(linked, "gitdir"), `${at(".git")}\n`);
    expect(worktreeRepository(folder)).toEqual([join(common, ".git")]);
  });
});

test("of a project that is on the PATH only its programs are readable", () => {
  const home = at("home");
  for (const name of [
    "project/bin",
    "project/src",
    ".tool/bin",
    "repository/bin",
    "repository/.git",
    "app/node_modules/.bin",
  ])
    mkdirSync(join(home, name), { recursive: true });
  writeFileSync(join(home, "project", ".env"), "secret");
  const path = ["project/bin", ".tool/bin", "repository/bin", "app/node_modules/.bin"]
    .map((name) => join(home, name))
    .join(":");
  const found = toolFolders({ home, path }).filter((one) => one.startsWith(home));
  expect(found).toEqual(["project/bin", ".tool", "repository/bin", "app/node_modules"].map((name) => join(home, name)));
});
