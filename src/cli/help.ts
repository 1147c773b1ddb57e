import { describeChoices, GLOBAL_OPTIONS, showOperand } from "./arguments.ts";
import { COMMANDS, type CommandEntry } from "./command-table.ts";
import type { Command, OptionSpecs } from "./command.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { showColumns } from "./layout.ts";
import { type Paint } from "./output.ts";

/** Examples come first: most readers look for a line to change. */
export function showCommandHelp(entry: CommandEntry, command: Command, paint: Paint): string[] {
  const { summary } = entry;
  const { examples, operands = [], options = {}, notes = [] } = command;
  const facts = [...describeChoices(operands), ...notes];
  const verbs = COMMANDS.filter(({ path }) => path.startsWith(`${entry.path} `));
  return [
    `${summary}.`,
    "",
    ...examples.flatMap(([line, does]) => [`  ${paint("dim", `# ${does}`)}`, `  ${paint("cyan", line)}`]),
    "",
    paint("bold", "Usage"),
    `  ${showUsage(entry, command)}`,
    ...(facts.length > 0 ? ["", ...facts.map((fact) => `  ${fact}`)] : []),
    ...showOptions("Options", options, paint),
    ...(verbs.length > 0 ? ["", paint("bold", "Commands"), ...showEntries(verbs, paint)] : []),
    "",
    paint("dim", "`haft help options` lists the options of every command."),
  ];
}

/** `haft token revoke ID`. */
export function showUsage({ path }: CommandEntry, { operands = [], options = {}, takesRest }: Command): string {
  const words = ["haft", path, ...operands.map(showOperand), ...(Object.keys(options).length > 0 ? ["[options]"] : [])];
  return `${words.join(" ")}${takesRest ? " [-- COMMAND…]" : ""}`;
}

export function showGroupHelp(entries: readonly CommandEntry[], paint: Paint): string[] {
  return [
    ...showEntries(entries, paint),
    "",
    paint("dim", `\`haft ${entries[0]?.path ?? ""} --help\` shows how to use one.`),
  ];
}

/** Every first word of a command, by task, with what it is for. */
export const SECTIONS: readonly { title: string; commands: Readonly<Record<string, string>> }[] = [
  {
    title: "Start",
    commands: {
      serve: "Start the server and the console",
      login: "Print a link that opens the console",
      init: "Write a configuration file to start from",
      trust: "Trust what a folder's configuration would run",
      doctor: "Check whether everything works here",
    },
  },
  {
    title: "Work",
    commands: {
      run: "Give an agent a task",
      chat: "Talk to an agent",
      sessions: "Conversations with agents",
      undo: "Undo file changes that tools made",
      redo: "Take back an undo",
      artifacts: "Documents with versions",
    },
  },
  { title: "Approve", commands: { approvals: "Waiting calls", grants: "What you allowed" } },
  {
    title: "Tools",
    commands: {
      tools: "Find and call tools",
      parse: "Show the calls in a model's text",
      record: "Record calls in a file",
      replay: "Answer calls from a recording",
    },
  },
  {
    title: "Automate",
    commands: {
      jobs: "Background calls",
      schedules: "Calls at given times",
      worker: "Run background calls, on any number of machines",
    },
  },
  { title: "Policy", commands: { policy: "Permission rules", config: "Settings, and where each comes from" } },
  {
    title: "Connections",
    commands: { mcp: "MCP servers and clients", hook: "Judge the calls of other agents", token: "Tokens for programs" },
  },
  {
    title: "Store",
    commands: {
      audit: "Log of calls and decisions",
      stats: "Calls, failures and durations by tool",
      store: "The database",
    },
  },
  { title: "Help", commands: { help: "Show how to use a command", completion: "Print a completion script" } },
];

const EXAMPLES: readonly (readonly [line: string, does: string])[] = [
  ["haft serve", "start the server and the console"],
  ["haft tools call write path=a.txt content=Hi", "call a tool; asks for approval"],
  ["haft undo --last", "undo what it changed"],
  ["haft approvals watch", "approve or deny waiting calls"],
];

export function showHelp(version: string, paint: Paint): string[] {
  return [
    `Haft ${version}: one gate for tool calls, with policy, approvals, audit and undo.`,
    "",
    ...showColumns(
      EXAMPLES.map(([line, does]) => [`  ${line}`, does]),
      { styles: ["cyan", "dim"], paint },
    ),
    ...SECTIONS.flatMap(({ title, commands }) => [
      "",
      paint("bold", title),
      ...Object.entries(commands).map(
        ([noun, about]) => `  ${paint("cyan", noun.padEnd(11))} ${about}${verbsOf(noun)}`,
      ),
    ]),
    "",
    "`haft` alone shows what is going on here. `haft help COMMAND` shows examples and",
    "options. For every command: `haft help options`, `environment`, `exit-codes`.",
  ];
}

const MAX_VERBS_LENGTH = 38;

/** `: list, show, approve`. */
function verbsOf(noun: string): string {
  const verbs = COMMANDS.flatMap(({ path }) => (path.startsWith(`${noun} `) ? [path.slice(noun.length + 1)] : []));
  let shown = verbs.length === 0 ? "" : `: ${verbs[0]}`;
  for (const verb of verbs.slice(1)) {
    if (shown.length + verb.length > MAX_VERBS_LENGTH) return `${shown}, …`;
    shown += `, ${verb}`;
  }
  return shown;
}

export function showGlobalOptions(paint: Paint): string[] {
  return showOptions("Options of every command", GLOBAL_OPTIONS, paint).slice(1);
}

/** The environment variables that users can set: the table of `haft help environment` and of the guide. */
export const ENVIRONMENT: readonly (readonly [name: string, about: string])[] = [
  ["HAFT_URL", "Use this server, like --url"],
  ["HAFT_TOKEN", "The token for that server"],
  ["HAFT_STATE_DIR", "The folder of all state folders; default: the user's folder for state"],
  ["HAFT_PROFILE", "tools.profile: which tools exist"],
  ["HAFT_MODE", "permissions.defaultMode: when to ask for approval"],
  ["HAFT_TIMEOUT", "tools.timeout, in milliseconds"],
  ["HAFT_MAX_CONCURRENT", "tools.maxConcurrent: how many calls run at once"],
  ["HAFT_TOOL_SEARCH", "toolSearch.enabled: true or false"],
  ["HAFT_STORE_URL", "store.url: a PostgreSQL server instead of the local file"],
  ["HAFT_REDIS_URL", "jobs.redisUrl: the queue of jobs"],
  ["HAFT_HOST", "server.host of `haft serve`; default: 127.0.0.1"],
  ["HAFT_PORT", "server.port of `haft serve`; default: 4117"],
  ["HAFT_SERVER_TOKEN", "server.token: a token with all rights, instead of a generated one"],
  ["HAFT_BROWSER", "The Chromium that the browser tool starts"],
  ["NO_COLOR", "No colors"],
  ["FORCE_COLOR", "Colors, also in a pipe"],
];

export function showEnvironment(paint: Paint): string[] {
  return showColumns(
    ENVIRONMENT.map(([name, about]) => [`  ${name}`, about]),
    { styles: ["cyan"], paint },
  );
}

export function showExitCodes(paint: Paint): string[] {
  return showColumns(
    EXIT_CODES.map(([code, meaning]) => [`  ${code}`, meaning]),
    { styles: ["cyan"], paint },
  );
}

function showEntries(entries: readonly CommandEntry[], paint: Paint): string[] {
  return showColumns(
    entries.map(({ path, summary }) => [`  ${path}`, summary]),
    { styles: ["cyan"], paint },
  );
}

function showOptions(title: string, options: OptionSpecs, paint: Paint): string[] {
  const rows = Object.entries(options).map(([name, { short, value, about, oneOf }]) => [
    `  ${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`,
    oneOf ? `${about} (${oneOf.join(", ")})` : about,
  ]);
  return rows.length === 0 ? [] : ["", paint("bold", title), ...showColumns(rows, { styles: ["cyan"], paint })];
}
