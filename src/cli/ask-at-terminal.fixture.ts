// What the test of the terminal approver runs on a real terminal: waits a moment, asks, and prints the answers.
import process from "node:process";
import { createTerminalApprover } from "./terminal-approver.ts";

const [, , approvals = "[]", options = "{}", abortMs] = process.argv;
const ask = createTerminalApprover({ input: process.stdin, output: process.stdout, ...JSON.parse(options) });
const controller = new AbortController();
process.stdout.write("starting\n");
await new Promise((done) => setTimeout(done, 400));
if (abortMs) setTimeout(() => controller.abort(), Number(abortMs));
const requested = (JSON.parse(approvals) as never[]).map((approval) => ask(approval, controller.signal));
const answers = (await Promise.all(requested)).map((answer) => answer ?? null);
process.stdout.write(`ANSWERS ${JSON.stringify(answers)} raw ${process.stdin.isRaw}\n`);
