import process from "node:process";
import { runCli } from "./run-cli.ts";
import { processTerminal } from "./terminal.ts";

/** Of a process whose command waits for something that keeps it alive no longer. */
const UNSETTLED = 13;

async function main(): Promise<void> {
  process.exitCode = UNSETTLED;
  process.exitCode = await runCli(process.argv.slice(2), processTerminal());
  setTimeout(exitWhenWritten, 1000).unref();
}

/** What a tool has left running does not keep the process alive; output that nobody has read yet does. */
function exitWhenWritten(): void {
  if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  setTimeout(exitWhenWritten, 100).unref();
}

void main();
