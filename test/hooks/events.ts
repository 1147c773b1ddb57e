// Events of the agents in the shape of their documentation (docs/guides/hooks.md has the sources), and what counts as a denial.
import type { AgentName } from "../../src/models/hook-protocols.ts";

export interface Answered {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface AgentRig {
  /** The event before a command. */
  before(command: string, folder: string, session?: string): object;
  /** The event after it. */
  after(command: string, folder: string, session?: string): object;
  denies(answer: Answered): boolean;
  passes(answer: Answered): boolean;
}

type Json = Record<string, unknown> & { hookSpecificOutput?: Record<string, unknown> };

function json(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const isExit2 = ({ exitCode, stderr }: Answered): boolean => exitCode === 2 && stderr.trim() !== "";
const isSilent = ({ exitCode, stdout }: Answered, field: string): boolean =>
  exitCode === 0 && (stdout === "" || json(stdout)?.[field] === undefined);

const toolUse: AgentRig = {
  before: (command, folder, session = "s1") => ({
    ...{ session_id: session, transcript_path: `${folder}/t.jsonl`, cwd: folder, permission_mode: "default" },
    ...{ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, tool_use_id: "t1" },
  }),
  after: (command, folder, session = "s1") => ({
    ...{ session_id: session, cwd: folder, hook_event_name: "PostToolUse", tool_name: "Bash", tool_use_id: "t1" },
    ...{ tool_input: { command }, tool_response: { stdout: "done by the agent" } },
  }),
  denies: (answer) => {
    const { permissionDecision, permissionDecisionReason } = json(answer.stdout)?.["hookSpecificOutput"] ?? {};
    return isExit2(answer) || (permissionDecision === "deny" && Boolean(permissionDecisionReason));
  },
  // No form of "allow": Codex lets calls run by mistake for some of them.
  passes: ({ exitCode, stdout, stderr }) => exitCode === 0 && stdout === "" && stderr === "",
};

const pluginEvent = (event: string, rest: object, session = "s1") => ({
  event,
  session,
  id: "c1",
  tool: "bash",
  ...rest,
});
const pluginRig = (before: string, after: string): AgentRig => ({
  before: (command, cwd, session) => pluginEvent(before, { cwd, input: { command } }, session),
  after: (command, cwd, session) =>
    pluginEvent(after, { cwd, input: { command }, output: "done by the agent" }, session),
  denies: (answer) => json(answer.stdout)?.["decision"] === "deny" || isExit2(answer),
  passes: ({ exitCode, stdout }) => exitCode === 0 && json(stdout)?.["decision"] === "pass",
});

export const AGENT_RIGS: Readonly<Record<AgentName, AgentRig>> = {
  claude: toolUse,
  codex: {
    ...toolUse,
    before: (...given) => ({ ...toolUse.before(...given), turn_id: "1", model: "m" }),
    after: (...given) => ({ ...toolUse.after(...given), turn_id: "1", model: "m" }),
  },
  gemini: {
    before: (command, cwd, session_id = "s1") => ({
      ...{ session_id, transcript_path: "", cwd, hook_event_name: "BeforeTool", timestamp: "2026-11-19T08:00:00Z" },
      ...{ tool_name: "run_shell_command", tool_input: { command } },
    }),
    after: (command, cwd, session_id = "s1") => ({
      ...{ session_id, cwd, hook_event_name: "AfterTool", tool_name: "run_shell_command", tool_input: { command } },
      tool_response: { llmContent: "done by the agent" },
    }),
    denies: (answer) => isExit2(answer) || json(answer.stdout)?.["decision"] === "deny",
    passes: (answer) => isSilent(answer, "decision"),
  },
  cursor: {
    before: (command, cwd, conversation_id = "s1") => ({
      ...{ conversation_id, generation_id: "g", model: "m", cursor_version: "2", workspace_roots: [cwd] },
      ...{ hook_event_name: "beforeShellExecution", command, cwd },
    }),
    after: (command, cwd, conversation_id = "s1") => ({
      ...{ conversation_id, generation_id: "g", cursor_version: "2", workspace_roots: [cwd] },
      ...{ hook_event_name: "afterShellExecution", command, output: "done by the agent" },
    }),
    denies: (answer) => isExit2(answer) || json(answer.stdout)?.["permission"] === "deny",
    passes: (answer) => isSilent(answer, "permission"),
  },
  copilot: {
    before: (command, cwd, sessionId = "s1") => ({
      ...{ sessionId, timestamp: 1, cwd, toolName: "bash", toolArgs: JSON.stringify({ command }) },
    }),
    after: (command, cwd, sessionId = "s1") => ({
      ...{ sessionId, timestamp: 1, cwd, toolName: "bash", toolArgs: JSON.stringify({ command }) },
      toolResult: { resultType: "success", textResultForLlm: "done by the agent" },
    }),
    denies: (answer) => isExit2(answer) || json(answer.stdout)?.["permissionDecision"] === "deny",
    passes: (answer) => isSilent(answer, "permissionDecision"),
  },
  opencode: pluginRig("tool.execute.before", "tool.execute.after"),
  pi: pluginRig("tool_call", "tool_result"),
};
