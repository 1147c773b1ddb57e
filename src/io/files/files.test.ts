import { execFileSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmodSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import type { ToolError } from "../../core/error.ts";
import { anchorByDescriptor, anchorByName } from "./path-anchor.ts";
import { createFiles, type Files } from "./files.ts";
import { createPathPolicy, type PathPolicyOptions } from "./path-policy.ts";
import type { FileChange } from "./undo-store.ts";

const ANCHORINGS =
  process.platform === "linux"
    ? { "by descriptor": anchorByDescriptor, "by name": anchorByName }
    : { "by name": anchorByName };

describe.each(Object.entries(ANCHORINGS))("files anchored %s", (_, anchoring) => {
  let base: string;
  let workspace: string;
  let files: Files;
  let journal: { changes: FileChange[]; before(change: FileChange): Promise<void> };

  const filesWith = (options: Partial<PathPolicyOptions>) =>
    createFiles(createPathPolicy({ workspace, ...options }), { journal, anchoring });
  const put = (name: string, content = "INSIDE\n") => {
    mkdirSync(join(workspace, name, ".."), { recursive: true });
    writeFileSync(join(workspace, name), content);
  };
  const read = (name: string) => readFileSync(join(workspace, name), "utf8");
  const write = (name: string, content: string, options?: Parameters<Files["writeFileAtomic"]>[2]) =>
    files.writeFileAtomic(name, Buffer.from(content), options);
  const failure = async (work: Promise<unknown>): Promise<ToolError> => {
    const [outcome] = await Promise.allSettled([work]);
    if (outcome?.status === "rejected") return outcome.reason as ToolError;
    throw new Error("expected a failure");
  };
  const codeOf = async (work: Promise<unknown>) => (await failure(work)).code;

  beforeEach(() => {
    base = temporaryFolder("haft-files-");
    workspace = join(base, "ws");
    mkdirSync(join(workspace, "sub"), { recursive: true });
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside/secret.txt"), "SECRET\n");
    put("a.txt");
    put("sub/b.txt");
    symlinkSync("../outside/secret.txt", join(workspace, "link_out"));
    symlinkSync("../outside", join(workspace, "dir_out"));
    symlinkSync("../outside/new.txt", join(workspace, "dangling_out"));
    symlinkSync("later.txt", join(workspace, "dangling_in"));
    symlinkSync("a.txt", join(workspace, "link_in"));
    symlinkSync("sub", join(workspace, "dir_in"));
    symlinkSync("loop_b", join(workspace, "loop_a"));
    symlinkSync("loop_a", join(workspace, "loop_b"));
    const changes: FileChange[] = [];
    journal = { changes, before: async (change) => void changes.push(change) };
    files = filesWith({});
  });
  afterEach(() => {
    const outside = readdirSync(join(base, "outside")).join() + readFileSync(join(base, "outside/secret.txt"), "utf8");
    if (outside !== "secret.txtSECRET\n") throw new Error(`something outside was changed: ${outside}`);
  });

  describe("reading", () => {
    it.each(["a.txt", "./sub/../a.txt", "link_in", "dir_in/../a.txt", "dir_in/b.txt"])("opens %s", async (path) => {
      expect((await files.readWhole(path)).bytes.toString()).toBe("INSIDE\n");
      expect((await files.readWhole(join(workspace, path))).bytes.toString()).toBe("INSIDE\n");
    });

    it.each(["%41", "name with space", "trail ", "a\\b.txt", "-rf", "new\nline", "...", "..foo", "café"])(
      "accepts the name %j unchanged",
      async (name) => {
        put(name);
        expect((await files.readWhole(name)).bytes.toString()).toBe("INSIDE\n");
      },
    );

    it.each([
      "../outside/secret.txt",
      "link_out",
      "dir_out/secret.txt",
      "dangling_out",
      "dir_out/nothing",
      "nowhere/../../outside/secret.txt",
      "/etc/passwd",
      "/no/such/file",
      "~/.ssh/id_rsa",
      "/proc/self/environ",
      "/proc/self/root/etc/passwd",
      "/dev/null",
    ])("refuses %s, existing or not, and lists what is allowed", async (path) => {
      const error = await failure(files.readWhole(path));
      expect(error.code).toBe("path_denied");
      expect(error.message).toContain("Permission denied");
      expect(error.message).toContain("Access denied");
      expect(error.message).toContain(JSON.stringify(path));
      expect(error.message).toContain("the workspace");
      expect(error.message).not.toContain(base);
      expect(await codeOf(files.info(path))).toBe("path_denied");
      expect(await codeOf(write(path, "x"))).toBe("path_denied");
    });

    it("refuses FIFOs and devices without blocking", async () => {
      execFileSync("mkfifo", [join(workspace, "fifo")]);
      const server = createServer().listen(join(workspace, "sock"));
      await new Promise((resolve) => server.once("listening", resolve));
      expect(await codeOf(files.readWhole("fifo"))).toBe("not_regular_file");
      expect(await codeOf(files.readWhole("sock"))).toBe("not_regular_file");
      expect(await codeOf(write("fifo", "x"))).toBe("not_regular_file");
      expect(await codeOf(files.readWhole("sub"))).toBe("is_directory");
      expect(await codeOf(files.readWhole("a.txt/"))).toBe("not_directory");
      expect(await codeOf(files.readWhole("a.txt/b"))).toBe("not_directory");
      expect(await codeOf(files.readWhole("nothing"))).toBe("path_not_found");
      expect(await codeOf(files.readWhole("loop_a"))).toBe("invalid_input");
      expect((await files.info("fifo")).type).toBe("other");
      await new Promise((resolve) => server.close(resolve));
    });

    it.each(["", "a\0b", "file:///etc/passwd", "x".repeat(5000), "x".repeat(256), "\ud800", null, ["a.txt"]])(
      "refuses %j, which is not a path",
      async (path) => expect(await codeOf(files.readWhole(path as string))).toBe("invalid_input"),
    );

    it("checks its limit before it reads", async () => {
      put("sparse", "");
      truncateSync(join(workspace, "sparse"), 10 * 2 ** 30);
      expect(await codeOf(files.readWhole("sparse"))).toBe("too_large");
      expect(await codeOf(files.readWhole("a.txt", { maxBytes: 6 }))).toBe("too_large");
      expect((await files.readWhole("a.txt", { maxBytes: 7 })).bytes.length).toBe(7);
    });

    it("reads content of every size completely", async () => {
      for (const size of [0, 1, 65_535, 65_536, 65_537, 300_000]) {
        put("sized", "x".repeat(size));
        expect((await files.readWhole("sized")).bytes.length).toBe(size);
      }
    });

    it("continues reading an open file after its name is removed", async () => {
      const file = await files.openForRead("a.txt");
      rmSync(join(workspace, "a.txt"));
      const buffer = Buffer.alloc(10);
      expect(await file.read(buffer, 2)).toBe(5);
      expect(buffer.toString("utf8", 0, 5)).toBe("SIDE\n");
      file.close();
    });

    it("describes files, folders and links", async () => {
      put("mode.sh", "héllo\n");
      chmodSync(join(workspace, "mode.sh"), 0o640);
      expect(await files.info("mode.sh")).toMatchObject({
        type: "file",
        size: 7,
        mode: 0o640,
        real: join(workspace, "mode.sh"),
      });
      expect(await files.info(".")).toMatchObject({ type: "directory" });
      expect(await files.info("link_in")).toMatchObject({
        type: "file",
        linkTarget: "a.txt",
        real: join(workspace, "a.txt"),
      });
      expect(await files.info("dangling_in")).toMatchObject({ type: "symlink", linkTarget: "later.txt" });
    });

    it("lists a folder by name without following links and without temporary files", async () => {
      put(".haft-tmp-1-0123456789abcdef");
      const names = (await files.listDirectory(".", { withInfo: true })).map((entry) => `${entry.name}:${entry.type}`);
      expect(names).toEqual([
        "a.txt:file",
        "dangling_in:symlink",
        "dangling_out:symlink",
        "dir_in:symlink",
        "dir_out:symlink",
        "link_in:symlink",
        "link_out:symlink",
        "loop_a:symlink",
        "loop_b:symlink",
        "sub:directory",
      ]);
      expect(await codeOf(files.listDirectory("a.txt"))).toBe("not_directory");
      expect(await codeOf(files.listDirectory("dir_out"))).toBe("path_denied");
      expect(await codeOf(files.listDirectory(".."))).toBe("path_denied");
    });

    it("opens a directory that a child process can work in", async () => {
      const directory = await files.openDirectory("sub");
      expect(execFileSync("ls", { cwd: directory.path, encoding: "utf8" })).toBe("b.txt\n");
      directory.close();
    });

    it("returns the real path, for locks", () => {
      expect(files.realPath("dir_in/new.txt")).toBe(join(workspace, "sub/new.txt"));
      expect(files.show(join(workspace, "sub/new.txt"))).toBe("sub/new.txt");
      expect(() => files.realPath("dir_out/x")).toThrow("Access denied");
      expect(() => files.realPath(".git/config", "write")).toThrow("protected");
      expect(() => files.realPath("loop_a")).toThrow("symbolic links");
    });
  });

  describe("protected paths", () => {
    it("are denied through a link and before they exist", async () => {
      put(".env", "TOKEN=1");
      symlinkSync(".env", join(workspace, "innocent"));
      expect(await codeOf(files.readWhole("innocent"))).toBe("path_denied");
      expect(await codeOf(write("innocent", "x"))).toBe("path_denied");
      expect(await codeOf(write(".git/hooks/pre-commit", "x"))).toBe("path_denied");
      expect(await codeOf(write("new/deep/.git/hooks/pre-commit", "x"))).toBe("path_denied");
      expect(await codeOf(write("new/.env", "x"))).toBe("path_denied");
      expect(await codeOf(files.makeDirectories("x/.git/hooks"))).toBe("path_denied");
      expect(existsSync(join(workspace, "new"))).toBe(false);
      expect(existsSync(join(workspace, "x"))).toBe(false);
    });

    it("cannot be moved or copied to another name, or moved inside a folder", async () => {
      put(".git/config", "[core]");
      put("pkg/.env", "TOKEN=1");
      put("fake/config", "[core] fsmonitor=x");
      expect(await codeOf(files.move(".git", "git2"))).toBe("path_denied");
      expect(await codeOf(files.move("fake", ".git"))).toBe("path_denied");
      expect(await codeOf(files.move("pkg/.env", "plain.txt"))).toBe("path_denied");
      expect(await codeOf(files.move("a.txt", "sub/.npmrc"))).toBe("path_denied");
      expect(await codeOf(files.move("pkg", "pkg2"))).toBe("path_denied");
      expect(await codeOf(files.deleteDirectory("pkg", { recursive: true }))).toBe("path_denied");
      expect(read("pkg/.env")).toBe("TOKEN=1");
      put("hooks/pre-commit", "x");
      const denying = filesWith({ denyGlobs: [join(workspace, "sub/hooks/pre-commit")] });
      expect(await codeOf(denying.move("hooks", "sub/hooks"))).toBe("path_denied");
    });

    it("do not reveal the path of the owner's rule", async () => {
      const error = await failure(filesWith({ denyGlobs: [join(workspace, "a.txt")] }).readWhole("link_in"));
      expect(error.message).toContain("protected");
      expect(error.message).not.toContain(base);
    });
  });

  describe("writing", () => {
    it("creates a new file and missing parents with the umask", async () => {
      const outcome = await write("x/y/new.txt", "new");
      expect(outcome).toMatchObject({
        created: true,
        old: null,
        info: { real: join(workspace, "x/y/new.txt"), size: 3 },
      });
      expect(read("x/y/new.txt")).toBe("new");
      expect(statSync(join(workspace, "x/y/new.txt")).mode & 0o777).toBe(0o666 & ~process.umask());
      expect(await codeOf(write("p/q.txt", "x", { createParents: false }))).toBe("path_not_found");
    });

    it("replaces a file and keeps its mode", async () => {
      chmodSync(join(workspace, "a.txt"), 0o751);
      const before = lstatSync(join(workspace, "a.txt")).ino;
      const outcome = await write("a.txt", "other");
      expect(outcome.old?.toString()).toBe("INSIDE\n");
      expect(read("a.txt")).toBe("other");
      const after = lstatSync(join(workspace, "a.txt"));
      expect(after.mode & 0o7777).toBe(0o751);
      expect(after.ino).not.toBe(before);
      expect(outcome.info.stamp).toBe((await files.info("a.txt")).stamp);
    });

    it("follows links to their target, even if it does not exist yet", async () => {
      await write("link_in", "through");
      expect(readlinkSync(join(workspace, "link_in"))).toBe("a.txt");
      expect(read("a.txt")).toBe("through");
      await write("dangling_in", "made");
      expect(read("later.txt")).toBe("made");
      symlinkSync("not/yet", join(workspace, "dangling_dir"));
      await write("dangling_dir/deep/c.txt", "c");
      expect(read("not/yet/deep/c.txt")).toBe("c");
    });

    it.each(["dangling_out", "dir_out/new.txt", "dir_out/new/deep.txt", "link_out", "../new.txt"])(
      "never writes through %s",
      async (path) => {
        expect(await codeOf(write(path, "x"))).toBe("path_denied");
        expect(existsSync(join(base, "new.txt"))).toBe(false);
      },
    );

    it("refuses folders, loops and names that end like a folder", async () => {
      expect(await codeOf(write("sub", "x"))).toBe("is_directory");
      expect(await codeOf(write("new/", "x"))).toBe("is_directory");
      expect(await codeOf(write(".", "x"))).toBe("is_directory");
      expect(await codeOf(write("loop_a", "x"))).toBe("invalid_input");
      expect(await codeOf(write("loop_a/child", "x"))).toBe("invalid_input");
      expect(await codeOf(write("a.txt/child", "x"))).toBe("not_directory");
    });

    it("keeps the hard links of a file if all of them are in the workspace", async () => {
      linkSync(join(workspace, "a.txt"), join(workspace, "sub/twin.txt"));
      await write("a.txt", "both, and longer than before");
      expect(read("sub/twin.txt")).toBe("both, and longer than before");
      await write("sub/twin.txt", "short");
      expect(read("a.txt")).toBe("short");
    });

    it("separates a file from a hard link outside, so nothing outside changes", async () => {
      linkSync(join(base, "outside/secret.txt"), join(workspace, "hard"));
      await write("hard", "changed");
      expect(read("hard")).toBe("changed");
    });

    it("refuses if the stamp of the file differs", async () => {
      const { info } = await files.readWhole("a.txt");
      await write("a.txt", "mine", { ifStamp: info.stamp });
      expect(await codeOf(write("a.txt", "again", { ifStamp: info.stamp }))).toBe("stale");
      expect(await codeOf(write("gone.txt", "x", { ifStamp: info.stamp }))).toBe("stale");
      expect(await codeOf(write("a.txt", "x", { ifAbsent: true }))).toBe("path_exists");
      await write("fresh.txt", "x", { ifAbsent: true });
      expect(read("a.txt")).toBe("mine");
    });

    it("journals a concurrent write, or refuses if a stamp was given", async () => {
      const interfere = async () => {
        let changes = 0;
        const before = async (change: Parameters<typeof journal.before>[0]) => {
          await journal.before(change);
          changes += 1;
          if (changes === 1) writeFileSync(join(workspace, "a.txt"), "THEIRS");
        };
        return createFiles(files.policy, { anchoring, journal: { before } });
      };
      const { stamp } = await files.info("a.txt");
      expect(await codeOf((await interfere()).writeFileAtomic("a.txt", Buffer.from("x"), { ifStamp: stamp }))).toBe(
        "stale",
      );
      expect(read("a.txt")).toBe("THEIRS");
      put("a.txt", "first");
      await (await interfere()).writeFileAtomic("a.txt", Buffer.from("mine"));
      expect(read("a.txt")).toBe("mine");
      expect(journal.changes.slice(-2).map(({ old }) => old?.toString())).toEqual(["first", "THEIRS"]);
    });

    it("completes parallel writes of one file one after the other", async () => {
      const contents = Array.from({ length: 3 }, (_, index) => String(index).repeat(200_000));
      await Promise.all(contents.map((content) => write("a.txt", content)));
      expect(contents).toContain(read("a.txt"));
      expect(readdirSync(workspace).filter((name) => name.startsWith(".haft-tmp"))).toEqual([]);
    });

    it("creates folders and returns them", async () => {
      expect(await files.makeDirectories("n/o/p")).toEqual(["n", "n/o", "n/o/p"].map((name) => join(workspace, name)));
      expect(await files.makeDirectories("n/o/p/")).toEqual([]);
      expect(await codeOf(files.makeDirectories("a.txt/x"))).toBe("not_directory");
      expect(await codeOf(files.makeDirectories("dir_out/x"))).toBe("path_denied");
      expect(await codeOf(files.makeDirectories("dangling_out/x"))).toBe("path_denied");
    });

    it("respects paths that are read only", async () => {
      const limited = filesWith({ readOnlyPaths: ["sub"] });
      expect((await limited.readWhole("sub/b.txt")).bytes.toString()).toBe("INSIDE\n");
      const error = await failure(limited.writeFileAtomic("dir_in/b.txt", Buffer.from("x")));
      expect(error.data).toEqual({ reason: "read_only" });
      expect(await codeOf(limited.deleteDirectory("sub", { recursive: true }))).toBe("path_denied");
    });
  });

  it("narrows for one call, never widens", async () => {
    const narrowed = files.narrow(["sub", "/"]).narrow(["sub"]);
    expect((await narrowed.readWhole("sub/b.txt")).bytes.length).toBe(7);
    const error = await failure(narrowed.readWhole("a.txt"));
    expect(error.message).toContain(`Allowed paths: "sub"`);
    expect(await codeOf(files.narrow([base]).readWhole(join(base, "outside/secret.txt")))).toBe("path_denied");
  });

  it("leaves no descriptor open", async () => {
    if (process.platform !== "linux") return;
    const before = readdirSync("/proc/self/fd").length;
    for (const path of ["a.txt", "link_out", "nothing", "loop_a", "sub", "dir_out/x", "a.txt/b", ".env"]) {
      await Promise.allSettled([
        files.readWhole(path),
        files.info(path),
        files.listDirectory(path),
        write(path, "x", { ifAbsent: true }),
        files.move(path, "sub/b.txt"),
        files.deleteDirectory(path),
        files.makeDirectories(`${path}/n`),
      ]);
    }
    expect(readdirSync("/proc/self/fd").length).toBe(before);
  });
});
