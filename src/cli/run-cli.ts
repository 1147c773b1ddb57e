import { resolve } from "node:path";
import {
  checkFolder,
  checkOperands,
  GLOBAL_OPTIONS,
  parseArguments,
  type ParsedArguments,
  splitCommand,
  UsageError,
} from "./arguments.ts";
import { type CommandEntry, COMMANDS, findCommand } from "./command-table.ts";
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
    if (!found) {
      const exitCode = await showAboutHaft(others, terminal);
      if (exitCode !== undefined) return exitCode;
    }
    const entry = found?.entry ?? COMMANDS[0];
    if (!entry) throw new UsageError("There is no command.");
    const command = await entry.load();
    const left = [...words.slice(found?.used ?? 0), ...others];
    const parsed = parseArguments(left, { ...GLOBAL_OPTIONS, ...command.options }, command.takesRest);
    const globals = parsed.options as Globals;
    const output = createOutput(terminal, outputOptions(globals));
    if (globals.version) return await showVersion(output);
    if (globals.help) {
      const { showCommandHelp } = await import("./help.ts");
      output.lines(showCommandHelp(entry, command, output.paint));
      return EXIT.done;
    }
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
  const globals = options as Globals;
  const { folder: named, url: server } = globals;
  const folder = resolve(terminal.cwd, named ?? ".");
  if (named !== undefined) checkFolder(folder);
  const url = server ?? (named === undefined ? terminal.env["HAFT_URL"] : undefined);
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
    folder,
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
    await connection.close();
  }
}

function outputOptions({ json, jsonl, quiet = false, verbose, ...more }: Partial<Globals>) {
  const format: OutputFormat = jsonl ? "jsonl" : json ? "json" : "text";
  return { format, quiet, verbose, colour: !more["no-color"] };
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

/** `haft --version` and `haft --help`, before any command is loaded. Undefined for everything else. */
async function showAboutHaft(words: readonly string[], terminal: Terminal): Promise<number | undefined> {
  let globals: Globals;
  try {
    globals = parseArguments(words, GLOBAL_OPTIONS).options as Globals;
  } catch {
    return undefined;
  }
  const output = createOutput(terminal, outputOptions(globals));
  if (globals.version) return showVersion(output);
  if (!globals.help) return undefined;
  const { readVersion } = await import("../io/files/package-folder.ts");
  const { showHelp } = await import("./help.ts");
  output.lines(showHelp(await readVersion(), output.paint));
  return EXIT.done;
}

async function showVersion(output: Output): Promise<number> {
  const { readVersion } = await import("../io/files/package-folder.ts");
  output.data({ version: await readVersion() }, ({ version }) => [version]);
  return EXIT.done;
}
