// A program: prints which engines work where it runs, and whether a command that only reads runs without a question.
import { createHaft } from "../../src/index.ts";
import { openWorkspace } from "../../src/workspace.ts";

const [folder = "."] = process.argv.slice(2);
const workspace = openWorkspace(folder);
const haft = createHaft({ workspace });
const { engines, notice = "", tests = [] } = workspace.sandbox ?? {};
const { status } = await haft.execute("exec", { command: "ls" });
process.stdout.write(JSON.stringify({ engines, notice, tests, status }));
await haft.shutdown();
