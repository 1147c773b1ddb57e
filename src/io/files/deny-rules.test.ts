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
    ".npmrc~",
    ".npmrc.swp",
    "credentials.json.bak",
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

  it.each([
    ["*.tar.gz", "a/b.c.tar.gz", "a/b.tar.gz.txt"],
    ["*.key", "x.y.key", "x.keys"],
    ["a?c", "x/abc", "x/ac"],
    ["{one/two,three/four}", "x/three/four/y", "x/three"],
    ["*/keys/*.txt", "a/keys/b.txt", "a/keys.txt"],
    ["/ws/*/keys", "a/keys/b", "a/b/keys"],
    ["./private/keys/", "private/keys/a", "private/key"],
    ["a+(b)", "x/abb", "x/a"],
    ["PRIVATE", "x/Private/a", "x/privat"],
    ["*.key", "x/.key", "x/key"],
    ["*secret", ".secret", "secrets"],
    ["a/*/keys", "a/.b/keys", "a/keys"],
    ["././private//", "private/a", "privates/a"],
  ])("%s matches %s and not %s", (glob, yes, no) => {
    expect(matches(glob, yes)).toBe(true);
    expect(matches(glob, no)).toBe(false);
  });

  it("is found next to rules of another form", () => {
    const rules = ["a/b", "{c/d,e/f}", "*.key", "g"].map((glob) => ({ glob, on: "all" as const }));
    const denials = compileDenials(rules);
    const denies = (below: string) => denials({ real: `/ws/${below}`, below }, "read");
    expect(["x/a/b", "c/d", "e/f/x", "a.key", "g/x"].map(denies)).toEqual([
      "a/b",
      "{c/d,e/f}",
      "{c/d,e/f}",
      "*.key",
      "g",
    ]);
    expect(["a", "c/f", "key", "gg"].map(denies)).toEqual([null, null, null, null]);
  });

  it("is for one operation or both, and is left out for what is permitted", () => {
    const path = { real: "/ws/a/b.key", below: "a/b.key" };
    const denied = (on: "read" | "write" | "all", permitted: string[] = []) =>
      (["read", "write"] as const).filter((each) => compileDenials([{ glob: "*.key", on }], permitted)(path, each));
    expect(denied("read")).toEqual(["read"]);
    expect(denied("write")).toEqual(["write"]);
    expect(denied("all")).toEqual(["read", "write"]);
    for (const permitted of ["b.key", "a", "a/b.key", "/ws/a"]) expect(denied("all", [permitted])).toEqual([]);
    for (const permitted of ["b", "c.key", "/a/b.key"]) expect(denied("all", [permitted])).toHaveLength(2);
  });

  it("covers copies of a file only if it says so, and the copy of an exception is an exception", () => {
    const denies = (below: string, andCopies?: boolean) =>
      compileDenials([{ glob: "*.key", on: "all", except: ["public.key"], andCopies }])(
        { real: `/ws/${below}`, below },
        "read",
      ) !== null;
    for (const copy of ["a.key~", "a.key.bak", "folder.key.old/x"]) {
      expect([copy, denies(copy, true), denies(copy, false), denies(copy)]).toEqual([copy, true, false, false]);
    }
    expect(denies("a.key", false)).toBe(true);
    expect(denies("public.key~", true)).toBe(false);
    expect(denies("a.txt~", true)).toBe(false);
  });

  it("has exceptions with a slash, which are matched against the whole path", () => {
    const rule = compileDenials([{ glob: "*.key", on: "all", except: ["test/fixtures"] }]);
    const denies = (below: string) => rule({ real: `/ws/${below}`, below }, "read") !== null;
    expect([denies("test/fixtures/a.key"), denies("test/a.key"), denies("fixtures/a.key")]).toEqual([
      false,
      true,
      true,
    ]);
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
