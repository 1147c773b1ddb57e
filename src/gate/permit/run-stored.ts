import type { ApprovalAnswer, FollowOptions } from "../../calls/approval.ts";
import { sha256 } from "../../calls/approval-binding.ts";
import { type Calls, unknownApproval } from "../../calls/calls.ts";
import type { StoredCall } from "../../calls/stored-call.ts";
import { storedResult } from "../../calls/stored-result.ts";
import { type CallOptions, fromCallData, type ToolScope } from "../../core/call.ts";
import { definitionHash } from "../../core/definition.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import type { Gate } from "../../core/gate.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";

export interface StoredCallRunnerOptions {
  calls: Calls;
  registry: ToolRegistry;
  gate: Gate;
  /** The folder that this runtime serves. It runs no calls of another one. */
  folder: string;
  /** Whether commands run to their end, because this process cannot leave them in the background. */
  waitForEnd?: boolean;
  /** Whether this process can make the data of the host that the tool needs. */
  hasDataFor?(tool: AnyTool): boolean;
  /** Sets what the session of the call has set, if this process does not know the session. */
  restoreEnvironment?(session: string | undefined, overlay: Readonly<Record<string, string>>): void;
}

/** How often the process that should run a call is checked: it may have ended. */
const LIVENESS_MS = 500;

/** Runs calls that were approved, whichever process made them, and follows those that other processes run. */
export class StoredCallRunner {
  readonly #options: StoredCallRunnerOptions;
  /** Calls that this object runs. */
  readonly #running = new Map<string, Promise<ToolResult>>();

  constructor(options: StoredCallRunnerOptions) {
    this.#options = options;
  }

  /** Answers a question and resolves with the result of the call, whichever process runs it. */
  async answer(id: string, answer: ApprovalAnswer): Promise<ToolResult> {
    const stored = this.#store(id, answer);
    if (answer.approved === false) this.#options.calls.delayStart(id, stored);
    const { row, wasHeld } = await stored;
    // Nobody else records that the call was denied.
    return row.outcome === "denied" && !wasHeld ? this.#run(row) : this.follow(id);
  }

  async #store(id: string, answer: ApprovalAnswer): Promise<{ row: StoredCall; wasHeld: boolean }> {
    const { calls } = this.#options;
    const before = await calls.get(id);
    const wasHeld = before !== undefined && (before.state !== "waiting" || (await this.#isHeld(before)));
    return { row: await calls.answer(id, answer), wasHeld };
  }

  /** The result of the call once it has ended; `pending` if this runtime closes first. Runs it if nobody else does. */
  async follow(id: string, options: FollowOptions = {}): Promise<ToolResult> {
    const { calls } = this.#options;
    const last: { row?: StoredCall } = {};
    try {
      return await this.#follow(id, options, last);
    } catch (error) {
      if (calls.isClosed && last.row) return storedResult(last.row);
      throw error;
    }
  }

  /** `last`: the row as it was last read. */
  async #follow(
    id: string,
    { signal, onUpdate, holdMs = 0 }: FollowOptions,
    last: { row?: StoredCall },
  ): Promise<ToolResult> {
    const { calls } = this.#options;
    let row = await calls.get(id);
    if (!row?.question) throw unknownApproval(id);
    if (holdMs > 0 && row.state !== "ended") row = await calls.hold(row, holdMs);
    for (;;) {
      last.row = row;
      // Workers run jobs.
      if (row.state === "ended" || row.state === "suspended" || row.job) return storedResult(row);
      if (row.state === "running") row = await calls.settleLost(row);
      const running = this.#running.get(id);
      if (running) return running;
      if (row.state === "approved" && (holdMs > 0 || !(await this.#isHeld(row)))) {
        const result = await this.#run(row, { signal, onUpdate });
        if (result.status !== "pending" || result.pending.id !== id) return result;
        const now = await calls.get(id);
        if (!now || now.state === "approved") return result;
        row = now;
        continue;
      }
      const { state } = row;
      row = await calls.wait(id, (now) => now.state !== state, { signal, ms: LIVENESS_MS });
    }
  }

  /** After the answer to a question whose caller does not wait, but whose command is paused here. */
  runAnswered(row: StoredCall): void {
    if (row.state === "approved" || row.outcome === "denied") void this.#run(row).catch(() => undefined);
  }

  /** Runs approved calls that no process takes care of. For hosts that stay. */
  async recover(): Promise<void> {
    for (const row of await this.#options.calls.unattended()) {
      if (this.#canRun(row) && !this.#running.has(row.id)) void this.#run(row);
    }
  }

  /** Whether a caller waits for it, here or in another live process. */
  async #isHeld(row: StoredCall): Promise<boolean> {
    return this.#options.calls.isHeldHere(row) || (await this.#options.calls.isHeldElsewhere(row));
  }

  #run(row: StoredCall, live: Pick<CallOptions, "signal" | "onUpdate"> = {}): Promise<ToolResult> {
    const known = this.#running.get(row.id);
    if (known) return known;
    const running = this.#execute(row, live).finally(() => this.#running.delete(row.id));
    this.#running.set(row.id, running);
    return running;
  }

  async #execute(row: StoredCall, listeners: Pick<CallOptions, "signal" | "onUpdate">): Promise<ToolResult> {
    const { calls, registry, gate, restoreEnvironment } = this.#options;
    const { question, caller } = row;
    if (!question) throw unknownApproval(row.id);
    const { made } = question;
    const { requestedName = row.toolName } = made;
    const stored = fromCallData(made, registry);
    const live = calls.liveCallOf(row.id);
    const input = live ? live.input : (stored.input ?? question.input);
    const scope = live ? live.scope : stored.scope;
    const options: CallOptions = { ...stored.options, ...listeners };
    if (live?.host !== undefined) options.context = live.host;
    if (this.#options.waitForEnd) options.waitForEnd = true;
    calls.markStored(options, row.id);
    const tool = live?.tool ?? this.#findShown(row, scope);
    const refuse = (refusal: ToolError) => gate.execute(requestedName, input, options, { refusal });
    // Another process may have it. The answer is kept.
    if (!tool) return row.state === "ended" ? refuse(missing(row)) : storedResult(row);
    // Only the program that runs the tool can go on.
    if (tool.isDelegated && row.state !== "ended") return storedResult(row);
    const isReplaced =
      (!made.isDirect && !isStillThere(tool, { name: requestedName, scope, registry })) ||
      definitionHash(tool, sha256) !== question.binding.tool;
    if (isReplaced) {
      await calls.changed(row, "the tool's definition changed");
      return refuse(replaced(requestedName));
    }
    if (!live && made.environment) restoreEnvironment?.(caller.session, made.environment);
    // If there are several versions, the one that was shown.
    const isOne = scope !== undefined || registry.versions(tool.name).length === 1;
    const name = isOne ? requestedName : `${tool.name}@${tool.version}`;
    return gate.execute(made.isDirect ? tool : name, input, options, { scope, isStored: true });
  }

  #canRun(row: StoredCall): boolean {
    const { registry, folder, calls } = this.#options;
    const { question } = row;
    const live = calls.liveCallOf(row.id);
    if (live) return !live.tool.isDelegated;
    if (!question || question.made.folder !== folder) return false;
    const tool = this.#findShown(row, fromCallData(question.made, registry).scope);
    if (!tool || tool.isDelegated || this.#options.hasDataFor?.(tool) === false) return false;
    return definitionHash(tool, sha256) === question.binding.tool;
  }

  /** In a process that did not make the call: a tool with the name and version that were shown. */
  #findShown({ toolName, question }: StoredCall, scope: ToolScope | undefined): AnyTool | undefined {
    if (scope && question) return scope.get(question.made.requestedName ?? toolName) ?? scope.get(toolName);
    const versions = this.#options.registry.versions(toolName);
    return versions.find(({ version }) => version === question?.toolVersion) ?? versions[0];
  }
}

function isStillThere(
  tool: AnyTool,
  { name, scope, registry }: { name: string; scope: ToolScope | undefined; registry: ToolRegistry },
): boolean {
  if (scope) return scope.get(name) === tool;
  // A registry may show its tools otherwise than it keeps them.
  return registry.get(`${tool.name}@${tool.version}`) === tool || registry.versions(tool.name).includes(tool);
}

/** The approval was for the tool that was shown, not for another one with its name. */
function replaced(name: string): ToolError {
  return toolError("conflict", `"${name}" is no longer the tool that was approved`, { next: "Make the call again." });
}

function missing({ toolName, question }: StoredCall): ToolError {
  return toolError("conflict", `"${toolName}" (version ${question?.toolVersion}) is not registered in this process`, {
    next: "Register it, or answer in the process that has it.",
  });
}
