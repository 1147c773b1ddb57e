import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import {
  checkPath,
  createPathPolicy,
  deniedOutside,
  describeAllowed,
  containsRoot,
  isDeniedByOwner,
  isPathAllowed,
  narrow,
  showPath,
} from "./path-policy.ts";

let base: string;
let workspace: string;

beforeEach(() => {
  base = temporaryFolder("haft-policy-");
  workspace = join(base, "ws");
  mkdirSync(join(workspace, "sub"), { recursive: true });
  mkdirSync(join(base, "shared"));
});

const reasonOf = (policy: ReturnType<typeof createPathPolicy>, path: string, operation: "read" | "write" = "read") =>
  checkPath(policy, path, operation)?.reason ?? "allowed";

describe("allowed paths", () => {
  it("default to the workspace", () => {
    const policy = createPathPolicy({ workspace });
    expect(reasonOf(policy, workspace)).toBe("allowed");
    expect(reasonOf(policy, join(workspace, "a/b"))).toBe("allowed");
    expect(reasonOf(policy, base)).toBe("outside");
    expect(reasonOf(policy, `${workspace}-evil/a`)).toBe("outside");
    expect(reasonOf(policy, `${workspace} /a`)).toBe("outside");
  });

  it("are empty for an empty list, and an empty entry is not the current directory", () => {
    expect(reasonOf(createPathPolicy({ workspace, allowedPaths: [] }), workspace)).toBe("outside");
    expect(reasonOf(createPathPolicy({ workspace, allowedPaths: [""] }), process.cwd())).toBe("outside");
  });

  it("are relative to the workspace, with or without a trailing slash, and resolved once", () => {
    const policy = createPathPolicy({ workspace, allowedPaths: ["sub/", "../shared"] });
    expect(reasonOf(policy, join(workspace, "sub/a"))).toBe("allowed");
    expect(reasonOf(policy, join(workspace, "subway"))).toBe("outside");
    expect(reasonOf(policy, join(base, "shared/a"))).toBe("allowed");
    expect(reasonOf(policy, workspace)).toBe("outside");
  });

  it("follow a link that is a root", () => {
    symlinkSync(workspace, join(base, "alias"));
    expect(createPathPolicy({ workspace: join(base, "alias") }).workspace).toBe(workspace);
  });

  it("can be read only; the deepest matching path decides", () => {
    const policy = createPathPolicy({ workspace, allowedPaths: ["sub"], readOnlyPaths: ["..", "sub/vendor"] });
    expect(reasonOf(policy, join(base, "shared/a"), "read")).toBe("allowed");
    expect(reasonOf(policy, join(base, "shared/a"), "write")).toBe("read_only");
    expect(reasonOf(policy, join(workspace, "sub/a"), "write")).toBe("allowed");
    expect(reasonOf(policy, join(workspace, "sub/vendor/a"), "write")).toBe("read_only");
  });

  it("are read only if the same folder is listed as both", () => {
    const policy = createPathPolicy({ workspace, allowedPaths: ["sub"], readOnlyPaths: ["sub"] });
    expect(reasonOf(policy, join(workspace, "sub/a"))).toBe("allowed");
    expect(reasonOf(policy, join(workspace, "sub/a"), "write")).toBe("read_only");
  });

  it("can be everything except kernel and device trees and protected files", () => {
    const policy = createPathPolicy({ workspace, unrestricted: true });
    expect(reasonOf(policy, "/usr/share/doc", "write")).toBe("allowed");
    for (const path of ["/proc", "/proc/self/environ", "/sys/kernel", "/dev/sda"])
      expect(reasonOf(policy, path)).toBe("special");
    expect(reasonOf(policy, "/dev/shm/a", "write")).toBe("allowed");
    expect(reasonOf(policy, "/root/.ssh/id_rsa")).toBe("protected");
    expect(reasonOf(policy, "/etc/shadow")).toBe("protected");
  });
});

describe("narrowing", () => {
  it("only removes", () => {
    const policy = createPathPolicy({ workspace });
    const narrowed = narrow(policy, ["sub", "/", join(base, "shared")]);
    expect(reasonOf(narrowed, join(workspace, "other"))).toBe("allowed");
    expect(reasonOf(narrowed, join(base, "shared/a"))).toBe("outside");
    const twice = narrow(narrowed, ["sub"]);
    expect(reasonOf(twice, join(workspace, "sub/a"), "write")).toBe("allowed");
    expect(reasonOf(twice, join(workspace, "other"))).toBe("outside");
    expect(reasonOf(narrow(twice, ["."]), join(workspace, "other"))).toBe("outside");
    expect(reasonOf(narrow(policy, []), workspace)).toBe("outside");
    expect(narrow(policy, undefined)).toBe(policy);
  });

  it("keeps a read-only path read only", () => {
    const policy = createPathPolicy({ workspace, readOnlyPaths: ["../shared"] });
    expect(reasonOf(narrow(policy, ["../shared"]), join(base, "shared/a"), "write")).toBe("read_only");
  });
});

describe("private folders", () => {
  it("are closed for reading and writing in any spelling, and cannot be permitted", () => {
    const own = join(base, "Own");
    const policy = createPathPolicy({ workspace, unrestricted: true, privatePaths: [own], permitGlobs: ["**", own] });
    for (const path of [own, join(own, "state/a.db"), join(base, "oWN/a")]) {
      expect(checkPath(policy, path, "read")).toEqual({ reason: "protected", glob: own });
      expect(reasonOf(policy, path, "write")).toBe("protected");
    }
    expect(reasonOf(policy, join(base, "Owner/a"), "write")).toBe("allowed");
    expect(reasonOf(policy, base)).toBe("allowed");
  });

  it("are listed without those inside another one, and neither they nor what holds them is deleted", () => {
    const own = join(base, "own");
    const policy = createPathPolicy({ workspace, privatePaths: [join(own, "state"), own, own, `${own}-2`] });
    expect(policy.privatePaths).toEqual([own, `${own}-2`]);
    expect([own, base, join(own, "state")].map((path) => containsRoot(policy, path))).toEqual([true, true, false]);
  });
});

describe("what the owner denies", () => {
  it("is known apart from the default rules", () => {
    const policy = createPathPolicy({ workspace, denyGlobs: ["*.csv"], permitGlobs: ["open.csv"] });
    const answers = ["a.csv", "open.csv", ".env", "a.txt"].map((name) =>
      isDeniedByOwner(policy, join(workspace, name)),
    );
    expect(answers).toEqual([true, false, false, false]);
    expect(isDeniedByOwner(createPathPolicy({ workspace }), join(workspace, ".env"))).toBe(false);
  });

  it("outside the workspace is named by its fixed folder, once", () => {
    const shared = join(base, "shared");
    const denyGlobs = ["*.csv", "sub/x", `${shared}/*.key`, `${shared}/*.pem`, join(workspace, "sub/*"), "/*.iso"];
    expect(deniedOutside(createPathPolicy({ workspace, denyGlobs }))).toEqual([shared, "/"]);
  });

  it("may be named from the home folder, or by a path that leaves the workspace", () => {
    const denyGlobs = ["~/notes.txt", "../shared/*.key", "../other"];
    const policy = createPathPolicy({ workspace, unrestricted: true, denyGlobs });
    const denied = [join(homedir(), "notes.txt"), join(base, "shared/a.key"), join(base, "other/a")];
    for (const path of denied) expect(reasonOf(policy, path)).toBe("protected");
    expect(reasonOf(policy, join(workspace, "notes.txt"))).toBe("allowed");
    expect(reasonOf(policy, join(base, "shared/a.txt"))).toBe("allowed");
  });
});

describe("descriptions for a model", () => {
  it("of a policy without limits say so", () => {
    expect(describeAllowed(createPathPolicy({ workspace, unrestricted: true }))).toBe("every path");
  });

  it("name the workspace, and other roots by their paths, with read-only roots marked", () => {
    const policy = createPathPolicy({ workspace, allowedPaths: [".", "../shared"], readOnlyPaths: ["sub"] });
    expect(describeAllowed(policy)).toBe(
      `"." (the workspace), ${JSON.stringify(join(base, "shared"))}, "sub" (read only)`,
    );
    expect(describeAllowed(narrow(policy, ["sub", "/etc"]))).toBe(`"sub" (read only)`);
    expect(describeAllowed(narrow(policy, []))).toBe("none");
    expect(showPath(policy, join(workspace, "sub/a"))).toBe("sub/a");
    expect(showPath(policy, workspace)).toBe(".");
  });

  it("containsRoot finds folders that contain a root", () => {
    const policy = createPathPolicy({ workspace, allowedPaths: ["sub"] });
    expect(containsRoot(policy, workspace)).toBe(true);
    expect(containsRoot(policy, join(workspace, "sub"))).toBe(true);
    expect(containsRoot(policy, base)).toBe(true);
    expect(containsRoot(policy, join(workspace, "sub/deeper"))).toBe(false);
  });
});

describe("deny rules", () => {
  it("apply to absolute paths, through links in their fixed part, and override allowed paths", () => {
    symlinkSync(workspace, join(base, "alias"));
    const policy = createPathPolicy({ workspace, denyGlobs: [join(base, "alias/sub"), join(base, "alias/*/x?.txt")] });
    expect(reasonOf(policy, join(workspace, "sub"))).toBe("protected");
    expect(reasonOf(policy, join(workspace, "sub/deep/er"))).toBe("protected");
    expect(reasonOf(policy, join(workspace, "other/x1.txt"))).toBe("protected");
    expect(reasonOf(policy, join(workspace, "other/x.txt"))).toBe("allowed");
  });

  it("apply below the workspace, so a workspace inside a protected folder is usable", () => {
    const inside = join(base, ".claude/worktrees/one");
    mkdirSync(inside, { recursive: true });
    const policy = createPathPolicy({ workspace: inside });
    expect(reasonOf(policy, join(inside, "a.ts"), "write")).toBe("allowed");
    expect(reasonOf(policy, join(inside, ".claude/settings.json"), "write")).toBe("protected");
  });

  it("apply to the whole file system if that is the workspace", () => {
    const policy = createPathPolicy({ workspace: "/", denyGlobs: ["data/secret"] });
    expect(reasonOf(policy, "/")).toBe("allowed");
    expect(reasonOf(policy, "/data/secret/a")).toBe("protected");
    expect(reasonOf(policy, "/xdata/secret/a")).toBe("allowed");
  });

  it("do not apply to what the owner permits", () => {
    const policy = createPathPolicy({ workspace, permitGlobs: [".vscode/settings.json", ".npmrc"] });
    expect(reasonOf(policy, join(workspace, ".vscode/settings.json"), "write")).toBe("allowed");
    expect(reasonOf(policy, join(workspace, "packages/a/.npmrc"))).toBe("allowed");
    expect(reasonOf(policy, join(workspace, ".vscode/tasks.json"), "write")).toBe("protected");
  });
});

describe("isPathAllowed", () => {
  it("compares whole names, not prefixes", () => {
    expect(isPathAllowed("/workspace/a", ["/workspace"])).toBe(true);
    expect(isPathAllowed("/workspace", ["/workspace/"])).toBe(true);
    expect(isPathAllowed("/workspace-evil/a", ["/workspace"])).toBe(false);
    expect(isPathAllowed("/workspace/../etc/passwd", ["/workspace"])).toBe(false);
    expect(isPathAllowed("/any/where", ["/"])).toBe(true);
  });

  it("is false for an empty path, a NUL, no roots and empty roots", () => {
    expect(isPathAllowed("", ["/"])).toBe(false);
    expect(isPathAllowed("/workspace/a\0b", ["/workspace"])).toBe(false);
    expect(isPathAllowed("/workspace", [])).toBe(false);
    expect(isPathAllowed(process.cwd(), ["", "/elsewhere"])).toBe(false);
    expect(isPathAllowed(undefined as unknown as string, ["/"])).toBe(false);
  });

  it("defaults to the current directory", () => {
    expect(isPathAllowed("a/b")).toBe(true);
    expect(isPathAllowed("/etc/passwd")).toBe(false);
  });

  it("follows links, including dangling ones", () => {
    writeFileSync(join(base, "secret"), "s");
    symlinkSync("../secret", join(workspace, "out"));
    symlinkSync("../new", join(workspace, "dangling"));
    symlinkSync("sub", join(workspace, "in"));
    symlinkSync("loop", join(workspace, "loop"));
    const answers = ["out", "dangling", "in/new", "dangling/../sub", "loop"].map((name) =>
      isPathAllowed(join(workspace, name), [workspace]),
    );
    expect(answers).toEqual([false, false, true, true, false]);
  });
});

describe("the configuration of a repository", () => {
  const write = (text: string): string => {
    mkdirSync(join(workspace, ".git"));
    const path = join(workspace, ".git/config");
    writeFileSync(path, text);
    return path;
  };

  it.each([
    '[remote "origin"]\n\turl = https://me:s3cret@example.com/a.git\n',
    '[remote "origin"]\n\turl = https://ghp_0123456789abcdefghij@example.com/a.git\n',
    '[http "https://example.com/"]\n\textraheader = AUTHORIZATION: basic eDp5\n',
  ])("is a secret if it contains a password: %j", (text) => {
    const path = write(text);
    expect(reasonOf(createPathPolicy({ workspace }), path)).toBe("protected");
    expect(reasonOf(createPathPolicy({ workspace, permitGlobs: [".git/config"] }), path)).toBe("allowed");
  });

  it("can be read if it contains none", () => {
    const path = write('[remote "origin"]\n\turl = git@example.com:a/b.git\n\turl = https://me@example.com/a.git\n');
    expect(reasonOf(createPathPolicy({ workspace }), path)).toBe("allowed");
    expect(reasonOf(createPathPolicy({ workspace }), path, "write")).toBe("protected");
  });
});
