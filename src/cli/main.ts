#!/usr/bin/env node
import * as module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";

// Compiled code is cached if this Node can do that; in a folder of the user, because it is executed.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
const base = process.env["XDG_CACHE_HOME"];
enableCompileCache?.(join(base && isAbsolute(base) ? base : join(homedir(), ".cache"), "haft"));

const [{ runCli }, { processTerminal }] = await Promise.all([import("./run-cli.ts"), import("./terminal.ts")]);
process.exitCode = await runCli(process.argv.slice(2), processTerminal());

/** What a tool has left running does not keep the process alive; output that nobody has read yet does. */
function exitWhenWritten(): void {
  if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  setTimeout(exitWhenWritten, 100).unref();
}
setTimeout(exitWhenWritten, 1000).unref();
