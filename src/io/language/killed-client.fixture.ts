// Starts a language server that ignores the end of its input, writes the id of its process, and waits to be killed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFiles } from "../files/files.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { Diagnostics } from "./diagnostics.ts";

const [folder = ""] = process.argv.slice(2);
const files = createFiles(createPathPolicy({ workspace: folder }));
const scripted = { command: process.execPath, args: [join(folder, "server.mjs"), "hang"], extensions: ["txt"] };
const diagnostics = new Diagnostics({ servers: { scripted }, waitMs: 100, sandbox: openSandbox({ files }), files });
const file = join(files.policy.workspace, "a.txt");
writeFileSync(file, "x");
await diagnostics.check([{ file, before: undefined, after: Buffer.from("x") }], new AbortController().signal);
process.stdout.write(`${(await diagnostics.pids()).join(" ")}\n`);
setInterval(() => undefined, 1_000);
