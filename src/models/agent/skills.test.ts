import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createSkillLibrary } from "./skills.ts";

function open(files: Readonly<Record<string, string>>) {
  const root = temporaryFolder("haft-skills-");
  const folder = join(root, "work");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const anchored = createFiles(createPathPolicy({ workspace: folder }));
  const locations = ["a", "b"].map((path) => ({ files: anchored, path }));
  return { root, folder, library: createSkillLibrary(locations) };
}

const skill = (name: string, more = "") => `---\nname: ${name}\ndescription: Does ${name}\n${more}---\n\nDo ${name}.\n`;

test("skills are found in every location, the first of a name wins, and problems are reported", async () => {
  const { library } = open({
    "a/one/SKILL.md": skill("one", "allowed-tools: Read, Bash(git log:*) Grep\n"),
    "b/one/SKILL.md": skill("one"),
    "b/two/SKILL.md": skill("two", "allowed-tools:\n  - Read\n"),
    "b/three/SKILL.md": "no head",
    "b/four/SKILL.md": skill("other"),
    "b/empty/readme.md": "",
  });
  const { skills, problems } = await library.list();
  expect(skills).toEqual([
    { name: "one", description: "Does one", folder: "a/one", allowedTools: ["Read", "Bash", "Grep"] },
    { name: "two", description: "Does two", folder: "b/two", allowedTools: ["Read"] },
  ]);
  expect(problems.join("\n")).toMatch(/b\/three: .*does not start with YAML/);
  expect(problems.join("\n")).toMatch(/b\/four: .*its folder is "four"/);
});

test("a skill is loaded with the list of its files, and reads no others", async () => {
  const { library, root, folder } = open({ "a/one/SKILL.md": skill("one"), "a/one/scripts/go.sh": "echo go" });
  writeFileSync(join(root, "secret"), "hush");
  symlinkSync(join(root, "secret"), join(folder, "a/one/link"));
  expect(await library.load("one")).toMatchObject({
    instructions: "Do one.",
    files: expect.arrayContaining(["scripts/go.sh"]),
  });
  expect(await library.read("one", "scripts/go.sh")).toBe("echo go");
  for (const file of ["../../../secret", join(root, "secret"), "link"]) {
    await expect(library.read("one", file)).rejects.toMatchObject({ code: "path_denied" });
  }
  await expect(library.load("ones")).rejects.toThrow(/Did you mean "one"/);
});
