import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { Guard, guardedInRepositories } from "./guard.ts";
import { WorkspaceScan } from "./workspace-scan.ts";

const PLAIN = "[core]\n\tbare = false\n";
let folder: string;
let kept: string;
const at = (...names: string[]): string => join(folder, ...names);
const read = (name: string): string => readFileSync(at(name), "utf8");

beforeEach(() => {
  folder = temporaryFolder("haft-guard-");
  kept = temporaryFolder("haft-kept-");
  for (const name of [".git/hooks", ".git/objects", ".vscode", "sub"]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at(".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(at(".git/config"), PLAIN);
  writeFileSync(at(".git/hooks/pre-commit"), "mine", { mode: 0o755 });
  writeFileSync(at(".vscode/settings.json"), "{}");
  writeFileSync(at("sub/.mcp.json"), "{}");
});

function guard(isProtected = false): Guard {
  const scan = new WorkspaceScan({ policy: createPathPolicy({ workspace: folder }) });
  scan.refresh();
  const guarded = [...scan.guarded, ...guardedInRepositories(scan.repositories)];
  return new Guard({
    scan,
    guarded,
    repositories: scan.repositories,
    isProtected,
    mayWrite: () => true,
    keepIn: () => kept,
  });
}

test("an unchanged workspace gives an empty report", () => {
  expect(guard().finish()).toEqual({ restored: [], removed: [] });
});

test("changed and deleted files are restored with their mode, and what replaced them is kept", () => {
  const guarding = guard();
  writeFileSync(at(".git/hooks/pre-commit"), "evil");
  writeFileSync(at(".git/config"), "[core]\n\tfsmonitor = evil\n");
  chmodSync(at("sub/.mcp.json"), 0o777);
  rmSync(at(".vscode"), { recursive: true });
  const { restored, keptIn } = guarding.finish();
  expect(restored.toSorted()).toEqual(
    [".git/config", ".git/hooks/pre-commit", ".vscode", ".vscode/settings.json", "sub/.mcp.json"].map((name) =>
      at(name),
    ),
  );
  expect([read(".git/hooks/pre-commit"), read(".git/config"), read(".vscode/settings.json")]).toEqual([
    "mine",
    PLAIN,
    "{}",
  ]);
  expect(statSync(at(".git/hooks/pre-commit")).mode & 0o777).toBe(0o755);
  expect(readFileSync(join(keptIn ?? "", at(".git/hooks/pre-commit")), "utf8")).toBe("evil");
});

test("new hooks, settings and agent files are removed, also if existing ones are protected by the engine", () => {
  for (const isProtected of [false, true]) {
    const guarding = guard(isProtected);
    if (!isProtected) writeFileSync(at(".git/hooks/post-merge"), "evil");
    writeFileSync(at(".git/config.worktree"), "evil");
    mkdirSync(at("sub/.claude"));
    const { removed } = guarding.finish();
    expect(removed).toEqual(expect.arrayContaining([at(".git/config.worktree"), at("sub/.claude")]));
    expect(readdirSync(at(".git/hooks"))).toEqual(["pre-commit"]);
  }
});

test("a new repository stays, without hooks and without a configuration that names programs", () => {
  const guarding = guard();
  for (const [name, config] of [
    ["plain", PLAIN],
    ["evil", "[core]\n\tfsmonitor = evil\n"],
  ] as const) {
    for (const part of ["hooks", "objects"]) mkdirSync(at(name, ".git", part), { recursive: true });
    writeFileSync(at(name, ".git/HEAD"), "ref: refs/heads/main\n");
    writeFileSync(at(name, ".git/config"), config);
    writeFileSync(at(name, ".git/hooks/pre-push.sample"), "");
    writeFileSync(at(name, ".git/hooks/pre-push"), "evil");
  }
  guarding.finish();
  expect(existsSync(at("plain/.git/config"))).toBe(true);
  expect(existsSync(at("evil/.git/config"))).toBe(false);
  expect(readdirSync(at("plain/.git/hooks"))).toEqual(["pre-push.sample"]);
});

test("a link in place of a folder redirects nothing", () => {
  const outside = temporaryFolder("haft-outside-");
  mkdirSync(join(outside, ".vscode"));
  writeFileSync(join(outside, ".mcp.json"), "theirs");
  writeFileSync(join(outside, "other"), "theirs");
  const guarding = guard();
  rmSync(at("sub"), { recursive: true });
  symlinkSync(outside, at("sub"));
  rmSync(at(".vscode"), { recursive: true });
  symlinkSync(outside, at(".vscode"));
  guarding.finish();
  expect(readdirSync(outside).toSorted()).toEqual([".mcp.json", ".vscode", "other"]);
  expect(readFileSync(join(outside, ".mcp.json"), "utf8")).toBe("theirs");
  expect(read(".vscode/settings.json")).toBe("{}");
});

test("a folder that was moved or deleted as a whole is not restored in parts", () => {
  const guarding = guard();
  renameSync(at(".git"), at("moved"));
  rmSync(at("sub"), { recursive: true });
  expect(guarding.finish()).toEqual({ restored: [], removed: [] });
  expect(readdirSync(folder).toSorted()).toEqual([".vscode", "moved"]);
});

test("a protected file that was changed under a further name is restored, also with mounts", () => {
  linkSync(at(".git/config"), at("further"));
  const watching = guard(true);
  writeFileSync(at("further"), "[core]\n\tfsmonitor = ./evil\n");
  expect(watching.finish().restored).toEqual([at(".git/config")]);
  expect(read(".git/config")).toBe(PLAIN);
});
