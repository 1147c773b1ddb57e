import { describe, expect, it } from "vitest";
import { compileDenials, DEFAULT_DENY_RULES } from "./path-policy.ts";
import { foldName } from "./path-name.ts";

const denials = compileDenials(DEFAULT_DENY_RULES);
const deny = (below: string, operation: "read" | "write") => denials({ real: `/ws/${below}`, below }, operation);

describe("the default rules", () => {
  it.each([
    ".env",
    "packages/api/.env.local",
    ".env.production",
    "certs/server.pem",
    "deploy/id_rsa",
    "id_ed25519_work",
    ".ssh/config",
    "home/.aws/credentials",
    ".netrc",
    "sub/.npmrc",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".git-credentials",
    ".bash_history",
    ".haft/haft.sqlite",
    ".haft",
    ".haft/spill/call-1.txt",
    ".haft.migrated-2026-11-15/haft.db",
  ])("deny reading and writing %s", (path) => {
    expect(deny(path, "read")).not.toBeNull();
    expect(deny(path, "write")).not.toBeNull();
  });

  it.each([
    ".git/hooks/pre-commit",
    ".git/config",
    ".git",
    "vendor/lib/.git/config",
    "haft.config.ts",
    ".mcp.json",
    ".vscode/settings.json",
    ".bashrc",
    ".zshenv",
    ".gitmodules",
    ".ripgreprc",
    ".claude/settings.json",
  ])("deny writing but not reading %s", (path) => {
    expect(deny(path, "read")).toBeNull();
    expect(deny(path, "write")).not.toBeNull();
  });

  it.each([
    "src/env.ts",
    ".env.example",
    ".env.sample",
    "environment/.envoy",
    "id_rsa.pub",
    "src/git/hooks/a.ts",
    "aws/credentials",
    ".gitignore",
    ".github/workflows/ci.yml",
    "docs/.hafting",
    "keyboard.ts",
    "config.json",
  ])("do not affect %s", (path) => {
    expect(deny(path, "read")).toBeNull();
    expect(deny(path, "write")).toBeNull();
  });

  it.each([
    ".ENV",
    ".Git/Hooks/x",
    ".g\u200cit/config",
    ".\u{1d5c0}it/config",
    ".ﬁt/../.GIT/config",
    "\uff0egit/config",
    ".ſſh/id",
    ".\u00adssh/id",
    "HAFT.config.JSON",
    "a\nb/.git/config",
    "a\nb/.aws/credentials",
    ".netrc\u2060",
  ])("recognise the spelling %j", (path) => {
    expect(deny(path, "write")).not.toBeNull();
  });
});

describe("a rule", () => {
  const matches = (glob: string, below: string) =>
    compileDenials([{ glob, on: "all" }])({ real: `/ws/${below}`, below }, "read") !== null;

  it("without a slash matches the name at any depth and everything below", () => {
    expect(matches("secret", "a/secret/b")).toBe(true);
    expect(matches("secret*", "a/secrets.txt")).toBe(true);
    expect(matches("secret", "a/secrets")).toBe(false);
  });

  it("with a slash matches the path at any depth and everything below", () => {
    expect(matches("private/keys", "x/private/keys/a")).toBe(true);
    expect(matches("private/**", "private/a/b")).toBe(true);
    expect(matches("private/**/b", "private/x/y/b")).toBe(true);
    expect(matches("private/keys", "unprivate/keys")).toBe(false);
  });

  it("with a leading slash matches only the real path", () => {
    expect(matches("/ws/private", "private/a")).toBe(true);
    expect(matches("/private", "private/a")).toBe(false);
  });

  it("also matches literally, including brackets", () => {
    expect(matches("/ws/app/[id]", "app/[id]/page.tsx")).toBe(true);
    expect(matches("[id]", "app/[id]/page.tsx")).toBe(true);
  });

  it("has exceptions, which are matched against the same name", () => {
    const rule = compileDenials([{ glob: "*.key", on: "all", except: ["public.key"] }]);
    expect(rule({ real: "/ws/public.key", below: "public.key" }, "read")).toBeNull();
    expect(rule({ real: "/ws/public.key/a.key", below: "public.key/a.key" }, "read")).toBe("*.key");
    expect(rule({ real: "/ws/a.key", below: "a.key" }, "read")).toBe("*.key");
  });
});

describe("foldName", () => {
  it("gives one spelling to names that some file system treats as equal", () => {
    expect(foldName("Straße")).toBe(foldName("STRASSE"));
    expect(foldName("cafe\u0301")).toBe(foldName("CAFÉ"));
    expect(foldName("\u212aey")).toBe("key");
  });
});
