import { didYouMean } from "../core/nearest-name.ts";
import { UsageError } from "./arguments.ts";
import type { Command } from "./command.ts";

export interface CommandEntry {
  /** What is typed: one word or two. */
  readonly path: string;
  readonly summary: string;
  load(): Promise<Command>;
}

/** A noun with several commands: one file, one line per command. */
function group<Name extends string>(
  noun: string,
  load: () => Promise<{ commands: Readonly<Record<Name, Command>> }>,
  summaries: Readonly<Record<NoInfer<Name>, string>>,
): CommandEntry[] {
  return Object.entries<string>(summaries).map(([name, summary]) => ({
    path: `${noun} ${name}`,
    summary,
    load: async () => (await load()).commands[name as Name],
  }));
}

/** A command of one word, which its file exports by that name. */
function single<Name extends string>(
  path: Name,
  summary: string,
  load: () => Promise<Readonly<Record<NoInfer<Name>, Command>>>,
): CommandEntry {
  return { path, summary, load: async () => (await load())[path] };
}

/** A file is loaded when one of its commands is used. */
export const COMMANDS: readonly CommandEntry[] = [
  single("serve", "Start the server and the console", () => import("./commands/serve.ts")),
  single("login", "Print a link that opens the console of the running server", () => import("./commands/login.ts")),
  single("worker", "Run background calls, on any number of machines", () => import("./commands/worker.ts")),
  single("run", "Give an agent a task", () => import("./commands/run-and-chat.ts")),
  single("chat", "Talk to an agent", () => import("./commands/run-and-chat.ts")),
  ...group("tools", () => import("./commands/tools.ts"), {
    list: "List the tools",
    describe: "Show what a tool does and its parameters",
    search: "Find a tool by what it should do",
    call: "Call a tool",
    forget: "Forget what tool search has learned from your calls",
  }),
  ...group("approvals", () => import("./commands/approvals.ts"), {
    list: "List the approvals and questions that wait for an answer",
    show: "Show one approval, with everything that would run",
    approve: "Approve a call and run it",
    answer: "Answer a question of ask_user",
    deny: "Deny a call with a reason, or dismiss a question",
    watch: "Answer approvals as they arrive",
  }),
  ...group("grants", () => import("./commands/grants.ts"), {
    list: "List what you allowed beyond one call, and what is left of it",
    show: "Show one grant",
    give: "Allow calls beyond one question, within bounds",
    extend: "Give a grant more time, uses or money",
    revoke: "End grants at once",
    refund: "Give back what a call took, if it did nothing",
    watch: "Show what is left, second by second, and end grants by a key",
  }),
  single(
    "parse",
    "Show the calls in a model's text, and what would happen to them",
    () => import("./commands/parse.ts"),
  ),
  ...group("policy", () => import("./commands/policy.ts"), {
    lint: "Find probable mistakes in the rules",
    explain: "Show what would happen to a call, and why",
    test: "Check the rules against examples",
    limits: "How much of each limit is used",
    backtest: "Judge recorded calls by a changed policy",
    suggest: "Propose rules that would have saved questions",
  }),
  ...group("policy", () => import("./commands/policy-shadow.ts"), {
    shadow: "Judge calls by another policy too, without effect",
    add: "Add one rule, after a report of what it newly allows",
    promote: "Make the shadow policy active, as one change",
    rollback: "Take the last promotion back",
  }),
  ...group("audit", () => import("./commands/audit.ts"), {
    query: "Search the audit log",
    tail: "Follow the audit log",
    verify: "Check that every entry is present and unchanged",
    export: "Print the log as JSON lines",
  }),
  single("stats", "Show calls, failures and durations by tool", () => import("./commands/stats.ts")),
  ...group("sessions", () => import("./commands/sessions.ts"), {
    list: "List conversations with agents, and their state",
    show: "Show a conversation",
    send: "Send a message to a session and wait for the reply",
    stop: "Stop what a session is doing",
  }),
  ...group("jobs", () => import("./commands/jobs.ts"), {
    list: "List background calls, and their state",
    show: "Show one job, with its result",
    logs: "Show the output of a job",
    cancel: "Cancel a waiting or running job",
    retry: "Run an ended job again",
  }),
  ...group("schedules", () => import("./commands/schedules.ts"), {
    list: "List schedules, and when they run next",
    add: "Call a tool later, once or repeatedly",
    remove: "Remove a schedule",
    pause: "Pause a schedule",
    resume: "Resume a paused schedule",
    run: "Run a schedule now",
    runs: "Show the runs of a schedule",
  }),
  ...group("store", () => import("./commands/store.ts"), {
    check: "Check whether the store is damaged",
    backup: "Write a backup of the store",
    restore: "Restore the store from a backup, or from the readable parts of a damaged one",
    prune: "Delete data beyond the configured retention",
    archive: "Write the audit log to files",
    vacuum: "Return free space of the store to the disk",
    hold: "Let nothing in the store run by itself",
    release: "Run what waits in a held store, such as a restored backup",
  }),
  single("undo", "Undo file changes that tools made", () => import("./commands/undo.ts")),
  single("redo", "Take back an undo", () => import("./commands/undo.ts")),
  ...group("artifacts", () => import("./commands/artifacts.ts"), {
    list: "List documents with versions, newest first",
    show: "Print a document, in any version",
    versions: "List the versions of a document",
    diff: "Show what changed between two versions",
  }),
  single("record", "Record the calls of a command in a file", () => import("./commands/record-and-replay.ts")),
  ...group("record", () => import("./commands/record-and-replay.ts"), {
    export: "Write the calls of a recorded session to a file, for tests",
  }),
  single(
    "replay",
    "Answer the calls of a command from a recording, or test a recorded session",
    () => import("./commands/record-and-replay.ts"),
  ),
  ...group("config", () => import("./commands/config.ts"), { show: "Show the settings, and where each comes from" }),
  single("hook", "Answer the hook of another agent", () => import("./commands/hook.ts")),
  ...group("hook", () => import("./commands/hook.ts"), {
    install: "Put Haft in front of the tools of another agent",
    status: "Show which agents have the hook, and whether it denies",
    remove: "Take the hook out of an agent's configuration",
  }),
  single("mcp", "Serve the tools of this folder to an MCP client", () => import("./commands/mcp.ts")),
  ...group("mcp", () => import("./commands/mcp.ts"), {
    config: "Print the configuration for an MCP client",
    add: "Add an MCP server",
    list: "List the MCP servers, and whether they are connected",
    lock: "Write haft.lock: the tools of the servers",
    verify: "Check the servers against haft.lock, for CI",
    import: "Import the servers of another client",
    restore: "Give an agent its servers back",
    remove: "Remove an MCP server",
    login: "Sign in to a remote MCP server",
    resources: "List the resources of the servers",
    read: "Read a resource",
    prompts: "List the prompts of the servers",
    prompt: "Show a prompt, filled in",
    questions: "List what servers ask you while they work",
    answer: "Answer the question of a server",
    approve: "Approve what starts an MCP server",
    doctor: "Show what is wrong with a server",
  }),
  single("init", "Write a configuration file to start from", () => import("./commands/config.ts")),
  single("trust", "Trust what a folder's configuration would run", () => import("./commands/trust.ts")),
  ...group("token", () => import("./commands/tokens.ts"), {
    create: "Create a token for a program",
    list: "List the tokens",
    rotate: "Replace a token by a new one",
    revoke: "Revoke a token",
  }),
  single("help", "Show how to use a command", () => import("./commands/help.ts")),
  single("doctor", "Check whether everything works here", () => import("./commands/doctor.ts")),
  single("completion", "Print a completion script for your shell", () => import("./commands/completion.ts")),
];

/** The command that the words start with and how many words name it; for the name of a group alone, its commands. */
export function findCommand(
  words: readonly string[],
  commands: readonly CommandEntry[] = COMMANDS,
): { entry: CommandEntry; used: number } | { group: string; entries: readonly CommandEntry[] } {
  const [first = "", second] = words;
  const exact = second === undefined ? undefined : commands.find(({ path }) => path === `${first} ${second}`);
  if (exact) return { entry: exact, used: 2 };
  const single = commands.find(({ path }) => path === first);
  if (single) return { entry: single, used: 1 };
  const entries = commands.filter(({ path }) => path.startsWith(`${first} `));
  if (first === "" || entries.length === 0) throw unknownCommand(first, namesOf(commands));
  if (second === undefined) return { group: first, entries };
  throw unknownCommand(
    `${first} ${second}`,
    entries.map(({ path }) => path),
  );
}

/** The first words of all commands. */
export function namesOf(commands: readonly CommandEntry[] = COMMANDS): string[] {
  return [...new Set(commands.map(({ path }) => path.split(" ")[0] ?? ""))];
}

function unknownCommand(wrong: string, names: readonly string[]): UsageError {
  return new UsageError(
    `There is no command "${wrong}".`,
    didYouMean(wrong, names) ?? "`haft help` lists all commands.",
  );
}
