import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "./files.ts";
import { createPathPolicy, isSecretName, isSensitivePath } from "./path-policy.ts";

test("files with secret names, also behind a link, and everything outside are sensitive", () => {
  const base = temporaryFolder("haft-sensitive-");
  writeFileSync(join(base, ".env"), "KEY=1");
  symlinkSync(".env", join(base, "notes.txt"));
  const files = createFiles(createPathPolicy({ workspace: base, permitGlobs: [".env"], unrestricted: true }));
  const sensitive = (path: string) => isSensitivePath(files, path);
  for (const path of [".env", "deploy/id_rsa", "notes.txt", "/etc/hostname", "~/notes.md", "../beside"]) {
    expect([path, sensitive(path)]).toEqual([path, true]);
  }
  for (const path of ["src/a.ts", ".", "README.md", ".env.example", "id_rsa.pub"]) {
    expect([path, sensitive(path)]).toEqual([path, false]);
  }
});

test("a workspace inside a folder of secrets is not sensitive for that reason", () => {
  const workspace = join(temporaryFolder("haft-sensitive-"), ".ssh/project");
  mkdirSync(workspace, { recursive: true });
  const files = createFiles(createPathPolicy({ workspace }));
  expect(["a.ts", "missing/b.ts", "id_rsa"].map((path) => isSensitivePath(files, path))).toEqual([false, false, true]);
});

test("a secret name is recognised at any depth", () => {
  expect(["~/.ssh/config", "/home/a/.aws/credentials", "server.pem", ".npmrc", "//a/.npmrc"].every(isSecretName)).toBe(
    true,
  );
  expect(["package.json", "/usr/bin/node", "environment"].some(isSecretName)).toBe(false);
});
