import type { AnyTool } from "../../../core/tool.ts";
import type { ProgramAccess } from "../../../io/sandbox/program-sandbox.ts";
import { shownName } from "../rules/rule-conditions.ts";

/** The events at which hooks run, with the names of Claude Code and Codex. */
export const HOOK_EVENTS = ["PreToolUse", "PermissionRequest", "PostToolUse"] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** What happens to a call if its hook is missing, fails or takes too long. */
export type OnFailure = "block" | "ignore";

interface HookBase {
  /** Seconds. */
  timeout?: number;
  onFailure?: OnFailure;
}

export interface CommandHook extends HookBase, ProgramAccess {
  type: "command";
  /** A shell command; with `args`, a program that runs without a shell. */
  command: string;
  args?: readonly string[];
}

export interface HttpHook extends HookBase {
  type: "http";
  url: string;
  /** `$NAME` and `${NAME}` are replaced by host variables that `allowedEnvVars` lists. */
  headers?: Readonly<Record<string, string>>;
  allowedEnvVars?: readonly string[];
}

/** Types that only other systems have (prompt, agent, mcp_tool): such a hook always fails. */
export interface OtherHook extends HookBase {
  type: string & {};
}

export interface HookGroup {
  /** Names separated by `|` or `,`, or a regular expression; absent, empty or `*` means every tool. */
  matcher?: string;
  hooks: readonly (CommandHook | HttpHook | OtherHook)[];
}

/** The `hooks` of a settings file, unchanged. */
export type HookSettings = { readonly [event in HookEvent]?: readonly HookGroup[] };

/** Hooks of one file. */
export interface HookSource {
  /** As in a settings file. */
  settings: HookSettings;
  /** The file, shown when a hook decides. */
  origin: string;
}

/** One hook of one file, ready to run. */
export interface Hook {
  event: HookEvent;
  matcher: string;
  spec: CommandHook | HttpHook | OtherHook;
  origin: string;
  /** For explanations: `PreToolUse(Bash): ./check.sh`. */
  name: string;
  timeoutMs: number;
}

const DEFAULT_SECONDS = 60;
const MAX_SECONDS = 600;

/** The hooks in file order, and warnings about settings that have no effect. */
export function readHookSettings(sources: readonly HookSource[]): { hooks: Hook[]; warnings: string[] } {
  const hooks: Hook[] = [];
  const warnings: string[] = [];
  for (const { settings, origin } of sources) {
    for (const [event, groups] of Object.entries(settings as Record<string, unknown>)) {
      if (!isHookEvent(event)) {
        warnings.push(`Hooks of ${event} in ${origin} are not run: the events are ${HOOK_EVENTS.join(", ")}.`);
        continue;
      }
      for (const group of listOf<HookGroup>(groups, `hooks.${event} of ${origin}`)) {
        const { matcher = "" } = group;
        for (const spec of listOf<Hook["spec"]>(group.hooks, `hooks.${event}[].hooks of ${origin}`)) {
          const hook = hookOf({ event, matcher, spec, origin });
          hooks.push(hook);
          warnings.push(...warningsOf(hook));
        }
      }
    }
  }
  return { hooks, warnings };
}

function hookOf({ event, matcher, spec, origin }: Pick<Hook, "event" | "matcher" | "spec" | "origin">): Hook {
  const { timeout = DEFAULT_SECONDS, onFailure } = spec;
  const where = `a hook of ${event} in ${origin}`;
  const { command, url } = spec as Partial<CommandHook & HttpHook>;
  const does = spec.type === "command" ? command : spec.type === "http" ? url : `of type ${spec.type}`;
  if (typeof does !== "string" || does.trim() === "") throw new TypeError(`${where} has no command and no url.`);
  if (typeof timeout !== "number" || !(timeout > 0))
    throw new TypeError(`${where}: timeout must be a number of seconds.`);
  if (onFailure !== undefined && onFailure !== "block" && onFailure !== "ignore") {
    throw new TypeError(`${where}: onFailure is "block" or "ignore", not ${JSON.stringify(onFailure)}.`);
  }
  const name = `${event}${matcher ? `(${matcher})` : ""}: ${does}`;
  return { event, matcher, spec, origin, name, timeoutMs: Math.min(timeout, MAX_SECONDS) * 1000 };
}

function warningsOf({ name, spec, origin }: Hook): string[] {
  const subject = `The hook "${name}" of ${origin}`;
  if (spec.type !== "command" && spec.type !== "http") {
    return [`${subject} cannot be run: the types are command and http. It always fails.`];
  }
  return ["if", "async"]
    .filter((key) => Object.hasOwn(spec, key))
    .map(
      (key) =>
        `${subject} has "${key}", which has no effect: the hook runs at every matching call, and the call waits for it.`,
    );
}

function isHookEvent(event: string): event is HookEvent {
  return (HOOK_EVENTS as readonly string[]).includes(event);
}

function listOf<T extends object>(value: unknown, where: string): readonly T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((one) => typeof one !== "object" || one === null)) {
    throw new TypeError(`${where} must be a list of objects.`);
  }
  return value as T[];
}

/** Names, blanks and separators only mean a list of exact names. Anything else is a regular expression. */
const NAME_LIST = /^[\w\-\s,|]+$/;

/** Claude Code's names for these tools: matchers may use either. */
const ALSO_KNOWN_AS: Readonly<Record<string, readonly string[]>> = {
  edit: ["MultiEdit"],
  // It edits files like these: a hook that guards files must see it.
  apply_patch: ["Edit", "Write", "MultiEdit"],
};

/** Whether a matcher matches the tool's own name or Claude Code's name for it. */
export function createMatcher({ matcher, name, origin }: Pick<Hook, "matcher" | "name" | "origin">) {
  const wanted = matcher.trim();
  if (wanted === "" || wanted === "*") return () => true;
  if (NAME_LIST.test(wanted)) {
    const listed = new Set(wanted.split(/[|,]/).map((one) => one.trim()));
    return (tool: AnyTool): boolean => namesOf(tool).some((one) => listed.has(one));
  }
  let pattern: RegExp;
  try {
    pattern = new RegExp(wanted);
  } catch (cause) {
    throw new TypeError(`The matcher of the hook "${name}" of ${origin} is not a regular expression.`, { cause });
  }
  return (tool: AnyTool): boolean => namesOf(tool).some((one) => pattern.test(one));
}

function namesOf(tool: AnyTool): string[] {
  const isOurs = tool.origin.type === "builtin" && Object.hasOwn(ALSO_KNOWN_AS, tool.name);
  return [shownName(tool), tool.name, ...(isOurs ? ALSO_KNOWN_AS[tool.name]! : [])];
}
