import { resolve } from "node:path";
import { errorCode, errorMessage } from "../core/error.ts";
import {
  checkFolder,
  checkOperands,
  describeChoices,
  GLOBAL_OPTIONS,
  parseArguments,
  type ParsedArguments,
  splitCommand,
  UsageError,
} from "./arguments.ts";
import { type CommandEntry, findCommand } from "./command-table.ts";
import type { Command, EmbedOptions, Invocation, OptionValues } from "./command.ts";
import { EXIT, explainFailure, type Failure } from "./exit-codes.ts";
import { createOutput, type Output, type OutputFormat, safe, showJson } from "./output.ts";
import type { Terminal } from "./terminal.ts";

type Globals = OptionValues<typeof GLOBAL_OPTIONS>;

/** Takes a command line, returns an exit code. Never rejects. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal,
  embedded: EmbedOptions = {},
): Promise<number> {
  // For errors in the command line itself: it cannot be parsed, but its errors have the requested format.
  const early = createOutput(
    terminal,
    outputOptions({ json: argv.includes("--json"), jsonl: argv.includes("--jsonl") }),
  );
  try {
    const { words, others } = splitCommand(argv);
    const found = words.length === 0 ? undefined : findCommand(words);
    if (found && "group" in found) return await showGroup(found.entries, others, early);
    if (!found) return await runWithoutCommand(others, { terminal, embedded });
    const { entry, used } = found;
    const command = await entry.load();
    const left = [...words.slice(used), ...others];
    const parsed = await orUsage(entry, command, () =>
      parseArguments(left, { ...GLOBAL_OPTIONS, ...command.options }, command.takesRest),
    );
    const globals = parsed.options as Globals;
    const output = createOutput(terminal, outputOptions(globals));
    if (globals.version) return await showVersion(output);
    if (globals.help) {
      const { showCommandHelp } = await import("./help.ts");
      output.lines(showCommandHelp(entry, command, output.paint));
      return EXIT.done;
    }
    await orUsage(entry, command, () => checkOperands(parsed.operands, command));
    return await runCommand(command, parsed, { argv, terminal, output, embedded });
  } catch (thrown) {
    return report(explainFailure(thrown), early, terminal);
  }
}

/** A mistake that has no better advice shows how the command is used, and what can be written. */
async function orUsage<T>(entry: CommandEntry, command: Command, read: () => T): Promise<T> {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof UsageError) || thrown.next !== undefined) throw thrown;
    const { showUsage } = await import("./help.ts");
    const lines = [`Usage: ${showUsage(entry, command)}`, ...describeChoices(command.operands ?? [])];
    throw new UsageError(thrown.message, [...lines, `\`haft help ${entry.path}\` shows examples.`].join("\n"));
  }
}

async function runCommand(
  command: Command,
  { options, operands, rest }: ParsedArguments,
  { argv, terminal, output, embedded }: Pick<Invocation, "argv" | "terminal" | "output" | "embedded">,
): Promise<number> {
  const globals = options as Globals;
  const { folder: named, url: server } = globals;
  const folder = resolve(terminal.cwd, named ?? ".");
  if (named !== undefined) checkFolder(folder);
  const url = server ?? (named === undefined ? terminal.env["HAFT_URL"] || undefined : undefined);
  const interrupt = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupt.abort());
  const { Connection } = await import("./connect.ts");
  const usesRunningServer = !globals["no-server"];
  const uses = command.uses ?? [];
  const connection = new Connection({ folder, url, usesRunningServer, terminal, output, embedded, uses });
  const invocation: Invocation = {
    operands,
    rest,
    options: options as Invocation["options"],
    argv,
    folder,
    isFolderNamed: named !== undefined,
    url,
    terminal,
    output,
    interrupted: interrupt.signal,
    embedded,
    connect: (connectOptions) => connection.open(connectOptions),
    run: (words, more) => runCli(words, terminal, more),
  };
  try {
    return (await command.run(invocation)) ?? EXIT.done;
  } catch (thrown) {
    if (interrupt.signal.aborted) return EXIT.interrupted;
    return report(explainFailure(thrown), output, terminal);
  } finally {
    stopListening();
    await connection.close().catch((error: unknown) => {
      // The command has its result. What did not close ends with the process.
      if (errorCode(error) !== "timeout") throw error;
      output.warn(safe(errorMessage(error)));
    });
  }
}

function outputOptions({ json, jsonl, ids, quiet = false, verbose, ...more }: Partial<Globals>) {
  const format: OutputFormat = jsonl ? "jsonl" : json ? "json" : "text";
  return { format, quiet, idsOnly: ids, verbose, colour: !more["no-color"] };
}

/** On stderr; one line of JSON for programs. */
function report(
  { exitCode, code, message, next }: Failure,
  { format, paintStderr }: Output,
  { stderr }: Terminal,
): number {
  if (format !== "text") {
    stderr.write(`${showJson({ error: { code, message, next } })}\n`);
    return exitCode;
  }
  stderr.write(`${paintStderr("red", "haft:")} ${safe(message)}\n${next === undefined ? "" : `${safe(next)}\n`}`);
  return exitCode;
}

async function showGroup(entries: readonly CommandEntry[], others: readonly string[], output: Output): Promise<number> {
  const { options } = parseArguments(others, GLOBAL_OPTIONS);
  const { showGroupHelp } = await import("./help.ts");
  if (options["help"]) {
    output.lines(showGroupHelp(entries, output.paint));
    return EXIT.done;
  }
  for (const line of showGroupHelp(entries, output.paintStderr)) output.info(line);
  return EXIT.usage;
}

/** `haft` alone: at a terminal what is going on, otherwise the help. Also `haft --version` and `haft --help`. */
async function runWithoutCommand(
  words: readonly string[],
  { terminal, embedded }: { terminal: Terminal; embedded: EmbedOptions },
): Promise<number> {
  const parsed = parseWithoutCommand(words);
  const globals = parsed.options as Globals;
  const output = createOutput(terminal, outputOptions(globals));
  if (globals.version) return showVersion(output);
  const asksForData = terminal.stdout.isTTY || output.format !== "text";
  if (!globals.help && asksForData) {
    const { overview } = await import("./commands/overview.ts");
    return runCommand(overview, parsed, { argv: words, terminal, output, embedded });
  }
  const { readVersion } = await import("../io/files/own-folders.ts");
  const { showHelp } = await import("./help.ts");
  output.lines(showHelp(await readVersion(), output.paint));
  return EXIT.done;
}

function parseWithoutCommand(words: readonly string[]): ParsedArguments {
  try {
    return parseArguments(words, GLOBAL_OPTIONS);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw new UsageError(
      thrown.message,
      "Name the command first, such as `haft serve --port 0`. `haft help` lists all.",
    );
  }
}

async function showVersion(output: Output): Promise<number> {
  const { readVersion } = await import("../io/files/own-folders.ts");
  output.data({ version: await readVersion() }, ({ version }) => [version]);
  return EXIT.done;
}
