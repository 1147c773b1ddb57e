import { didYouMean } from "../core/nearest-name.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./usage-error.ts";

export interface CommandEntry {
  /** What is typed: one word, or two. */
  readonly path: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const command = (path: string, summary: string, load: () => Promise<{ command: Command }>): CommandEntry => ({
  path,
  summary,
  load: async () => (await load()).command,
});

/** Another command is a file and a line here. Loaded when it is used: the others cost nothing. */
export const COMMANDS: readonly CommandEntry[] = [
  command("serve", "Start the server and the console", () => import("./commands/serve.ts")),
  command("worker", "Run background calls, on as many machines as you like", () => import("./commands/worker.ts")),
  command("run", "Give an agent a task", () => import("./commands/run.ts")),
  command("chat", "Talk with an agent", () => import("./commands/chat.ts")),
  command("tools list", "Which tools there are", () => import("./commands/tools-list.ts")),
  command("tools describe", "What a tool does, and what it takes", () => import("./commands/tools-describe.ts")),
  command("tools search", "Find a tool by what it should do", () => import("./commands/tools-search.ts")),
  command("tools call", "Call a tool", () => import("./commands/tools-call.ts")),
  command("approvals list", "Questions that wait for an answer", () => import("./commands/approvals-list.ts")),
  command(
    "approvals show",
    "One question, with everything that would run",
    () => import("./commands/approvals-show.ts"),
  ),
  command("approvals approve", "Say yes, and run the call", () => import("./commands/approvals-approve.ts")),
  command("approvals deny", "Say no, with a reason", () => import("./commands/approvals-deny.ts")),
  command("approvals watch", "Answer questions as they come", () => import("./commands/approvals-watch.ts")),
  command("parse", "The calls in what a model wrote, and what would come of them", () => import("./commands/parse.ts")),
  command("policy lint", "What in the rules is probably a mistake", () => import("./commands/policy-lint.ts")),
  command("policy explain", "What would happen to a call, and why", () => import("./commands/policy-explain.ts")),
  command("policy test", "Check the rules against examples", () => import("./commands/policy-test.ts")),
  command("audit query", "Search what was done", () => import("./commands/audit-query.ts")),
  command("audit tail", "Watch what is done", () => import("./commands/audit-tail.ts")),
  command("audit verify", "Whether every entry is there and unchanged", () => import("./commands/audit-verify.ts")),
  command("audit export", "The log as JSON lines", () => import("./commands/audit-export.ts")),
  command("stats", "Calls, failures and durations by tool", () => import("./commands/stats.ts")),
  command(
    "sessions list",
    "Conversations with agents, and how they stand",
    () => import("./commands/sessions-list.ts"),
  ),
  command("sessions show", "One of them, with what was said and done", () => import("./commands/sessions-show.ts")),
  command(
    "sessions send",
    "Say something to a session, and hear its answer",
    () => import("./commands/sessions-send.ts"),
  ),
  command("sessions stop", "End what a session is doing", () => import("./commands/sessions-stop.ts")),
  command("jobs list", "Background calls, and how they stand", () => import("./commands/jobs-list.ts")),
  command("jobs show", "One of them, with its result", () => import("./commands/jobs-show.ts")),
  command("jobs logs", "What a job said", () => import("./commands/jobs-logs.ts")),
  command("jobs cancel", "End a job, waiting or running", () => import("./commands/jobs-cancel.ts")),
  command("jobs retry", "Run an ended job again", () => import("./commands/jobs-retry.ts")),
  command("cron list", "What is done later, and when", () => import("./commands/cron-list.ts")),
  command("cron add", "Call a tool later, or again and again", () => import("./commands/cron-add.ts")),
  command("cron remove", "Remove a schedule", () => import("./commands/cron-remove.ts")),
  command("cron pause", "Stop a schedule for a while", () => import("./commands/cron-pause.ts")),
  command("cron resume", "Let it go on", () => import("./commands/cron-resume.ts")),
  command("cron run", "Run a schedule now", () => import("./commands/cron-run.ts")),
  command("cron runs", "What came of its runs", () => import("./commands/cron-runs.ts")),
  command("undo", "Put back what tools changed in files", () => import("./commands/undo.ts")),
  command("artifacts list", "Documents with versions, newest first", () => import("./commands/artifacts-list.ts")),
  command("artifacts show", "The text of one, of any version", () => import("./commands/artifacts-show.ts")),
  command("artifacts versions", "How its versions came about", () => import("./commands/artifacts-versions.ts")),
  command("artifacts diff", "What changed between two versions", () => import("./commands/artifacts-diff.ts")),
  command("record", "Write every call of a command to a file", () => import("./commands/record.ts")),
  command("replay", "Answer the calls of a command from such a file", () => import("./commands/replay.ts")),
  command("config show", "What is set, and where", () => import("./commands/config-show.ts")),
  command("mcp", "Serve the tools of this folder to an MCP client", () => import("./commands/mcp.ts")),
  command("mcp add", "Use the tools of another MCP server", () => import("./commands/mcp-add.ts")),
  command("mcp list", "The MCP servers, and whether they answer", () => import("./commands/mcp-list.ts")),
  command("mcp import", "Take over the servers of another client", () => import("./commands/mcp-import.ts")),
  command("mcp login", "Sign in to a remote MCP server", () => import("./commands/mcp-login.ts")),
  command("mcp resources", "Documents and data of the servers", () => import("./commands/mcp-resources.ts")),
  command("mcp read", "Read one of them", () => import("./commands/mcp-read.ts")),
  command("mcp prompts", "Ready prompts of the servers", () => import("./commands/mcp-prompts.ts")),
  command("mcp prompt", "One of them, filled in", () => import("./commands/mcp-prompt.ts")),
  command("mcp questions", "What servers ask you while they work", () => import("./commands/mcp-questions.ts")),
  command("mcp answer", "Answer what a server asks", () => import("./commands/mcp-answer.ts")),
  command("mcp doctor", "What is wrong with a server", () => import("./commands/mcp-doctor.ts")),
  command("init", "Write a configuration to start from", () => import("./commands/init.ts")),
  command("trust", "Agree to what a folder's configuration would run", () => import("./commands/trust.ts")),
  command("token create", "Make a token for a program", () => import("./commands/token-create.ts")),
  command("token list", "The tokens of programs", () => import("./commands/token-list.ts")),
  command("token revoke", "Make a token invalid", () => import("./commands/token-revoke.ts")),
  command("doctor", "Check whether everything works here", () => import("./commands/doctor.ts")),
  command("completion", "Let your shell complete commands and tools", () => import("./commands/completion.ts")),
];

/** The command that the words begin with, how many of them name it; a group's name alone gives the group. */
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
  const entry = entries.find(({ path }) => path === `${first} ${second}`);
  if (!entry)
    throw unknownCommand(
      `${first} ${second}`,
      entries.map(({ path }) => path),
    );
  return { entry, used: 2 };
}

/** The words that may stand first. */
export function namesOf(commands: readonly CommandEntry[] = COMMANDS): string[] {
  return [...new Set(commands.map(({ path }) => path.split(" ")[0]!))];
}

function unknownCommand(wrong: string, names: readonly string[]): UsageError {
  return new UsageError(
    `There is no command "${wrong}".`,
    didYouMean(wrong, names) ?? "`haft --help` shows all of them.",
  );
}
