import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfigFolders } from "../config-folders.fixture.ts";
import { trust } from "../trust.ts";
import { readInstructions } from "./instructions.ts";

function open(files: Record<string, string>) {
  const folders = openConfigFolders(files);
  const { folder, home } = folders;
  const read = async (trusted: readonly string[] = []) => {
    const mayRead = (path: string) => trusted.includes(path);
    const { files: found, lines } = await readInstructions({ folder, home, mayRead });
    return {
      names: found.map(({ file }) => folders.short(file)),
      texts: found.map(({ text }) => text),
      left: lines.filter(({ outcome }) => outcome === "not_applied").map((line) => `${line.setting} ${line.reason}`),
    };
  };
  return { ...folders, read };
}

test("AGENTS.md and CLAUDE.md are both read, with what they import", async () => {
  const { read } = open({
    "AGENTS.md": "Be brief. See @docs/style.md, and write to me@example.com or @ann.",
    "CLAUDE.md": "@AGENTS.md\n\n```\n@docs/code.md\n```\n`@docs/span.md`\n- @docs/missing.md",
    "docs/style.md": "Short lines. @deeper/more.md",
    "docs/deeper/more.md": "More.",
    "docs/code.md": "never",
    "docs/span.md": "never",
    "CLAUDE.local.md": "Mine.",
  });
  const { names, left } = await read();
  expect(names).toEqual(["AGENTS.md", "docs/style.md", "docs/deeper/more.md", "CLAUDE.md", "CLAUDE.local.md"]);
  expect(left).toEqual(["@docs/missing.md There is no such file."]);
});

test("imports end: in a circle, after five files, and outside the workspace and the home folder", async () => {
  const { read, folder, home } = open({
    "CLAUDE.md": "@a1.md @CLAUDE.md @/etc/hostname @../outside.md @~/notes.md @~/.ssh/id_rsa",
    ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((at) => [`a${at}.md`, `${at} @a${at + 1}.md`])),
    "~/notes.md": "Of the user. @more.md",
    "~/more.md": "More of the user.",
    "~/.ssh/id_rsa": "hush",
  });
  writeFileSync(join(folder, "..", "outside.md"), "hush");
  const { names, texts, left } = await read();
  expect(names).toEqual(["CLAUDE.md", "a1.md", "a2.md", "a3.md", "a4.md", "a5.md"]);
  expect(left).toEqual([
    "@a6.md More than 5 files import each other.",
    "@/etc/hostname It is outside the workspace and the home folder.",
    "@../outside.md It is outside the workspace and the home folder.",
    "@~/notes.md It is outside the workspace and not trusted. To trust it: haft trust",
    "@~/.ssh/id_rsa Only .md and .txt files of the home folder are imported.",
  ]);
  expect(texts.join()).not.toContain("hush");
  const trusted = await read([join(home, "notes.md")]);
  expect(trusted.names).toContain("~/notes.md");
  expect(trusted.texts).toContain("More of the user.");
});

test("a link that leads out of the workspace is not followed", async () => {
  const { read, folder } = open({ "CLAUDE.md": "@docs/link.md" });
  writeFileSync(join(folder, "..", "outside.md"), "hush");
  mkdirSync(join(folder, "docs"));
  symlinkSync(join(folder, "..", "outside.md"), join(folder, "docs/link.md"));
  const { names, left } = await read();
  expect(names).toEqual(["CLAUDE.md"]);
  expect(left).toHaveLength(1);
});

test("a file of the home folder is read after a person has trusted that", async () => {
  const folders = open({ "CLAUDE.md": "@~/notes.md", "~/notes.md": "Mine." });
  const before = await folders.load();
  expect(before.trustedInstructions).toEqual([]);
  expect(before.untrusted).toMatchObject([{ kind: "setting", what: expect.stringContaining("notes.md") }]);
  expect(before.imported).toContainEqual(
    expect.objectContaining({ setting: "@~/notes.md", outcome: "not_applied", reason: expect.stringMatching(/trust/) }),
  );
  await trust(folders.folder, folders);
  const after = await folders.load();
  expect(after.trustedInstructions).toEqual([join(folders.home, "notes.md")]);
  expect(after.imported).toContainEqual(expect.objectContaining({ setting: "@~/notes.md", outcome: "applied" }));
});
