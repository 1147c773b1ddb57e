import { mkdir, readdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const FILES: Readonly<Record<string, string>> = {
  "README.md": `# A sample workspace

Everything here may be read, changed and undone. Try, in the console or at a terminal:

    haft tools call read path=notes/todo.md
    haft tools call grep pattern=TODO
    haft tools call edit path=notes/todo.md oldText='[ ] water the plants' newText='[x] water the plants'
    haft undo --last
`,
  "notes/todo.md": `# To do

- [ ] water the plants
- [ ] call the dentist
- [x] read about Haft
`,
  "src/greet.js": `// TODO: greet in more languages
export function greet(name) {
  return \`Hello, \${name}!\`;
}
`,
};

/** Makes it where it is missing; what is there already stays as it is. */
export async function makeSample(parent: string): Promise<string> {
  const folder = join(parent, "haft-sample");
  for (const [name, text] of Object.entries(FILES)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  return folder;
}

/** Why a folder is a poor workspace; undefined where it is not. */
export async function unsuitableWorkspaceReason(folder: string, home: string = homedir()): Promise<string | undefined> {
  if (folder === home) return "This is your home folder: tools could reach everything in it.";
  const names = await readdir(folder);
  return names.every((name) => name === ".haft") ? "This folder is empty." : undefined;
}
