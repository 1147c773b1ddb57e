/**
 * Calls that other agents make with their own tools, as their hooks report them. Each is a call of the gate, with the agent as its
 * caller: judged, asked about and recorded as the tool of ours that does the same. The agent runs the tool itself.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { BoundedMap } from "../core/bounded-map.ts";
import type { Call, Caller, CallOptions, Verdict } from "../core/call.ts";
import { text } from "../core/content.ts";
import { createTool, delegatedTool, validatedInput } from "../core/create-tool.ts";
import { errorMessage, toFailure, toolError } from "../core/error.ts";
import { callOf, runtimeGateOf } from "../core/gate.ts";
import { canonicalJson } from "../core/json.ts";
import { localizedText } from "../core/localized-text.ts";
import type { ToolResult } from "../core/result.ts";
import { type AnyTool, type Preview, type ToolContext, ToolKind, ToolPermission } from "../core/tool.ts";
import type { AuditLog } from "../gate/audit-log.ts";
import type { UndoJournal } from "../io/files/undo-store.ts";
import { WorkspaceScan } from "../io/sandbox/workspace-scan.ts";
import {
  type AgentCall,
  type AgentEvent,
  type AgentName,
  denyAnswer,
  type HookAnswer,
  mapAgentCall,
  mcpNameOf,
  passAnswer,
  possibleMcpNames,
  readAgentEvent,
} from "../models/hook-protocols.ts";
import type { Haft } from "../runtime.ts";
import { describeChange, previewChanges } from "../tools/files/file-access.ts";
import { commandLabels } from "../tools/shell/exec.ts";
import type { Workspace } from "../workspace.ts";
import { AgentChanges, type Looked } from "./agent-changes.ts";
import { isObject } from "../schema/json-schema.ts";

/** The version of a tool of ours as agents run it: `exec@agent`. */
const VERSION = "agent";
const DELEGATED = [
  ...["exec", "apply_patch", "read", "write", "edit", "delete_file", "edit_notebook"],
  ...["list_files", "glob", "grep", "web_fetch", "web_search", "todo"],
];
/** A command that is always denied, by which an installation shows that the hook is called. */
const CANARY = /^: haft canary ([0-9a-f]{32})$/;

const MAX_OPEN = 2000;
const MAX_OTHER_TOOLS = 500;
const MAX_NOTED = 200;
/** To answer, before the agent's limit is over. */
const MARGIN_MS = 1500;

/** What a pass of a delegated call is for. Only this module gives one, so no other caller gets an agent's call through. */
class Pass {
  ticket: string | undefined;
  /** Why it was let through. */
  verdict: Verdict | undefined;
  readonly ended: (() => unknown) | undefined;

  constructor(ended?: () => unknown) {
    this.ended = ended;
  }
}

/** The code of every delegated tool: it runs nothing. */
function handOut(_input: unknown, context: ToolContext): unknown {
  const { host } = context;
  if (!(host instanceof Pass)) {
    throw toolError("conflict", "Only the hook of an agent makes this call", {
      next: "Call the tool by its plain name.",
    });
  }
  if (host.ended) return host.ended();
  host.ticket = randomUUID();
  host.verdict = callOf(context).verdict;
  return { content: "The agent may run it.", pending: { kind: "client", id: host.ticket } };
}

/** Adds to a runtime how agents run its tools: every process can then answer questions about such calls. */
export function registerAgentTools(haft: Pick<Haft, "tools" | "register">, workspace: Workspace): void {
  for (const name of DELEGATED) {
    const tool = haft.tools.registry.get(name);
    if (tool?.name === name && tool.origin.type === "builtin") haft.register(delegate(tool, workspace));
  }
}

function delegate(tool: AnyTool, workspace: Workspace): AnyTool {
  return delegatedTool(
    tool,
    {
      version: VERSION,
      concurrency: "shared",
      isConcurrencySafe: true,
      mode: "inline",
      limits: {},
      idempotent: true,
      permission: (input: unknown, context) => permissionOf(tool, input as Fields, { workspace, context }),
      preview: (input: unknown, context: ToolContext) => previewOf(tool, input as Fields, { workspace, context }),
      ...(tool.name === "exec" && { labelsOf: labelsOfCommand }),
    },
    handOut,
  );
}

type Fields = Readonly<Record<string, unknown>>;
type PermissionContext = Parameters<AnyTool["permission"]>[1];

/** Nothing confines it, so it may reach out, and print what others wrote. */
const labelsOfCommand: AnyTool["labelsOf"] = (input) => [
  ...commandLabels(String((input as Fields)["command"])),
  ...(["untrusted_input", "outside_effect"] as const),
];

/**
 * As our tool asks, and also where our tool relies on what Haft does when it runs it: the sandbox of a command, and the rules of
 * paths. The agent runs it without them.
 */
async function permissionOf(
  tool: AnyTool,
  input: Fields,
  { workspace, context }: { workspace: Workspace; context: PermissionContext },
): Promise<ToolPermission> {
  if (tool.name === "exec") return isHarmless(input, workspace) ? ToolPermission.AUTO : ToolPermission.CONFIRM;
  // Ours refuses addresses of this machine and of its network when it connects, and a public name may have such an address.
  if (tool.name === "web_fetch") return ToolPermission.CONFIRM;
  const own = await tool.permission(input, context);
  if (own !== ToolPermission.AUTO) return ToolPermission.CONFIRM;
  // Our searches leave secrets out, and the agent's may not.
  if (tool.name === "grep" && hasSecrets(workspace)) return ToolPermission.CONFIRM;
  const signature = await tool.signature?.(input);
  const { reads = [], changes = [] } = typeof signature === "object" ? signature : {};
  return [...reads, ...changes].every((path) => isOpen(path, workspace)) ? ToolPermission.AUTO : ToolPermission.CONFIRM;
}

/** One simple command of literal words that shows no contents of files. */
const HARMLESS = /^(?:pwd|whoami|date|git status|uname(?: -[a-z]+)?|ls(?: -[aAlhFrtS1]+)?|echo(?: [\w.,:/-]+)*)$/;

/** The agent's shell runs what is written, without a sandbox, so nothing that a program may interpret is harmless. */
function isHarmless({ command, working_directory: cwd = ".", ...others }: Fields, workspace: Workspace): boolean {
  if (typeof command !== "string" || typeof cwd !== "string" || Object.values(others).some(Boolean)) return false;
  if (!HARMLESS.test(command) || !isOpen(cwd, workspace)) return false;
  return command !== "git status" || startsNothing(resolve(workspace.folder, cwd));
}

const PLAIN_GIT = [
  /^\s*(?:[#;].*)?$/,
  /^\[(?:core|user|(?:remote|branch) "[\w./-]+")\]$/,
  /^\s*(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks|url|fetch|merge|remote|name|email)\s*=[^\\]*$/i,
];

/** Whether `git status` there starts no program: the configuration and the hooks of a repository can name some. */
function startsNothing(folder: string): boolean {
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    // As a bare repository has.
    if (existsSync(join(at, "HEAD"))) return false;
    const git = join(at, ".git");
    if (lstatSync(git, { throwIfNoEntry: false })) {
      if (["commondir", "hooks/post-index-change", "modules"].some((name) => existsSync(join(git, name)))) return false;
      try {
        if (mayListRepositories(git)) return false;
        const lines = readFileSync(join(git, "config"), "utf8").split(/\r?\n/);
        return lines.every((line) => PLAIN_GIT.some((plain) => plain.test(line)));
      } catch {
        return false;
      }
    }
    if (at === dirname(at)) return true;
  }
}

/** As an entry of the index has it for a repository inside this one, whose own configuration `git status` would follow. */
const MODE_OF_REPOSITORY = Buffer.from([0, 0, 0xe0, 0]);
const MAX_INDEX_BYTES = 32 * 1024 * 1024;

function mayListRepositories(git: string): boolean {
  if (readdirSync(git).some((name) => name.startsWith("sharedindex."))) return true;
  const index = join(git, "index");
  const size = statSync(index, { throwIfNoEntry: false })?.size ?? 0;
  return size > MAX_INDEX_BYTES || (size > 0 && readFileSync(index).includes(MODE_OF_REPOSITORY));
}

const scans = new WeakMap<Workspace, WorkspaceScan>();

function hasSecrets(workspace: Workspace): boolean {
  const scan = scans.get(workspace) ?? new WorkspaceScan(workspace.files);
  scans.set(workspace, scan);
  scan.refresh();
  return scan.secrets.size > 0;
}

function isOpen(path: string, { files }: Workspace): boolean {
  try {
    files.realPath(path);
    return true;
  } catch {
    return false;
  }
}

/** What would change. Our tools insist on conditions that the agent's tool does not have, such as a file that was read before. */
async function previewOf(
  tool: AnyTool,
  input: Fields,
  { workspace, context }: { workspace: Workspace; context: ToolContext },
): Promise<Preview> {
  try {
    const change =
      tool.name === "write" || tool.name === "edit" ? await changeOf(tool.name, input, workspace) : undefined;
    if (change) return change;
    const shown = (await tool.preview?.(input, context)) ?? { title: tool.title, content: [] };
    if (tool.name !== "exec") return shown;
    // What Haft says of its own runs is not true of the agent's, and no effects in the copy prove nothing about that run.
    const facts = (shown.facts ?? [])
      .filter(({ key }) => !OF_OUR_RUNS.has(key))
      .map((fact) => (fact.key in OF_AGENT_RUNS ? localizedText(OF_AGENT_RUNS[fact.key]!, fact.values) : fact));
    return { ...shown, hasNoEffects: undefined, facts: [...facts, localizedText("preview.unconfined")] };
  } catch (error) {
    if (context.signal.aborted) throw error;
    const shown = JSON.stringify(input, undefined, 2);
    return { title: tool.title, content: [text(shown)], facts: [], unshown: errorMessage(error) };
  }
}

/** What is said instead. */
const OF_AGENT_RUNS: Readonly<Record<string, "preview.tried" | "preview.usesDenied">> = {
  "preview.ran": "preview.tried",
  "preview.usedDenied": "preview.usesDenied",
};
const OF_OUR_RUNS: ReadonlySet<string> = new Set([
  ...`preview.effectsHash preview.look preview.confined preview.confinedHosts preview.outsideSandbox
    preview.unconfined`.split(/\s+/),
]);

async function changeOf(name: string, input: Fields, { files }: Workspace): Promise<Preview | undefined> {
  const path = String(input["path"]);
  const read = await files.readWhole(path).then(
    ({ bytes }) => new TextDecoder().decode(bytes),
    (error: unknown) => {
      if (toFailure(error).code !== "path_not_found") throw error;
    },
  );
  const before = read ?? "";
  const after = name === "write" ? String(input["content"]) : editedText(before, input);
  if (after === undefined) return undefined;
  const title = name === "edit" ? `Edit ${path}` : `${read === undefined ? "Create" : "Replace"} ${path}`;
  return previewChanges(title, [await describeChange(path, { before, after })]);
}

function editedText(
  before: string,
  { old_string: old, new_string: fresh, replace_all: all }: Fields,
): string | undefined {
  if (typeof old !== "string" || typeof fresh !== "string" || old === "" || !before.includes(old)) return undefined;
  return all === true ? before.replaceAll(old, () => fresh) : before.replace(old, () => fresh);
}

/** A call that an agent was allowed to run, and has not reported. */
interface OpenCall {
  tool: AnyTool | string;
  input: unknown;
  /** As the agent wrote it. */
  given: AgentCall["input"];
  callId: string;
  caller: Partial<Caller>;
  ticket: string;
  verdict: Verdict;
  /** What there was before, for undo, or why that is not known. */
  before?: Looked | string;
}

export interface AgentCallsOptions {
  haft: Haft;
  workspace: Workspace;
  audit: Pick<AuditLog, "append">;
  /** The person whose agents these are. */
  user: string;
  /** Takes what the calls change, for undo. Default: nothing does. */
  journal?: UndoJournal;
}

export interface HookLimits {
  /** When the agent needs its answer. */
  limitMs: number;
  signal?: AbortSignal;
}

/** Answers the hooks of agents. */
export class AgentCalls {
  readonly #options: AgentCallsOptions;
  /** By agent, session and call; several if the agent gives its calls no ids. Oldest first. */
  readonly #open = new Map<string, OpenCall[]>();
  #openCount = 0;
  /** The id of the call whose question is open, by its key: what a person was shown is kept under that id. */
  readonly #asked = new BoundedMap<string, string>(MAX_OPEN);
  readonly #others = new BoundedMap<string, AnyTool>(MAX_OTHER_TOOLS);
  /** How often a call ended without a pass: the same call after that is another one. */
  readonly #rounds = new BoundedMap<string, number>(MAX_OPEN);
  readonly #prompts = new BoundedMap<string, { texts: readonly string[]; isHeard: boolean }>(MAX_NOTED);

  readonly #changes: AgentChanges | undefined;

  constructor(options: AgentCallsOptions) {
    this.#options = options;
    const { journal, workspace } = options;
    const { files } = workspace;
    this.#changes = journal && new AgentChanges({ files, folder: files.policy.workspace, journal });
  }

  /** Never rejects: what goes wrong denies the call. */
  async answer(agent: AgentName, body: string, limits: HookLimits): Promise<HookAnswer> {
    try {
      return await this.#answer(agent, body, limits);
    } catch (error) {
      return denyAnswer(agent, sentence(errorMessage(error)), body);
    }
  }

  /** The tools that judge a call: ours, and one that takes any input if ours does not know all of it. Nothing is recorded. */
  async toolsFor(agent: AgentName, call: AgentCall): Promise<{ tool: AnyTool; input: Record<string, unknown> }[]> {
    const { tool: found, input, hasUnknown } = this.#map(call, agent);
    const tool = typeof found === "string" ? this.#options.haft.tools.registry.get(found) : found;
    // Rules know our names of parameters.
    const valid = tool && (await validatedInput(tool, input).catch(() => undefined));
    const known = tool && isObject(valid) ? [{ tool, input: valid }] : [];
    if (known.length > 0 && !hasUnknown) return known;
    return [...known, { tool: this.#unread(call.name, tool?.name ?? ""), input: { ...call.input } }];
  }

  /** The agents may still run what was not reported: nobody will hear of it. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((key) => this.#endAll(key)));
  }

  async #answer(agent: AgentName, body: string, limits: HookLimits): Promise<HookAnswer> {
    const event = readAgentEvent(agent, body);
    const caller = { agent, session: `${agent}:${event.session}`, user: this.#options.user };
    switch (event.type) {
      case "call": {
        const denied = await this.#decide(event.call, caller, limits);
        return denied === undefined ? passAnswer(agent) : denyAnswer(agent, sentence(denied), body);
      }
      case "end":
        await this.#report(event, caller);
        return passAnswer(agent);
      case "prompt":
        this.#hear(caller.session, event.text);
        return passAnswer(agent);
      case "idle": {
        const keys = [...this.#open.keys()].filter((key) => key.startsWith(`${caller.session}\n`));
        await Promise.all(keys.map((key) => this.#endAll(key)));
        return passAnswer(agent);
      }
      case "other":
        return passAnswer(agent);
    }
  }

  /** Undefined if the agent may run it, otherwise why not. */
  async #decide(call: AgentCall, caller: AgentCaller, { limitMs, signal }: HookLimits): Promise<string | undefined> {
    const canary = CANARY.exec(String(call.input["command"] ?? ""));
    if (canary) return `Canary ${canary[1]}: the hook is called, and denies.`;
    const until = Date.now() + Math.max(0, limitMs - MARGIN_MS);
    const mapped = this.#map(call, caller.agent);
    const asking = { call, caller, until, signal };
    const denied = mapped.hasUnknown ? INVALID : await this.#ask(mapped, asking);
    if (denied !== INVALID) return denied;
    // It has parameters that our tool does not know. Rules that deny our tool hold all the same.
    const refusal = await this.#refusal(mapped, caller);
    if (refusal !== undefined) {
      const data = { action: "agent_denied", tool: call.name, input: call.input, note: refusal };
      await this.#options.audit.append({ kind: "note", caller, toolName: call.name, data });
      return refusal;
    }
    return this.#ask({ tool: this.#unread(call.name, String(mapped.tool)), input: { ...call.input } }, asking);
  }

  /** Why a call whose input is not known as a whole is denied at once. */
  async #refusal({ tool: name, input }: Mapped, caller: AgentCaller): Promise<string | undefined> {
    const { tools, policy } = this.#options.haft;
    const tool = typeof name === "string" ? tools.registry.get(name) : undefined;
    if (!tool) return undefined;
    const isPart = Object.keys(input).length > 0;
    const known = isPart ? await policy.explain(String(name), input, { caller }).catch(() => undefined) : undefined;
    if (known) return known.verdict.decision === "deny" ? (known.verdict.reason ?? known.text) : undefined;
    const rule = policy.rules
      .compiled()
      .filter((each) => each.list === "deny" && each.appliesTo(tool))
      .find((each) => (each.target.names(tool) ? !each.isBare : !WITHOUT_FILES.has(tool.name)));
    return rule && `The rule ${rule.text} may deny this call, and Haft cannot read its input.`;
  }

  async #ask(
    { tool, input }: Mapped,
    { call, caller, until, signal }: { call: AgentCall; caller: AgentCaller; until: number; signal?: AbortSignal },
  ): Promise<string | undefined> {
    const { haft, workspace } = this.#options;
    const gate = runtimeGateOf(haft);
    const fingerprint = digest([caller.agent, caller.session, call.name, call.input, call.cwd ?? ""]);
    const next = (round: number): void => void this.#rounds.set(fingerprint, round + 1);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      // A cancelled call would only be made again.
      if (signal?.aborted) return "The agent does not wait for the answer any more.";
      const round = this.#rounds.get(fingerprint) ?? 0;
      const key = round === 0 ? fingerprint : `${fingerprint}:${round}`;
      const callId = this.#asked.get(key) ?? `hook_${randomUUID()}`;
      const pass = new Pass();
      const userMessage = this.#heard(caller.session);
      const options: CallOptions = { id: callId, caller, idempotencyKey: key, context: pass, signal, userMessage };
      const result = await gate.execute(tool, input, options);
      if (pass.ticket !== undefined && result.status === "pending" && result.pending.id === pass.ticket) {
        this.#asked.delete(key);
        void workspace.discardPreview(callId, caller).catch(() => undefined);
        const { ticket, verdict = ALLOWED } = pass;
        const before = await this.#lookBefore(tool, input);
        this.#add(call, { tool, input, given: call.input, callId, caller, ticket, verdict, before });
        await this.#label(tool, { input, callId, caller });
        return undefined;
      }
      if (result.status === "pending" && result.pending.kind === "approval") {
        this.#asked.set(key, callId);
        const { id } = result.pending;
        if (await this.#isAnswered(id, until, signal)) continue;
        return waitsFor(id);
      }
      this.#asked.delete(key);
      if (result.status === "failed" && result.error.code === "invalid_input" && typeof tool === "string")
        return INVALID;
      // Another call with this key had this end. This one is asked about anew.
      const isOld = result.metadata["known"] !== undefined || result.status !== "failed";
      const isOver = result.status === "failed" && ENDED.has(result.error.code);
      if (isOver || (isOld && !isDenied(result))) {
        next(round);
        continue;
      }
      return reasonOf(result);
    }
    return "The call changed while it was asked about. Make it again.";
  }

  /** Whether the question is answered in time. */
  async #isAnswered(id: string, until: number, signal: AbortSignal | undefined): Promise<boolean> {
    const left = until - Date.now();
    if (left <= 0) return false;
    const timeout = AbortSignal.timeout(left);
    try {
      await this.#options.haft.approvals.wait(id, signal ? AbortSignal.any([signal, timeout]) : timeout);
      return true;
    } catch (error) {
      if (timeout.aborted || signal?.aborted) return false;
      throw error;
    }
  }

  #map(call: AgentCall, agent: AgentName): Mapped {
    const { tool, input, hasUnknown } = mapAgentCall(agent, call);
    const { registry } = this.#options.haft.tools;
    if (tool === undefined || registry.get(`${tool}@${VERSION}`)?.isDelegated !== true)
      return { tool: this.#other(call.name), input: { ...call.input } };
    const cwd = call.cwd;
    if (cwd !== undefined && !isAbsolute(cwd)) throw toolError("invalid_input", "The event has no absolute cwd");
    // pi removes these from a path, so it would open another file than the one that is judged.
    const isOther = (name: string): boolean => /^@|[\u00a0\u2000-\u200a\u202f\u205f\u3000]/.test(String(input[name]));
    if (agent === "pi" && PATHS.some(isOther))
      throw toolError("invalid_input", "The path begins with @ or has special spaces. Write the path itself.");
    if (cwd !== undefined && cwd !== this.#options.workspace.folder) {
      if (tool === "exec" || tool === "apply_patch") input["working_directory"] ??= cwd;
      if (SEARCHES.has(tool) && !PATHS.some((name) => name in input)) input["path"] = cwd;
      for (const name of PATHS) {
        const path = input[name];
        if (typeof path === "string" && !isAbsolute(path) && !path.startsWith("~")) input[name] = join(cwd, path);
      }
    }
    return { tool: `${tool}@${VERSION}`, input, hasUnknown };
  }

  /** Once for each call that follows: what the user wrote since the last one. */
  #heard(session: string): readonly string[] | undefined {
    const prompts = this.#prompts.get(session);
    if (prompts) prompts.isHeard = true;
    return prompts?.texts;
  }

  #hear(session: string, words: string): void {
    const earlier = this.#prompts.get(session);
    const texts = earlier && !earlier.isHeard ? [...earlier.texts, words].slice(-MAX_PROMPTS) : [words];
    this.#prompts.set(session, { texts, isHeard: false });
  }

  /** A tool of ours, with any input. It asks, and shows the input as it is. */
  #unread(name: string, own: string): AnyTool {
    const found = this.#options.haft.tools.registry.get(own);
    if (!found) return this.#other(name);
    const { name: ownName, aliases, builtIn, category, tags, origin } = found;
    return delegatedTool(this.#other(name), { name: ownName, aliases, builtIn, category, tags, origin }, handOut);
  }

  /** A tool that only the agent has. It is judged by its name and input, and asks. */
  #other(name: string): AnyTool {
    const { rules } = this.#options.haft.policy;
    const key = `${rules.changes.count} ${name}`;
    const known = this.#others.get(key);
    if (known) return known;
    const mcp = mcpNameOf(name);
    const own = (mcp ? `mcp__${mcp.server}__${mcp.tool}` : name).replaceAll(/[^A-Za-z0-9_.:/-]/g, "_").slice(0, 120);
    // A rule that allows a tool of ours must not allow another one of the same name.
    const isTaken = !mcp && this.#options.haft.tools.registry.get(own) !== undefined;
    const servers = rules.rules().flatMap((each) => /^mcp__(.+?)(?:__|\(|$)/i.exec(each.text)?.[1] ?? []);
    const others = [...(isTaken ? [own] : []), ...possibleMcpNames(name, servers)];
    const tool = delegatedTool(
      createTool({
        name: isTaken || !/^\w/.test(own) ? `agent:${own}` : own,
        title: name,
        description: "A tool of an agent. Haft judges its calls, and the agent runs it.",
        kind: ToolKind.Execute,
        version: VERSION,
        origin: mcp ? { type: "mcp", server: mcp.server } : { type: "client", client: "agent" },
        needsApproval: true,
        inputSchema: { type: "object", additionalProperties: true },
        labels: ["untrusted_input", "outside_effect"],
        signature: (input: unknown) => ({ text: canonicalJson(input) }),
        preview: async (input: unknown) => ({ title: name, content: [text(JSON.stringify(input, undefined, 2))] }),
        execute: () => undefined,
      }),
      {
        builtIn: { zh: { title: name, short: name }, sameAs: { opencode: [], gemini: [] }, partlyKnownAs: others },
      },
      handOut,
    );
    this.#others.set(key, tool);
    return tool;
  }

  /** The agent has read the result, or soon will, and may never say so. Its session has its labels from now on. */
  async #label(
    named: AnyTool | string,
    { input, callId, caller }: { input: unknown; callId: string; caller: AgentCaller },
  ): Promise<void> {
    const { tools, policy } = this.#options.haft;
    const tool = typeof named === "string" ? tools.registry.get(named) : named;
    if (!tool) return;
    const call = { id: callId, requestedName: tool.name, tool, input, caller: { depth: 0, ...caller }, began: true };
    const result = { callId, toolName: tool.name, content: [], display: "", metadata: {}, startedAt: Date.now() };
    await policy.provenance.stage.leave?.(call as Partial<Call> as Call, {
      ...result,
      status: "completed",
      success: true,
    });
  }

  /** What the call may change, as it is now. Undefined if it changes no files; a text if what it changes cannot be looked at. */
  async #lookBefore(asked: AnyTool | string, input: Record<string, unknown>): Promise<OpenCall["before"]> {
    const { haft, workspace } = this.#options;
    const isRead = typeof asked === "string";
    const tool = haft.tools.registry.get(isRead ? asked : asked.name);
    if (!this.#changes || !tool || tool.kind === ToolKind.ReadOnly || WITHOUT_FILES.has(tool.name)) return undefined;
    try {
      // Of an input that is not known as a whole, neither are the files.
      if (!isRead) return await this.#changes.look();
      if (tool.name === "exec") return isHarmless(input, workspace) ? undefined : await this.#changes.look();
      const signature = await tool.signature?.(tool.build(input).params);
      const { changes = [] } = typeof signature === "object" ? signature : {};
      return await this.#changes.look(changes.map((path) => workspace.files.realPath(path)));
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** Records what the call has changed. What undo does not cover is a note: the call itself is over. */
  async #recordChanges({ before, callId, caller, tool }: OpenCall): Promise<void> {
    if (!this.#changes || !before) return;
    const { session, user, agent } = caller;
    const toolName = (typeof tool === "string" ? tool : tool.name).replace(`@${VERSION}`, "");
    const note = (data: object) =>
      this.#options.audit.append({
        kind: "note",
        callId,
        caller,
        toolName,
        data: { action: "agent_changes", ...data },
      });
    const isNotCovered = (why: string) => note({ note: `Undo does not cover this call: ${why}` });
    if (typeof before === "string") {
      await isNotCovered(before);
      return;
    }
    try {
      const { notKept, ...found } = await this.#changes.record(before, {
        callId,
        session,
        user,
        agent,
        tool: toolName,
      });
      if (notKept.length === 0 && !found.isCut) return;
      const said = "Undo does not cover everything that this call has changed.";
      await note({ note: said, ...found, notKept: notKept.slice(0, MAX_NOTED), notKeptCount: notKept.length });
    } catch (error) {
      await isNotCovered(errorMessage(error));
    }
  }

  #add(call: AgentCall, open: OpenCall): void {
    const key = openKey(call, open.caller);
    this.#open.set(key, [...(this.#open.get(key) ?? []), open]);
    if (++this.#openCount <= MAX_OPEN) return;
    const [oldest = key] = this.#open.keys();
    void this.#endAll(oldest);
  }

  /** The agent says how its call ended. Only a call that it was allowed to run has an end. */
  async #report({ call, output, failed }: AgentEvent & { type: "end" }, caller: AgentCaller): Promise<void> {
    const key = openKey(call, caller);
    const [open, ...more] = this.#open.get(key) ?? [];
    if (!open) {
      const { tool, input } = this.#map(call, caller.agent);
      await this.#label(tool, { input, callId: `hook_${randomUUID()}`, caller });
      const data = { action: "agent_report", tool: call.name, input: call.input, output, failed };
      const note = "The agent reported the end of a call that it had not announced.";
      await this.#options.audit.append({ kind: "note", caller, toolName: call.name, data: { ...data, note } });
      return;
    }
    if (more.length > 0) this.#open.set(key, more);
    else this.#open.delete(key);
    await this.#recordChanges(open);
    // Another hook of the agent may have replaced it meanwhile.
    if (Object.keys(call.input).length > 0 && digest([call.input]) !== digest([open.given])) {
      const note = "The agent reported another input than the one that was judged.";
      const data = { action: "agent_report", tool: call.name, input: call.input, note };
      await this.#options.audit.append({ kind: "note", callId: open.callId, caller, toolName: call.name, data });
    }
    await this.#end(open, () => {
      if (failed) throw toolError("failed", output || `${caller.agent} reported a failure`);
      return { content: output, details: { reportedBy: caller.agent } };
    });
  }

  async #endAll(key: string): Promise<void> {
    const calls = this.#open.get(key) ?? [];
    this.#open.delete(key);
    for (const open of calls) {
      if (typeof open.before === "object") this.#changes?.forget(open.before);
      await this.#end(open, () => {
        const message = `Not reported: ${open.caller.agent} was allowed to run it, and has not said how it ended.`;
        throw toolError("unknown_outcome", message);
      });
    }
  }

  async #end({ tool, input, callId, caller, ticket, verdict }: OpenCall, ended: () => unknown): Promise<void> {
    this.#openCount--;
    const options: CallOptions = { id: callId, caller, idempotencyKey: false, context: new Pass(ended) };
    const secondPass = { kind: "client" as const, id: ticket, verdict };
    await runtimeGateOf(this.#options.haft).execute(tool, input, options, { secondPass });
  }
}

/** `session` names the agent too, so none can speak for a session of another. */
interface AgentCaller {
  agent: AgentName;
  session: string;
  user: string;
}
interface Mapped {
  tool: AnyTool | string;
  input: Record<string, unknown>;
  hasUnknown?: boolean;
}

const ALLOWED: Verdict = { decision: "allow", by: "policy", reason: "the agent was allowed to run it" };
/** Of ends before this process, and of answers that came. */
const MAX_TRIES = 1000;
const MAX_PROMPTS = 20;
/** Rules for files and commands do not concern them. */
const WITHOUT_FILES: ReadonlySet<string> = new Set(["web_fetch", "web_search", "todo"]);
const SEARCHES: ReadonlySet<string> = new Set(["list_files", "glob", "grep"]);
/** The agents' names of parameters that are relative to the agent's folder. */
const PATHS = [
  ...["path", "file_path", "filePath", "absolute_path", "target_file", "notebook_path", "notebookPath"],
  ...["working_directory", "dir_path", "directory"],
];
const INVALID = "invalid";
/** Ends of a question after which the same call is another one. */
const ENDED: ReadonlySet<string> = new Set(["approval_expired", "stale", "cancelled", "unknown_outcome"]);

function isDenied(result: ToolResult): boolean {
  return result.status === "failed" && (result.error.code === "approval_denied" || result.error.code === "denied");
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(canonicalJson(parts)).digest("hex");
}

function openKey({ id, name, input }: AgentCall, { session }: Partial<Caller>): string {
  return `${session}\n${id === undefined ? digest([name, input]) : `${name} ${id}`}`;
}

function reasonOf(result: ToolResult): string {
  if (result.status !== "failed") return "The call was not decided. Make it again.";
  const { message, next } = result.error;
  return next === undefined ? message : `${message} ${next}`;
}

function waitsFor(id: string): string {
  return (
    `The call has not run: it waits for a person (approval ${id}). Ask the user to answer it in the console or with ` +
    `"haft approvals approve ${id}", and then make exactly the same call again. Do not try it another way.`
  );
}

/** One line, without control characters: agents show it in their terminal. */
function sentence(reason: string): string {
  return `Haft: ${reason.replaceAll(/\p{Cc}+/gu, " ").slice(0, 2000)}`;
}
