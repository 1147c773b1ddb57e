import { closeSync, constants, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { anchorByDescriptor, anchorByName, detectAnchoring } from "./path-anchor.ts";

let base: string;

beforeEach(() => {
  base = temporaryFolder("haft-anchor-");
  for (const [folder, content] of [
    ["inside", "INSIDE"],
    ["outside", "SECRET"],
  ] as const) {
    mkdirSync(join(base, folder));
    writeFileSync(join(base, folder, "f"), content);
  }
});

const swap = () => {
  renameSync(join(base, "inside"), join(base, "moved"));
  symlinkSync("outside", join(base, "inside"));
};
const readFd = (fd: number) => {
  try {
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
};

describe.runIf(process.platform === "linux")("an anchor by descriptor", () => {
  it("is used on this platform", () => expect(detectAnchoring()).toBe(anchorByDescriptor));

  it("keeps its file or folder when the name changes", () => {
    const file = anchorByDescriptor(join(base, "inside/f"));
    const folder = anchorByDescriptor(join(base, "inside"), { directory: true });
    swap();
    expect(file.real).toBe(join(base, "inside/f"));
    expect(readFd(file.reopen(constants.O_RDONLY))).toBe("INSIDE");
    writeFileSync(folder.at("new"), "x");
    unlinkSync(folder.at("f"));
    expect(existsSync(join(base, "moved/new"))).toBe(true);
    expect(existsSync(join(base, "outside/new"))).toBe(false);
    expect(readFileSync(join(base, "outside/f"), "utf8")).toBe("SECRET");
    file.close();
    folder.close();
  });

  it("distinguishes a deleted file from one whose name ends with (deleted)", () => {
    writeFileSync(join(base, "inside/f (deleted)"), "x");
    const anchor = anchorByDescriptor(join(base, "inside/f (deleted)"));
    expect(anchor.real).toBe(join(base, "inside/f (deleted)"));
    anchor.close();
  });
});

describe("an anchor by name", () => {
  it("notices that its file or folder was replaced", () => {
    const file = anchorByName(join(base, "inside/f"));
    const folder = anchorByName(join(base, "inside"), { directory: true });
    swap();
    expect(() => file.reopen(constants.O_RDONLY)).toThrow("replaced");
    expect(() => folder.at("new")).toThrow("replaced");
  });

  it("does not follow a link at the end with noFollow", () => {
    symlinkSync("f", join(base, "inside/link"));
    expect(anchorByName(join(base, "inside/link")).real).toBe(join(base, "inside/f"));
    expect(anchorByName(join(base, "inside/link"), { noFollow: true }).stat.isSymbolicLink()).toBe(true);
  });
});
