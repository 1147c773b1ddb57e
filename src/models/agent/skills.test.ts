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
  const locations = [
    ...["a", "b"].map((path) => ({ files: anchored, path })),
    { files: anchored, path: "commands", holds: "commands" as const },
  ];
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

test("a skill whose head is no valid YAML is loaded, with a warning", async () => {
  const { library } = open({
    "a/colon/SKILL.md": "---\nname: colon\ndescription: Use it when: a release is made # soon\n---\n\nDo it.\n",
    "a/list/SKILL.md": "---\nname: list\ndescription: [x] or *y*\n---\n\nDo it.\n",
    "a/lost/SKILL.md": "---\nname: lost\n\tdescription: x\n---\n\nDo it.\n",
  });
  const { skills, problems } = await library.list();
  expect(skills.map(({ name, description }) => [name, description])).toEqual([
    ["colon", "Use it when: a release is made # soon"],
    ["list", "[x] or *y*"],
  ]);
  expect(problems).toHaveLength(3);
  expect(problems[0]).toMatch(/a\/colon: `description` is not valid YAML and is read as text: put it in quotes/);
  expect(problems[2]).toMatch(/a\/lost: .*not valid YAML/);
});

test("a command is a skill of one file, which a person calls with words", async () => {
  const { library } = open({
    "commands/review.md":
      "---\ndescription: Reviews a change\nallowed-tools: Read, Bash(git diff:*)\n---\nReview $1 of $ARGUMENTS.",
    "commands/git/commit.md": "Commit everything.",
    "commands/secret.md": "---\ndisable-model-invocation: true\n---\nDeploy.",
    "commands/readme.txt": "no command",
    "a/one/SKILL.md": skill("one"),
  });
  const { skills } = await library.list();
  expect(skills.map(({ name, isCommand, description }) => [name, isCommand, description])).toEqual([
    ["git:commit", true, "Commit everything."],
    ["one", undefined, "Does one"],
    ["review", true, "Reviews a change"],
    ["secret", true, "Deploy."],
  ]);
  expect(await library.readCommand('/review "the parser" today')).toEqual({
    text: 'Review the parser of "the parser" today.',
    policy: [{ allow: expect.arrayContaining(["Read", "Bash", "skill"]) }],
  });
  expect(await library.readCommand("/git:commit now")).toEqual({ text: "Commit everything.\n\nARGUMENTS: now" });
  expect(await library.readCommand("/one")).toMatchObject({ text: "Do one." });
  for (const text of ["/unknown", "review this", "/a/path is wrong"]) {
    expect(await library.readCommand(text)).toBeUndefined();
  }
  await expect(library.load("secret")).rejects.toMatchObject({ code: "denied" });
  expect(await library.load("secret", { byPerson: true })).toMatchObject({ instructions: "Deploy." });
  await expect(library.read("review", "x")).rejects.toMatchObject({ code: "path_not_found" });
});
