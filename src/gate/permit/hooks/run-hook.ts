import { errorMessage, failureText } from "../../../core/error.ts";
import { type Call, toolOf } from "../../../core/call.ts";
import { textOf } from "../../../core/content.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { MaybePromise } from "../../../core/stage.ts";
import type { AnyTool } from "../../../core/tool.ts";
import type { ProgramSandbox } from "../../../io/sandbox/program-sandbox.ts";
import { shownName } from "../rules/rule-conditions.ts";
import type { CommandHook, Hook, HookEvent, HttpHook } from "./hook-settings.ts";

/** A hook's raw answer. */
export type HookOutcome =
  | { kind: "exit"; code: number; stdout: string; stderr: string }
  | { kind: "http"; status: number; body: string }
  /** No answer: not found, not started, too late, too long. */
  | { kind: "none"; why: string };

/** Sends a body and reads the whole answer. Rejects if there is none. */
export type HttpPost = (
  url: string,
  request: { headers: Readonly<Record<string, string>>; body: string; signal: AbortSignal },
) => Promise<{ status: number; body: string }>;

export interface HookHost {
  /** The working folder of commands; they get it as HAFT_PROJECT_DIR and CLAUDE_PROJECT_DIR. */
  workspace: string;
  /** The host's environment. Commands get the same variables as those of `exec`, never variables that a session set. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Confines commands. Called by the first hook that is a command. */
  programs: () => MaybePromise<ProgramSandbox>;
  /** If absent, hooks of type http fail. */
  post?: HttpPost | undefined;
}

/** Longer answers are refused. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Hooks fail if the result is longer. */
const MAX_INPUT_CHARACTERS = 16 * 1024 * 1024;
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
/** The exit code that denies a call. */
export const BLOCKED = 2;

/** Never rejects. */
export async function runHook(hook: Hook, input: string, host: HookHost, signal: AbortSignal): Promise<HookOutcome> {
  const { spec } = hook;
  if (input.length > MAX_INPUT_CHARACTERS) return none("its input is too long");
  try {
    if (isCommand(spec)) return await runCommand(spec, { hook, input, host, signal });
    if (isHttp(spec)) return await send(spec, { hook, input, host, signal });
    return none(`hooks of type ${spec.type} are not run here`);
  } catch (thrown) {
    return none(errorMessage(thrown));
  }
}

function isCommand(spec: Hook["spec"]): spec is CommandHook {
  return spec.type === "command";
}

function isHttp(spec: Hook["spec"]): spec is HttpHook {
  return spec.type === "http";
}

interface HookRun {
  hook: Hook;
  input: string;
  host: HookHost;
  signal: AbortSignal;
}

async function runCommand(spec: CommandHook, { hook, input, host, signal }: HookRun): Promise<HookOutcome> {
  const { workspace } = host;
  // A runtime without such a hook, for example in a bundle, starts no process.
  const [{ findShell }, { startProcess }, { shellEnvironment }] = await Promise.all([
    import("../../../io/shell/find-program.ts"),
    import("../../../io/shell/run-process.ts"),
    import("../../../io/shell/shell-environment.ts"),
  ]);
  const inPlace = (word: string): string => word.replaceAll("${CLAUDE_PROJECT_DIR}", workspace);
  const env = {
    ...shellEnvironment({ host: host.environment }),
    HAFT_PROJECT_DIR: workspace,
    HAFT_HOOK_EVENT: hook.event,
    CLAUDE_PROJECT_DIR: workspace,
  };
  const shell = findShell(env);
  const argv = spec.args ? [spec.command, ...spec.args].map(inPlace) : [shell.path, ...shell.args(spec.command)];
  const { network, read, write, sandbox } = spec;
  const programs = await host.programs();
  const program = await programs.prepare({
    name: "The hook",
    folder: "hooks",
    command: argv,
    cwd: workspace,
    env,
    host: host.environment,
    access: { network, read, write, sandbox },
  });
  // An unconfined text goes through the shell as before: Windows passes it on unquoted.
  const isText = !program.isConfined && !spec.args;
  const process = await startProcess({
    ...(isText ? { shellCommand: spec.command } : { argv: program.command }),
    cwd: workspace,
    env: program.env,
    isSupervised: program.isConfined,
    stdin: "pipe",
    timeoutMs: hook.timeoutMs,
    signal,
    output: { separateStreams: true, maxBytes: MAX_OUTPUT_BYTES },
  });
  process.write(input);
  process.endInput();
  const exit = await process.wait();
  const { stdout, stderr } = process.output.snapshot();
  await program.finish();
  const message = stderr?.head.trim();
  if (exit.reason === "timeout") return none(`it took longer than ${hook.timeoutMs / 1000} seconds`);
  if (exit.reason !== "exited" || exit.exitCode === null) return none(`it was stopped (${exit.signal ?? exit.reason})`);
  if (exit.exitCode === NOT_FOUND || exit.exitCode === NOT_EXECUTABLE) {
    return none(message || `its command was ${exit.exitCode === NOT_FOUND ? "not found" : "not executable"}`);
  }
  // A check that could not do its work must not count as passed.
  const refusal = exit.exitCode === 0 ? undefined : program.explain(`${stderr?.head ?? ""}\n${stdout?.head ?? ""}`);
  if (refusal !== undefined && exit.exitCode !== BLOCKED) {
    return none(`it ended with code ${exit.exitCode}${message ? `: ${message}` : ""}. ${refusal}`);
  }
  if (stdout?.omittedBytes) return none("its answer is too long");
  return { kind: "exit", code: exit.exitCode, stdout: stdout?.head ?? "", stderr: message ?? "" };
}

async function send(spec: HttpHook, { hook, input, host, signal }: HookRun): Promise<HookOutcome> {
  if (!host.post) return none("this runtime cannot send HTTP requests");
  const inTime = AbortSignal.timeout(hook.timeoutMs);
  const allowed = new Set(spec.allowedEnvVars ?? []);
  const fill = (value: string): string =>
    value.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_all, braced?: string, plain?: string) => {
      const name = braced ?? plain ?? "";
      return allowed.has(name) ? (host.environment[name] ?? "") : "";
    });
  const headers = Object.entries(spec.headers ?? {}).map(([name, value]) => [name, fill(value)] as const);
  try {
    const { status, body } = await host.post(spec.url, {
      headers: { "content-type": "application/json", ...Object.fromEntries(headers) },
      body: input,
      signal: AbortSignal.any([signal, inTime]),
    });
    return { kind: "http", status, body };
  } catch (thrown) {
    if (inTime.aborted) return none(`it took longer than ${hook.timeoutMs / 1000} seconds`);
    throw thrown;
  }
}

function none(why: string): HookOutcome {
  return { kind: "none", why };
}

/** A hook's input, with Claude Code's field names. */
export interface HookInput {
  session_id: string;
  /** Empty: conversations are not kept in files here. */
  transcript_path: string;
  cwd: string;
  permission_mode: string;
  hook_event_name: HookEvent;
  tool_name: string;
  tool_input: Record<string, unknown>;
  tool_use_id: string;
  tool_response?: Record<string, unknown>;
}

export function hookInputOf(call: Call, event: HookEvent, cwd: string, result?: ToolResult): HookInput {
  const tool = toolOf(call);
  return {
    session_id: call.caller.session ?? "",
    transcript_path: "",
    cwd,
    permission_mode: call.options.mode ?? "default",
    hook_event_name: event,
    tool_name: shownName(tool),
    tool_input: inClaudeWords(tool, call.accepted),
    tool_use_id: call.id,
    tool_response: result ? responseOf(result) : undefined,
  };
}

function inClaudeWords(tool: AnyTool, accepted: unknown): Record<string, unknown> {
  const names = tool.dialects["claude"]?.parameters ?? {};
  const entries = Object.entries((accepted ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([name, value]) => [Object.hasOwn(names, name) ? names[name]! : name, value]));
}

/** The tool's details (`stdout`, `exitCode`, …), whether it succeeded, and the text for the model. */
function responseOf(result: ToolResult): Record<string, unknown> {
  const { details } = result;
  const isObject = typeof details === "object" && details !== null && !Array.isArray(details);
  const response: Record<string, unknown> = isObject ? { ...details } : { details };
  response["success"] = result.status === "completed";
  response["content"] = textOf(result.content);
  // Only for failures: the details of a completed result may contain an `error`.
  if (result.status === "failed") response["error"] = failureText(result.error);
  return response;
}
