import { createHash, randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Caller } from "../../core/call.ts";
import { text } from "../../core/content.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import { type LocalizedText, localizedText, type TextKey } from "../../core/localized-text.ts";
import { atTimeLimit, MAX_GO_ON_MS, MAX_PAUSE_MS } from "../../core/gate.ts";
import type { ToolOutput } from "../../core/result.ts";
import { nextCall } from "../../core/results/next-call.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import { createFiles, type Files, filesOfCommands } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { applyEffects, changedSince } from "../../io/sandbox/apply-effects.ts";
import { type Effect, UnrecordableEffect } from "../../io/sandbox/effects.ts";
import type { PausedRun, PausedRuns } from "../../io/sandbox/paused-runs.ts";
import { PreviewStore, type RecordedRun } from "../../io/sandbox/preview-store.ts";
import { objectFolders } from "../../io/sandbox/profiles.ts";
import type { CommandView, Sandbox } from "../../io/sandbox/sandbox.ts";
import { noticingLeftProcesses, type Refusal, type RefusalReport } from "../../io/sandbox/refusals.ts";
import type { HiddenUse, ViewEffects } from "../../io/sandbox/view.ts";
import { dangerReason, FETCHING_PROGRAMS } from "../../io/shell/dangerous-command.ts";
import type { SpillSink } from "../../io/shell/output-buffer.ts";
import { parseCommand, type SeenCommand, unwrapCommand } from "../../io/shell/parse-command.ts";
import { type RunningProcess, startProcess } from "../../io/shell/run-process.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { replyLimits, type ReplyLimits } from "./command-output.ts";
import { clip, countChanges, countFiles, describeEffects, describeGuarded, listTemporary } from "./describe-effects.ts";
import { quoteText } from "../../core/content.ts";
import { describeRun, type ExecDetails } from "./exec-result.ts";

/** The parts of a call of `exec` that decide whether and how it is previewed. */
export interface PreviewedInput {
  command: string;
  stdin?: string;
  timeout?: number;
  yield_ms?: number;
  run_in_background?: boolean;
  pty?: boolean;
  keep_stdin_open?: boolean;
  outside_sandbox?: boolean;
  requires_approval?: boolean;
}

/** How the command is started: the program with its arguments, where, and with which variables. */
export interface CommandStart {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Names of variables that may hold secrets. */
  secretVariables: readonly string[];
}

export interface PreviewDependencies {
  sandbox: Sandbox;
  files: Files;
  /** Where records are kept until the question is answered. */
  stateFolder: () => string;
  /** How long a command may run before its approval. */
  maxMs?: number;
  /** Where commands that reach that limit wait for an answer. If omitted, they are ended. */
  paused?: PausedRuns;
  /** Whether the objects of this `.git` folder hold secrets. */
  historyHoldsSecrets(repository: string): Promise<boolean>;
  openSpill?: (call: { callId: string; caller: Caller }) => SpillSink | Promise<SpillSink>;
  reply?: Partial<ReplyLimits>;
}

/** What an approver is shown of the effects of a command. */
export interface ShownEffects extends Pick<
  Preview,
  "output" | "counts" | "omitted" | "unshown" | "whole" | "hasNoEffects"
> {
  facts: LocalizedText[];
  /** The changed files and their differences. */
  blocks: string[];
}

interface PreviewResult {
  output: ToolOutput<ExecDetails>;
  shown: ShownEffects;
  /** The input that was run. */
  input: string;
  /** It changed nothing and was refused nothing that it needed: notes for the result, which needs no approval. */
  unasked?: { notes: readonly string[] };
}

type Run = RecordedRun<PreviewResult>;

/** Why its effects are unknown. `unshown`: a person has to confirm that. `goesOn`: after a yes; `facts` say what it did so far. */
type NotRecorded = string | { unshown: string } | { facts: LocalizedText[]; output: string; goesOn?: true };

type Judged = Run | NotRecorded | { readsHistory: string };

/** Of a run whose effects are unknown: what was shown. A yes runs the command again, and what that prints may differ. */
interface UnknownResult {
  input: string;
  why: NotRecorded;
}

/** A started run. */
interface Attempt extends HistoryUse, Pick<CommandStart, "cwd"> {
  input: PreviewedInput;
  context: ToolContext;
  view: CommandView;
  process: RunningProcess;
  limitMs: number;
  isTooLarge?: true;
  paused?: PausedRun;
}

/** A run that a person may approve. */
export interface PreviewedRun {
  key: string;
  run: Run;
}

const DEFAULT_PREVIEW_MS = 10_000;
const DISK_CHECK_MS = 250;
/** Calls at once between their decision and their result. */
const MAX_UNASKED = 10_000;

/** Runs commands in a copy before their approval, which applies exactly what they did there (docs/decisions/0026). */
export class CommandPreviews {
  readonly #dependencies: PreviewDependencies;
  readonly #store: PreviewStore<PreviewResult | UnknownResult>;
  readonly #files: Files;
  /** What was shown last for the input of a call. */
  readonly #ready = new WeakMap<object, PreviewedRun>();
  /** Runs without effects, which nobody is asked about: no other run may take their place. */
  readonly #unasked = new BoundedMap<string, Run>(MAX_UNASKED);

  constructor(dependencies: PreviewDependencies) {
    this.#dependencies = dependencies;
    this.#store = new PreviewStore(dependencies.stateFolder);
    this.#files = filesOfCommands(dependencies.files);
  }

  /** The effects of the command: those of its recorded run while the files are unchanged, else of a new run. */
  async show(input: PreviewedInput, context: ToolContext, start: () => CommandStart): Promise<ShownEffects> {
    this.#ready.delete(input);
    const key = PreviewStore.keyOf(context.callId, context.caller);
    try {
      const known =
        atTimeLimit.get(context) === "continue" ? await this.#goOn(key, input) : await this.#recorded(key, input);
      const run =
        known ??
        reasonNotToRun(input, this.#dependencies.sandbox.refusalReporting.isReported) ??
        this.#keep(key, input, await this.#record(key, input, context, start()));
      if (typeof run === "string") return unknownEffects(run);
      if ("unshown" in run) return { facts: [], blocks: [], unshown: run.unshown };
      if ("facts" in run) return { facts: run.facts, blocks: [], output: run.output === "" ? undefined : run.output };
      this.#ready.set(input, { key, run });
      const hasNoEffects = run.result.unasked !== undefined;
      if (hasNoEffects) this.#unasked.set(key, run);
      return { ...run.result.shown, hasNoEffects };
    } catch (error) {
      if (context.signal.aborted) throw error;
      return unknownEffects(`they cannot be recorded (${errorMessage(error)})`);
    }
  }

  /** The run that was shown for this call. A job that runs an approved call has another input object than the question. */
  async find(input: PreviewedInput, context: ToolContext): Promise<PreviewedRun | undefined> {
    const key = PreviewStore.keyOf(context.callId, context.caller);
    const unasked = this.#unasked.get(key);
    this.#unasked.delete(key);
    const ready = this.#ready.get(input) ?? (unasked && { key, run: unasked });
    this.#ready.delete(input);
    if (ready && ready.run.result.input !== digestOf(input))
      throw toolError("failed", "The command is not the one that ran", { next: "Call it again." });
    if (ready) return ready;
    await this.#dependencies.paused?.get(key)?.end();
    const run = await this.#recorded(key, input, { isUnchanged: false });
    if (isRun(run)) return { key, run };
    // Nobody has agreed to what it does.
    if (typeof run === "object" && "goesOn" in run)
      throw toolError("failed", "The command has not run to its end", { next: "Call it again." });
    // It runs now, and what was shown is not needed any more.
    if (run !== undefined) await this.#store.remove(key);
    return undefined;
  }

  /** Applies what was shown. Throws, without a change, if a file has changed since. */
  async apply({ key, run }: PreviewedRun, context: ToolContext): Promise<ToolOutput<ExecDetails>> {
    if (run.result.unasked) {
      await this.#store.remove(key);
      return withNotes(run.result.output, run.result.unasked.notes);
    }
    const { session, user, agent } = context.caller;
    const maker = { callId: context.callId, session, user, agent, tool: "exec" };
    const contentOf = async (effect: Effect): Promise<Buffer> => {
      const bytes = await this.#store.contentOf(key, effect);
      if (bytes) return bytes;
      throw toolError("failed", "The recorded effects of the command are gone", { next: "Call it again." });
    };
    const lasting = run.effects.filter(({ isTemporary }) => !isTemporary);
    try {
      await applyEffects(lasting, this.#files.narrow(context.allowedPaths, maker), contentOf);
      await this.#applyTemporary(run, contentOf);
    } finally {
      // After a failure the same call is previewed anew.
      await this.#store.remove(key);
    }
    const notes = [`ran in a copy of the workspace; after the approval ${countChanges(lasting.length)} applied`];
    if (run.guarded.length > 0) notes.push(describeGuarded(run, this.#files));
    return withNotes(run.result.output, notes);
  }

  /** Temporary files of others may have changed meanwhile: they are replaced, and nothing depends on them. */
  async #applyTemporary(run: Run, contentOf: (effect: Effect) => Promise<Buffer>): Promise<void> {
    const temporary = run.effects.filter(({ isTemporary }) => isTemporary);
    if (temporary.length === 0) return;
    const workspace = this.#dependencies.sandbox.temporaryFolder;
    const files = filesOfCommands(createFiles(createPathPolicy({ workspace }), { journal: NO_JOURNAL }));
    const moved = temporary.map((effect) => ({ ...effect, path: join(workspace, effect.path) }));
    await applyEffects(moved, files, contentOf).catch(() => undefined);
  }

  /** Undefined if nothing was recorded, or if a file has changed since. */
  async #recorded(
    key: string,
    input: PreviewedInput,
    { isUnchanged = true } = {},
  ): Promise<Run | NotRecorded | undefined> {
    const run = this.#store.load(key);
    if (run?.result.input !== digestOf(input)) return undefined;
    if ("why" in run.result) return run.result.why;
    const recorded = run as Run;
    if (!isUnchanged) return recorded;
    const lasting = run.effects.filter(({ isTemporary }) => !isTemporary);
    // Without counts: recorded by an earlier version.
    const isSame = recorded.result.shown.counts && (await changedSince(lasting, this.#files)).length === 0;
    if (isSame) return recorded;
    await this.#store.remove(key);
    return undefined;
  }

  /** After a yes: the paused run goes on. Undefined if it is gone: it starts again then. */
  async #goOn(key: string, input: PreviewedInput): Promise<Run | NotRecorded | undefined> {
    const known = await this.#recorded(key, input);
    if (typeof known !== "object" || !("goesOn" in known)) return known;
    const run = (await this.#dependencies.paused?.get(key)?.goOn()) as Judged | undefined;
    return run && this.#keep(key, input, settled(run));
  }

  /** A question about the same call, as after its answer in any process, does not run again what could not be recorded. */
  #keep(key: string, input: PreviewedInput, run: Run | NotRecorded): Run | NotRecorded {
    if (isRun(run)) return run;
    const result = { input: digestOf(input), why: run };
    this.#store.save(key, { effects: [], guarded: [], secrets: [], result }, new Map());
    return run;
  }

  /** Runs the command in a view. A text says why its effects are unknown. */
  async #record(
    key: string,
    input: PreviewedInput,
    context: ToolContext,
    start: CommandStart,
  ): Promise<Run | NotRecorded> {
    const { sandbox } = this.#dependencies;
    // Without them it may do something else.
    if (start.secretVariables.length > 0) return `it gets ${listed(start.secretVariables)}, which may hold a secret`;
    const histories = sandbox.refusalReporting.isReported ? await this.#secretHistories() : [];
    const run = await this.#recordIn(key, input, context, { ...start, hide: histories });
    if (typeof run !== "object" || !("readsHistory" in run)) return run;
    // A person decides about what it prints of the history.
    const again = await this.#recordIn(key, input, context, { ...start, readsHistory: run.readsHistory });
    return settled(again);
  }

  /** The objects of repositories that hold secrets: nobody has approved that it reads them. */
  async #secretHistories(): Promise<string[]> {
    const { sandbox, historyHoldsSecrets } = this.#dependencies;
    const repositories = sandbox.repositories();
    const holds = await Promise.all(repositories.map(historyHoldsSecrets));
    return repositories.filter((_, at) => holds[at]).flatMap(objectFolders);
  }

  async #recordIn(
    key: string,
    input: PreviewedInput,
    context: ToolContext,
    { argv, cwd, env, hide = [], readsHistory }: CommandStart & HistoryUse,
  ): Promise<Judged> {
    const { sandbox } = this.#dependencies;
    const { allowedPaths } = context;
    const watched = sandbox.refusalReporting.isReported ? noticingLeftProcesses(argv) : argv;
    const view = await sandbox.openView(watched, { cwd, terminal: false, allowedPaths, hide });
    if ("why" in view) return view.why;
    const started = { argv: view.command, cwd, env: { ...QUIET, ...env, ...view.env } };
    const run = await this.#start(input, context, { view, started }).catch((error: unknown) => {
      void view.close().catch(() => undefined);
      throw error;
    });
    return this.#finish(key, { ...run, hide, readsHistory });
  }

  /** Waits for its end. At its time limit it is paused or ended. */
  async #finish(key: string, run: Attempt): Promise<Judged> {
    const { process, view } = run;
    let soFar: NotRecorded | undefined;
    try {
      await waitWithin(run);
      if (!process.exit) {
        soFar = await this.#pause(key, run);
        if (soFar !== undefined) return soFar;
        await process.kill("timeout");
      }
      return run.paused?.signal.aborted ? "it was ended" : await this.#judge(key, run);
    } catch (error) {
      void run.paused?.end();
      if (error instanceof UnrecordableEffect) return error.message;
      throw error;
    } finally {
      // Nobody has to wait for it.
      if (soFar === undefined) void view.close().catch(() => undefined);
    }
  }

  /** What it did so far. Undefined if it cannot be paused, or nobody could agree that it goes on. */
  async #pause(key: string, run: Attempt): Promise<NotRecorded | undefined> {
    const { process, view, input, context, limitMs } = run;
    if (run.paused || input.timeout !== undefined || atTimeLimit.get(context) !== "pause") return undefined;
    run.paused = await this.#dependencies.paused?.pause(key, process, () => {
      run.limitMs = MAX_GO_ON_MS;
      return this.#finish(key, run);
    });
    if (!run.paused) return undefined;
    // The call that asks may end before the answer.
    process.sendToBackground();
    const paths = this.#pathsOf(view.collect().effects);
    const { output } = await this.#describeRun(run);
    const values = { seconds: String(limitMs / 1000), paths };
    const goesOn = localizedText("preview.goesOn", { minutes: String(MAX_PAUSE_MS / 60_000) });
    const facts = [localizedText(paths === "" ? "preview.paused" : "preview.pausedChanged", values), goesOn];
    return { facts, output: clip(showHiddenCharacters(output.details?.output ?? "")), goesOn: true };
  }

  /** After its end. */
  async #judge(key: string, attempt: Attempt): Promise<Judged> {
    const { input, view, hide = [], readsHistory, process } = attempt;
    const { output, problem } = await this.#describeRun(attempt);
    const isTimeout = process.exit?.reason === "timeout";
    const printed = output.details?.output ?? "";
    const used = view.used(printed);
    if (!used) return problem ?? "which hidden files it opened is not known";
    const history = used.secrets.find((path) => hide.includes(path));
    if (history !== undefined) return { readsHistory: this.#files.show(history) };
    const report = view.refusals(printed);
    const isSearch = report !== undefined && searchesOnly(input.command, used.secrets);
    if (used.secrets.length > 0 && !isSearch) return { unshown: this.#describeUsed(used.secrets) };
    const met = new Set([...used.secrets, ...used.denied]);
    const refused = report?.refusals.filter(({ subject, harmless }) => !harmless && !met.has(subject)) ?? [];
    let unkept: LocalizedText[] = [];
    if (problem === undefined || (isTimeout && input.timeout !== undefined)) {
      const found = view.collect();
      const { effects, guarded } = found;
      unkept = report ? this.#describeUnkept(found.unkept) : [];
      const isKept = refused.length === 0 && unkept.length === 0;
      const hasEffects = effects.length > 0 || guarded.length > 0;
      const isApplicable = problem === undefined && refused.every(({ kind }) => !NEEDED.has(kind));
      if (isKept || (hasEffects && isApplicable)) {
        const facts = [...describeRefused(refused, printed), ...unkept];
        if (readsHistory !== undefined) facts.push(localizedText("preview.readsHistory", { path: readsHistory }));
        const shown = await this.#describe(found, output, { denied: used.denied, facts });
        const isSettled = isKept && !hasEffects && readsHistory === undefined;
        const isUnasked = report !== undefined && isSettled && dangerReason(input.command) === null;
        const notes = this.#notesOn(used, report);
        const result = { output, shown, input: digestOf(input), unasked: isUnasked ? { notes } : undefined };
        const run = { effects, guarded, secrets: [...found.secrets], result };
        // A rule may ask nevertheless, and another process may answer.
        const saved = isUnasked || problem === undefined ? this.#store.save(key, run, found.contents) : undefined;
        if (isUnasked) return (saved as Run | undefined) ?? run;
        if (problem === undefined) return (saved as Run | undefined) ?? "they cannot be recorded";
      }
    }
    const soFar = isTimeout ? this.#describeSoFar(view.collect().effects) : [];
    const facts = [...describeRefused(refused, printed), ...unkept, ...soFar];
    if (facts.length === 0) return problem ?? "they cannot be recorded";
    const isRefused = refused.some(({ kind }) => NEEDED.has(kind));
    const why = problem ?? (isRefused ? "it was refused something" : "the copy did not keep them");
    return { facts: [...facts, ...unknownEffects(why).facts], output: clip(printed) };
  }

  /** What a search met and did not see, and what is not kept. */
  #notesOn({ secrets, denied }: HiddenUse, report: RefusalReport | undefined): string[] {
    const hidden = [...secrets, ...denied];
    const lost = report?.thrownAway ?? [];
    return [
      ...(hidden.length > 0 ? [`it was shown these as empty, as they may hold secrets: ${this.#names(hidden)}`] : []),
      ...(lost.length > 0 ? [`what it wrote there was thrown away: ${this.#names(lost)}`] : []),
    ];
  }

  #names(paths: readonly string[]): string {
    return listed(paths.map((path) => showHiddenCharacters(this.#files.show(path))));
  }

  #pathsOf(effects: readonly Effect[]): string {
    const lasting = effects.filter(({ isTemporary }) => !isTemporary);
    return this.#names(lasting.map(({ path }) => path));
  }

  #describeSoFar(effects: readonly Effect[]): LocalizedText[] {
    const paths = this.#pathsOf(effects);
    return [paths === "" ? localizedText("preview.stillRan") : localizedText("preview.changedSoFar", { paths })];
  }

  #describeUnkept(unkept: readonly string[]): LocalizedText[] {
    return unkept.length === 0 ? [] : [localizedText("preview.unkept", { paths: this.#names(unkept) })];
  }

  async #start(
    input: PreviewedInput,
    context: ToolContext,
    { view, started }: { view: CommandView; started: Omit<CommandStart, "secretVariables"> },
  ): Promise<Attempt> {
    const { openSpill, maxMs = DEFAULT_PREVIEW_MS, sandbox } = this.#dependencies;
    const { caller, signal } = context;
    // The address of an output contains the call id. The caller must not find this one before the approval.
    const callId = `preview-${randomUUID()}`;
    const { isReported } = sandbox.refusalReporting;
    // The call's own limit ends it. Without one a person is asked, once.
    const without = atTimeLimit.get(context) === "continue" ? MAX_GO_ON_MS : maxMs;
    const limitMs = isReported ? (input.timeout ?? without) : Math.min(maxMs, input.timeout ?? maxMs);
    const process = await startProcess({
      ...started,
      stdin: input.stdin === undefined ? "closed" : "pipe",
      signal,
      output: { separateStreams: true, openSpill: openSpill && (() => openSpill({ callId, caller })) },
      isSupervised: true,
      limits: view.limits,
    });
    if (input.stdin !== undefined) {
      if (input.stdin !== "") process.write(input.stdin);
      process.endInput();
    }
    return { input, context, view, process, cwd: started.cwd, limitMs };
  }

  async #describeRun(run: Attempt): Promise<{ output: ToolOutput<ExecDetails>; problem?: string }> {
    const { reply, sandbox } = this.#dependencies;
    const { input, context, process, limitMs } = run;
    if (process.exit?.reason === "aborted") context.signal.throwIfAborted();
    const described = {
      command: input.command,
      workingDirectory: this.#files.show(run.cwd),
      id: "preview",
      process,
      limitMs,
      elapsedMs: 0,
      stopped: false,
      profile: "work" as const,
      input: input.stdin === undefined ? ("closed" as const) : ("ended" as const),
      next: (name: string, values: Readonly<Record<string, unknown>>) => nextCall(context, name, values),
    };
    const output = await describeRun(described, replyLimits(context, reply));
    if (output.details) output.details.processId = undefined;
    const { isReported } = sandbox.refusalReporting;
    const problem = run.isTooLarge ? "it writes too much" : problemOf(output.details, { limitMs, isReported });
    return { output, problem };
  }

  #describeUsed(secrets: readonly string[]): string {
    return `It opened ${this.#names(secrets)}, which it may only read after approval. It will run again after approval; its effects are not known`;
  }

  async #describe(
    found: ViewEffects,
    { details }: ToolOutput<ExecDetails>,
    { denied, facts: refused }: { denied: readonly string[]; facts: readonly LocalizedText[] },
  ): Promise<ShownEffects> {
    const { effects, guarded } = found;
    const lasting = effects.filter(({ isTemporary }) => !isTemporary);
    const temporary = effects.filter(({ isTemporary }) => isTemporary);
    const { lines, diffs, counts, omitted, whole } = await describeEffects(lasting, found, this.#files);
    const printed = showHiddenCharacters(details?.output ?? "").trimEnd();
    const output = clip(printed);
    const digest = digestOf([effects, guarded, details?.output, details?.exitCode]);
    const ran = { exitCode: String(details?.exitCode), changes: countFiles(lasting) };
    const facts = [localizedText("preview.ran", ran), ...refused];
    if (guarded.length > 0) facts.push(localizedText("preview.guarded", { text: describeGuarded(found, this.#files) }));
    if (denied.length > 0) {
      facts.push(localizedText("preview.usedDenied", { paths: this.#names(denied) }));
    }
    if (temporary.length > 0) facts.push(localizedText("preview.temporaryFiles", { count: temporary.length }));
    facts.push(localizedText(output === "" ? "preview.noOutput" : "preview.output"));
    facts.push(localizedText("preview.effectsHash", { hash: digest.slice(0, 16) }));
    const blocks = [lines.join("\n"), diffs.join("\n")].filter((block) => block !== "");
    const isWhole = whole === undefined && output === printed && temporary.length === 0;
    const listing = [whole ?? blocks.join("\n\n"), ...listTemporary(temporary)].filter((part) => part !== "");
    return {
      facts,
      blocks,
      output: output === "" ? undefined : output,
      counts,
      omitted: omitted.length > 0 ? omitted.join("; ") : undefined,
      whole: isWhole ? undefined : [...listing, "", "It printed:", quoteText(printed)].join("\n"),
    };
  }
}

function isRun(run: Run | NotRecorded | undefined): run is Run {
  return typeof run === "object" && "result" in run;
}

function settled(run: Judged): Run | NotRecorded {
  return typeof run === "object" && "readsHistory" in run ? "it reads the history of git" : run;
}

const MAX_NAMED = 5;

function listed(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return names.slice(0, MAX_NAMED).join(", ") + more;
}

interface HistoryUse {
  /** Hidden because the history holds secrets. */
  hide?: readonly string[];
  /** It reads this, and a person has to know. */
  readsHistory?: string;
}

/** Programs write their caches and notes of updates without being asked to. */
const QUIET = { PYTEST_ADDOPTS: "-p no:cacheprovider", NO_UPDATE_NOTIFIER: "1" };

const SEARCHES = new Set(
  "grep egrep fgrep rg ag ack find fd fdfind ls tree du wc sort head tail uniq cut awk sed xargs git cat echo printf true".split(
    " ",
  ),
);

/** Whether it met the hidden files by searching folders, and names none of them. */
function searchesOnly(command: string, secrets: readonly string[]): boolean {
  if (secrets.length === 0) return true;
  const { commands } = unwrapCommand(parseCommand(command));
  return commands.every(({ name }) => SEARCHES.has(name)) && !secrets.some((path) => command.includes(basename(path)));
}

const REFUSED: Readonly<Record<Refusal["kind"], TextKey>> = {
  hidden: "preview.refusedHidden",
  network: "preview.refusedNetwork",
  socket: "preview.refusedSocket",
  call: "preview.refusedCall",
  outside: "preview.refusedOutside",
  moved: "preview.refusedMoved",
  cache: "preview.refusedCache",
  left: "preview.leftProcess",
};
/** What a command that was refused it may need: its effects are not those of a run that gets it. */
const NEEDED = new Set<Refusal["kind"]>(["hidden", "socket", "outside", "moved"]);
const HOST = /(?:Could not resolve host:|ENOTFOUND|EAI_AGAIN|Failed to resolve)\s+'?([\w.-]+)/;

/** In the words of a person, with the host that the program named. */
function describeRefused(refused: readonly Refusal[], output: string): LocalizedText[] {
  const host = HOST.exec(output)?.[1];
  return refused.slice(0, MAX_NAMED).map(({ kind, subject }) => {
    const name = kind === "network" && host !== undefined ? host : subject;
    return localizedText(REFUSED[kind], { subject: showHiddenCharacters(name) });
  });
}

function withNotes(output: ToolOutput<ExecDetails>, notes: readonly string[]): ToolOutput<ExecDetails> {
  const content = typeof output.content === "string" ? [text(output.content)] : output.content;
  const added = notes.length === 0 ? [] : [text(notes.map((note) => `[${note}]`).join("\n"))];
  return {
    ...output,
    content: [...content, ...added],
    details: output.details && { ...output.details, previewed: true },
  };
}

const NO_JOURNAL = { before: async () => undefined };

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

export const NEEDS_NETWORK = "it needs the network";

function unknownEffects(why: string): ShownEffects {
  return { facts: [localizedText("preview.unknownEffects", { why })], blocks: [] };
}

/** Resolves when it has ended, or when its time is over. It is killed if it fills the disk. */
async function waitWithin(run: Attempt): Promise<void> {
  const { process, view, limitMs } = run;
  const timer = setInterval(() => {
    if (!view.isTooLarge) return;
    run.isTooLarge = true;
    void process.kill("killed");
  }, DISK_CHECK_MS);
  let late: NodeJS.Timeout | undefined;
  try {
    await Promise.race([process.wait(), new Promise((resolve) => (late = setTimeout(resolve, limitMs)))]);
  } finally {
    clearInterval(timer);
    clearTimeout(late);
  }
}

const KILLED_BY_FILE_SIZE = 153;
const NOT_CONFINED = 125;

/** Why the run says nothing about what the command would do. */
function problemOf(
  details: ExecDetails | undefined,
  { limitMs, isReported }: { limitMs: number; isReported: boolean },
): string | undefined {
  if (!details || details.reason === "timeout") return `it did not end within ${limitMs / 1000} s`;
  if (details.reason === "limit") return TOO_MUCH;
  const { exitCode, output, stderr = "" } = details;
  if (exitCode === NOT_CONFINED && stderr.includes("haft-launch: cannot confine"))
    return "this machine has no overlays";
  if (exitCode === KILLED_BY_FILE_SIZE) return "it writes a very large file";
  if (exitCode === 0) return undefined;
  if (/cross-device link|\bEXDEV\b/i.test(output)) return "it renames a folder, which a copy cannot do";
  if (LIMIT_FAILURE.test(output)) return TOO_MUCH;
  // If refusals are reported, nobody has to guess.
  return !isReported && NETWORK_FAILURE.test(output) ? NEEDS_NETWORK : undefined;
}

const TOO_MUCH = "it uses too many processes or too much memory";
/** What programs print if the kernel refuses more of something. */
const LIMIT_FAILURE =
  /Resource temporarily unavailable|can't start new thread|Cannot allocate memory|\bMemoryError\b|\bpthread_create\b|Too many open files|\bEMFILE\b|\bENOMEM\b|No space left on device|\bENOSPC\b/i;

const NETWORK_FAILURE =
  /Could not resolve (?:host|proxy)|EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|Network is unreachable|name resolution|Name or service not known|no such host|Connection refused/i;

/** Others that cannot work without the network. */
const NETWORK_PROGRAMS = new Set(
  "ping npx bunx apt apt-get apk dnf yum brew terraform ansible heroku vercel netlify fly firebase".split(" "),
);
const FETCHING_SUBCOMMANDS: Readonly<Record<string, RegExp>> = {
  git: /^(?:clone|fetch|pull|push|ls-remote|submodule)$/,
  npm: /^(?:install|i|ci|add|update|up|upgrade|publish|audit|outdated|view|info|create|init|exec|x|login|whoami)$/,
  pnpm: /^(?:install|i|add|update|up|publish|audit|outdated|dlx|create)$/,
  yarn: /^(?:install|add|up|upgrade|publish|audit|dlx|create)$/,
  bun: /^(?:install|i|add|update|publish|x|create)$/,
  pip: /^(?:install|download|index|search)$/,
  pip3: /^(?:install|download|index|search)$/,
  uv: /^(?:sync|add|lock|pip|tool|python)$/,
  poetry: /^(?:install|add|update|publish)$/,
  cargo: /^(?:fetch|install|publish|update|add|search)$/,
  go: /^(?:get|install)$/,
  gem: /^(?:install|update|push)$/,
  bundle: /^(?:install|update)$/,
  composer: /^(?:install|update|require)$/,
};
const WAITING = new Set("sleep watch top htop less more man vi vim nano emacs nodemon tmux screen yes".split(" "));
const WAITING_SCRIPTS = /^(?:start|dev|serve|watch|preview)$/;
const WAITING_OPTIONS = /^(?:-f|--follow|-w|--watch|--watchAll|--serve)$/;
const WITH_SCRIPTS = new Set(["npm", "pnpm", "yarn", "bun", "next", "vite", "webpack", "ng"]);

/** They need the network only for packages that are not installed, or wait only at a terminal. */
const TRIED = new Set(["npx", "bunx", "less", "more"]);

/** Programs whose effects an overlay shows, on relative paths of their own folder: nothing else can be named by mistake. */
const SHOWN_DANGERS = new Set("rm find git chmod rmdir echo ls cat mkdir true test [ npm".split(" "));

function isLocal({ name, argv, open }: SeenCommand): boolean {
  const isPathOutside = (word: string): boolean => /^[~/]|(?:^|[=/])\.\.(?:\/|$)/.test(word);
  return SHOWN_DANGERS.has(name) && open.length === 0 && !argv.slice(1).some(isPathOutside);
}

/** Commands that are not run before their approval, because they could not be shown, or would wait for something. */
function reasonNotToRun(input: PreviewedInput, isReported: boolean): string | undefined {
  if (input.outside_sandbox) return "it runs outside the sandbox";
  if (input.pty || input.keep_stdin_open) return "it is interactive";
  if (input.run_in_background || input.yield_ms !== undefined) return "it continues in the background";
  const parsed = parseCommand(input.command);
  if (parsed.problem) return "its text cannot be understood";
  if (parsed.constructs.has("background") || parsed.constructs.has("coprocess"))
    return "it continues in the background";
  const { commands } = unwrapCommand(parsed);
  if (dangerReason(input.command) && !commands.every((command) => isLocal(command))) return "it is dangerous";
  for (const { name, argv } of commands) {
    const words = argv.slice(1);
    // If refusals are reported, it can be tried.
    if (isReported && TRIED.has(name)) continue;
    const subcommand = FETCHING_SUBCOMMANDS[name];
    if (
      FETCHING_PROGRAMS.has(name) ||
      NETWORK_PROGRAMS.has(name) ||
      (subcommand && words.some((word) => subcommand.test(word)))
    )
      return NEEDS_NETWORK;
    // Its own limit ends it without a question.
    const ends = isReported && input.timeout !== undefined;
    const waits =
      (!ends && WAITING.has(name)) || (WITH_SCRIPTS.has(name) && words.some((word) => WAITING_SCRIPTS.test(word)));
    if (
      waits ||
      (["tail", "tsc", "jest", "vitest", "webpack"].includes(name) && words.some((word) => WAITING_OPTIONS.test(word)))
    )
      return "it waits or runs for long";
  }
  return undefined;
}
