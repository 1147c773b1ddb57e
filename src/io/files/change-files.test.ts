import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import type { ToolError } from "../../core/error.ts";
import { anchorByDescriptor, anchorByName } from "./path-anchor.ts";
import { createFiles, type Files } from "./files.ts";
import { createPathPolicy } from "./path-policy.ts";
import type { FileChange } from "./undo-store.ts";

const ANCHORINGS =
  process.platform === "linux"
    ? { "by descriptor": anchorByDescriptor, "by name": anchorByName }
    : { "by name": anchorByName };

describe.each(Object.entries(ANCHORINGS))("changes by files anchored %s", (_, anchoring) => {
  let base: string;
  let workspace: string;
  let files: Files;
  let journal: { changes: FileChange[]; before(change: FileChange): Promise<void> };

  const put = (name: string, content = "INSIDE\n") => writeFileSync(join(workspace, name), content);
  const read = (name: string) => readFileSync(join(workspace, name), "utf8");
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: ToolError) => error.code,
    );

  beforeEach(() => {
    base = temporaryFolder("haft-changes-");
    workspace = join(base, "ws");
    mkdirSync(join(workspace, "sub"), { recursive: true });
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside/secret.txt"), "SECRET\n");
    put("a.txt");
    put("sub/b.txt");
    const links = { link_in: "a.txt", link_out: "../outside/secret.txt", dir_in: "sub", dir_out: "../outside" };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(workspace, name));
    const changes: FileChange[] = [];
    journal = { changes, before: async (change) => void changes.push(change) };
    files = createFiles(createPathPolicy({ workspace }), { journal, anchoring });
  });
  afterEach(() => {
    if (readdirSync(join(base, "outside")).join() !== "secret.txt") throw new Error("something outside was changed");
  });

  describe("deleting", () => {
    it("removes a file, and a link but not its target", async () => {
      await files.deleteFile("link_in");
      await files.deleteFile("link_out");
      await files.deleteFile("sub/b.txt");
      expect(existsSync(join(workspace, "link_out"))).toBe(false);
      expect(read("a.txt")).toBe("INSIDE\n");
      expect(await codeOf(files.deleteFile("sub/b.txt"))).toBe("path_not_found");
      expect(await codeOf(files.deleteFile("dir_out/secret.txt"))).toBe("path_denied");
      expect(await codeOf(files.deleteFile("sub"))).toBe("is_directory");
    });

    it("removes a folder with its content only with recursive, and never an allowed root", async () => {
      symlinkSync("../../outside", join(workspace, "sub/way_out"));
      expect(await codeOf(files.deleteDirectory("sub"))).toBe("not_empty");
      await files.deleteDirectory("sub", { recursive: true });
      expect(existsSync(join(workspace, "sub"))).toBe(false);
      expect(await codeOf(files.deleteDirectory(".", { recursive: true }))).toBe("path_denied");
      expect(await codeOf(files.deleteDirectory("dir_out", { recursive: true }))).toBe("not_directory");
      expect(await codeOf(files.deleteDirectory("a.txt"))).toBe("not_directory");
    });
  });

  describe("moving", () => {
    it("renames files and folders and creates missing parents", async () => {
      const { info } = await files.move("a.txt", "deep/er/c.txt");
      expect(info.real).toBe(join(workspace, "deep/er/c.txt"));
      expect(existsSync(join(workspace, "a.txt"))).toBe(false);
      await files.move("deep", "moved");
      expect(read("moved/er/c.txt")).toBe("INSIDE\n");
      await files.move("moved/er/c.txt", "moved/er/C.TXT");
      expect(readdirSync(join(workspace, "moved/er"))).toEqual(["C.TXT"]);
    });

    it("moves a link as a link", async () => {
      await files.move("link_out", "sub/link");
      expect(readlinkSync(join(workspace, "sub/link"))).toBe("../outside/secret.txt");
    });

    it("replaces a file only with overwrite, and never a folder", async () => {
      put("b.txt", "other");
      expect(await codeOf(files.move("a.txt", "b.txt"))).toBe("path_exists");
      expect(await codeOf(files.move("link_in", "b.txt"))).toBe("path_exists");
      expect(read("b.txt")).toBe("other");
      await files.move("a.txt", "b.txt", { overwrite: true });
      expect(read("b.txt")).toBe("INSIDE\n");
      expect(await codeOf(files.move("b.txt", "sub", { overwrite: true }))).toBe("path_exists");
      expect(await codeOf(files.move("b.txt", "new_folder/"))).toBe("not_directory");
    });

    it.runIf(existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev)(
      "copies to another file system, with modes, times and links, and then removes the original",
      async () => {
        const other = mkdtempSync("/dev/shm/haft-move-");
        try {
          const wide = createFiles(createPathPolicy({ workspace, allowedPaths: [".", other] }), { journal, anchoring });
          chmodSync(join(workspace, "a.txt"), 0o640);
          const { modifiedMs } = await wide.info("a.txt");
          expect((await wide.move("a.txt", join(other, "a.txt"))).info).toMatchObject({
            size: 7,
            mode: 0o640,
            modifiedMs,
          });
          mkdirSync(join(workspace, "sub/deep"));
          writeFileSync(join(workspace, "sub/deep/large"), Buffer.alloc(3 * 1024 * 1024, "x"));
          symlinkSync("large", join(workspace, "sub/deep/link"));
          chmodSync(join(workspace, "sub/deep"), 0o750);
          await wide.move("sub", join(other, "sub"));
          expect(readFileSync(join(other, "sub/deep/large")).equals(Buffer.alloc(3 * 1024 * 1024, "x"))).toBe(true);
          expect(readlinkSync(join(other, "sub/deep/link"))).toBe("large");
          expect(statSync(join(other, "sub/deep")).mode & 0o777).toBe(0o750);
          put("a.txt", "second");
          expect(await codeOf(wide.move("a.txt", join(other, "a.txt")))).toBe("path_exists");
          await wide.move("a.txt", join(other, "a.txt"), { overwrite: true });
          expect(readFileSync(join(other, "a.txt"), "utf8")).toBe("second");
          expect(["a.txt", "sub"].filter((name) => existsSync(join(workspace, name)))).toEqual([]);
          expect(readdirSync(other).sort()).toEqual(["a.txt", "sub"]);
        } finally {
          rmSync(other, { recursive: true, force: true });
        }
      },
    );

    it("refuses a target that is outside, inside the source or the source, and a source that is missing or a root", async () => {
      expect(await codeOf(files.move("a.txt", "../a.txt"))).toBe("path_denied");
      expect(await codeOf(files.move("a.txt", "dir_out/a.txt"))).toBe("path_denied");
      expect(await codeOf(files.move("dir_out/secret.txt", "s.txt"))).toBe("path_denied");
      expect(await codeOf(files.move("sub", "sub/inner"))).toBe("invalid_input");
      expect(await codeOf(files.move("sub", "dir_in/inner"))).toBe("invalid_input");
      expect(await codeOf(files.move("a.txt", "./a.txt"))).toBe("no_change");
      expect(await codeOf(files.move("nothing", "b.txt"))).toBe("path_not_found");
      expect(await codeOf(files.move(".", "elsewhere"))).toBe("path_denied");
      expect(existsSync(join(workspace, "sub/inner"))).toBe(false);
    });
  });

  describe("the undo journal", () => {
    it("gets every change before it happens, with the old state", async () => {
      const call = files.narrow(undefined, { callId: "call-1" });
      chmodSync(join(workspace, "a.txt"), 0o600);
      await call.writeFileAtomic("a.txt", Buffer.from("new"));
      await call.writeFileAtomic("fresh/b.txt", Buffer.from("new"));
      await call.move("a.txt", "fresh/b.txt", { overwrite: true });
      await call.deleteFile("link_in");
      await call.deleteDirectory("sub", { recursive: true });
      const seen = journal.changes.map(({ callId, kind, path, to, was, old, mode, linkTarget }) => {
        expect(callId).toBe("call-1");
        return [kind, files.show(path), to && files.show(to), was, old?.toString(), mode, linkTarget];
      });
      const defaultMode = 0o666 & ~process.umask();
      expect(seen).toEqual([
        ["write", "a.txt", undefined, "file", "INSIDE\n", 0o600, undefined],
        ["make_directory", "fresh", undefined, "absent", undefined, undefined, undefined],
        ["write", "fresh/b.txt", undefined, "absent", undefined, undefined, undefined],
        ["move", "a.txt", "fresh/b.txt", "file", "new", defaultMode, undefined],
        ["delete", "link_in", undefined, "symlink", undefined, undefined, "a.txt"],
        ["delete", "sub/b.txt", undefined, "file", "INSIDE\n", defaultMode, undefined],
        ["delete", "sub", undefined, "directory", undefined, 0o777 & ~process.umask(), undefined],
      ]);
    });

    it("stops a change that it cannot record", async () => {
      const broken = createFiles(files.policy, {
        anchoring,
        journal: { before: () => Promise.reject(new Error("disk full")) },
      });
      const attempts = [
        () => broken.writeFileAtomic("a.txt", Buffer.from("x")),
        () => broken.writeFileAtomic("new.txt", Buffer.from("x")),
        () => broken.makeDirectories("made"),
        () => broken.deleteFile("a.txt"),
        () => broken.deleteDirectory("sub", { recursive: true }),
        () => broken.move("a.txt", "b.txt"),
      ];
      for (const attempt of attempts) expect(await codeOf(attempt())).toBe("not_recorded");
      expect(read("a.txt") + read("sub/b.txt")).toBe("INSIDE\nINSIDE\n");
      expect(["new.txt", "made", "b.txt"].filter((name) => existsSync(join(workspace, name)))).toEqual([]);
    });
  });
});
