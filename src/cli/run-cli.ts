import { resolve } from "node:path";
import { checkFolder } from "./check-folder.ts";
import { type CommandEntry, COMMANDS, findCommand } from "./command-table.ts";
import type { Command, EmbedOptions, Invocation } from "./command.ts";
import { connectLazily } from "./connect.ts";
import { EXIT } from "./exit-code.ts";
import { explainFailure, type Explained } from "./explain-failure.ts";
import { createOutput, type Output, type OutputFormat, safe } from "./output.ts";
import { checkOperands, GLOBAL_OPTIONS, parseArguments, type ParsedArguments } from "./parse-arguments.ts";
import { splitCommand } from "./split-command.ts";
import { showJson } from "./show-json.ts";
import type { Terminal } from "./terminal.ts";

type Globals = { folder?: string; url?: string } & Record<
  "json" | "jsonl" | "quiet" | "no-color" | "help" | "version",
  boolean
>;

/** A command line in, an exit code out. Never rejects. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal,
  embedded: EmbedOptions = {},
): Promise<number> {
  // Known before the words are: what is wrong with them is told in the same way.
  const early = createOutput(
    terminal,
    outputOptions({ json: argv.includes("--json"), jsonl: argv.includes("--jsonl") }),
  );
  try {
    const { words, others } = splitCommand(argv);
    const found = words.length === 0 ? undefined : findCommand(words);
    if (found && "group" in found) return await showGroup(found.entries, others, early);
    const entry = found?.entry ?? COMMANDS[0]!;
    const command = await entry.load();
    const left = [...words.slice(found?.used ?? 0), ...others];
    const parsed = parseArguments(left, { ...GLOBAL_OPTIONS, ...command.options }, command.takesRest);
    const globals = parsed.options as unknown as Globals;
    const output = createOutput(terminal, outputOptions(globals));
    if (globals.version) return await showVersion(output);
    if (globals.help) return await showHelpOf(found ? entry : undefined, command, output);
    checkOperands(parsed.operands, command);
    return await runCommand(command, parsed, { terminal, output, embedded });
  } catch (thrown) {
    return report(explainFailure(thrown), early, terminal);
  }
}

async function runCommand(
  command: Command,
  { options, operands, rest }: ParsedArguments,
  { terminal, output, embedded }: { terminal: Terminal; output: Output; embedded: EmbedOptions },
): Promise<number> {
  const { folder: named, url: server } = options as Globals;
  const folder = resolve(terminal.cwd, named ?? ".");
  if (named !== undefined) checkFolder(folder);
  const url = server ?? (named === undefined ? terminal.env["HAFT_URL"] : undefined);
  const interrupt = new AbortController();
  const stop = terminal.onInterrupt(() => interrupt.abort());
  const connection = connectLazily({ folder, url, terminal, output, embedded });
  const invocation: Invocation = {
    operands,
    rest,
    options: options as never,
    folder,
    url,
    terminal,
    output,
    interrupted: interrupt.signal,
    embedded,
    connect: connection.connect,
    run: (argv, more) => runCli(argv, terminal, more),
  };
  try {
    return (await command.run(invocation)) ?? EXIT.done;
  } catch (thrown) {
    if (interrupt.signal.aborted) return EXIT.interrupted;
    return report(explainFailure(thrown), output, terminal);
  } finally {
    stop();
    await connection.close();
  }
}

function outputOptions({ json, jsonl, quiet, ...more }: Partial<Globals>) {
  const format: OutputFormat = jsonl ? "jsonl" : json ? "json" : "text";
  return { format, quiet: quiet ?? false, colour: !more["no-color"] };
}

/** On stderr, and for a program as one line of JSON. */
function report(
  { exitCode, code, message, next }: Explained,
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
  const { showGroupHelp } = await import("./show-help.ts");
  if (options["help"]) {
    output.lines(showGroupHelp(entries, output.paint));
    return EXIT.done;
  }
  for (const line of showGroupHelp(entries, output.paintStderr)) output.info(line);
  return EXIT.usage;
}

async function showHelpOf(entry: CommandEntry | undefined, command: Command, output: Output): Promise<number> {
  const { showCommandHelp, showHelp } = await import("./show-help.ts");
  const { readVersion } = await import("./read-version.ts");
  output.lines(entry ? showCommandHelp(entry, command, output.paint) : showHelp(await readVersion(), output.paint));
  return EXIT.done;
}

async function showVersion(output: Output): Promise<number> {
  const { readVersion } = await import("./read-version.ts");
  output.data({ version: await readVersion() }, ({ version }) => [version]);
  return EXIT.done;
}
