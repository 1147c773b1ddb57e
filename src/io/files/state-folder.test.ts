import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { ensureStateFolder, stateFolderOf, stateRootOf } from "./state-folder.ts";

const base = temporaryFolder("haft-state-folder-");

describe("the folder of all states", () => {
  test.each([
    [{ HAFT_STATE_DIR: "/var/lib/haft/", XDG_STATE_HOME: "/x" }, "linux", "/var/lib/haft"],
    [{ XDG_STATE_HOME: "/x" }, "linux", "/x/haft"],
    [{ XDG_STATE_HOME: "/x" }, "darwin", "/x/haft"],
    [{ XDG_STATE_HOME: "relative" }, "linux", "/home/ann/.local/state/haft"],
    [{ HAFT_STATE_DIR: "", HOME: "/elsewhere" }, "linux", "/home/ann/.local/state/haft"],
    [{}, "darwin", "/home/ann/Library/Application Support/haft"],
    [{ LOCALAPPDATA: "C:\\Users\\ann\\AppData\\Local" }, "win32", "C:\\Users\\ann\\AppData\\Local\\haft"],
  ] as const)("with %j on %s is %s", (env, platform, expected) => {
    expect(stateRootOf({ env, platform, home: "/home/ann" })).toBe(expected);
  });

  test("is below the home folder of the account, independent of HOME", () => {
    const root = stateRootOf({ env: { HOME: "/elsewhere" }, platform: "linux" });
    expect(root).toBe(join(userInfo().homedir, ".local/state/haft"));
  });

  test("is refused if the setting is a relative path", () => {
    expect(() => stateRootOf({ env: { HAFT_STATE_DIR: "state" } })).toThrow(/HAFT_STATE_DIR is "state".*absolute path/);
  });
});

describe("the state folder of a workspace", () => {
  const options = { env: { HAFT_STATE_DIR: "/state" } };

  test("is the same for every spelling of the workspace's path", () => {
    const workspace = join(base, "My project");
    mkdirSync(workspace);
    symlinkSync(workspace, join(base, "link"));
    const folder = stateFolderOf(workspace, options);
    expect(basename(folder)).toMatch(/^My_project-[0-9a-f]{16}$/);
    expect(dirname(folder)).toBe("/state");
    for (const spelling of [`${workspace}/`, join(base, "link"), `${base}/link/../My project/.`]) {
      expect(stateFolderOf(spelling, options), spelling).toBe(folder);
    }
  });

  test("differs for two workspaces of the same name", () => {
    for (const parent of ["a", "b"]) mkdirSync(join(base, parent, "app"), { recursive: true });
    expect(stateFolderOf(join(base, "a/app"), options)).not.toBe(stateFolderOf(join(base, "b/app"), options));
  });

  test("has a name for the root of the file system", () => {
    expect(basename(stateFolderOf("/", options))).toMatch(/^root-/);
  });

  test("is created with its parents, for this user only", () => {
    const folder = join(base, "new/parent/state");
    for (let time = 1; time <= 2; time += 1) ensureStateFolder(folder);
    const mode = process.platform === "win32" ? 0o666 : 0o700;
    for (const each of [folder, dirname(folder)]) expect(statSync(each).mode & 0o777).toBe(mode);
  });

  test("says why it cannot be created", () => {
    writeFileSync(join(base, "file"), "");
    symlinkSync(join(base, "missing"), join(base, "dangling"));
    expect(() => ensureStateFolder(join(base, "file"))).toThrow(/is not a folder/);
    expect(() => ensureStateFolder(join(base, "file/state"))).toThrow(/is below a file/);
    expect(() => ensureStateFolder(join(base, "dangling/state"))).toThrow(/is not a folder/);
  });

  test.runIf(process.platform === "linux")("is refused at once on a file system that takes no folders", () => {
    expect(() => ensureStateFolder("/proc/nope/state/deep")).toThrow(
      /^The state folder \/proc\/nope\/state\/deep cannot be created\. To keep .*HAFT_STATE_DIR/,
    );
  });
});
