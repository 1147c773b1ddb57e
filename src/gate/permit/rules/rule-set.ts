import { homedir } from "node:os";
import { errorMessage } from "../../../core/error.ts";
import type { CallMode, Verdict } from "../../../core/call.ts";
import { checkKeys, keysOf } from "../../../core/options.ts";
import { ChangeCounter } from "../../../core/stage.ts";
import { type AnyTool, saysNothing, neverAsks, statesOnlyKind, type ToolPermission } from "../../../core/tool.ts";
import { compileLimit } from "../limits.ts";
import { type CompiledRule, compileRule } from "./compile-rule.ts";
import type { ToolAnswers } from "../../tool-answers.ts";
import { type Case, judgeCase, judgeWithoutRules } from "./evaluate-rules.ts";
import { type PathBases, pathBasesFor, readSubject } from "./rule-subject.ts";
import { ConditionError } from "./rule-conditions.ts";
import { type Rule, RULE_LISTS, type RuleList, type RuleSource } from "./rule.ts";

/** plan denies what dontAsk may allow, and asks where dontAsk denies: neither is stricter. */
const LOOSER: Readonly<Record<CallMode, readonly CallMode[]>> = {
  plan: ["default", "acceptEdits", "bypassPermissions"],
  dontAsk: ["default", "acceptEdits", "bypassPermissions"],
  default: ["acceptEdits", "bypassPermissions"],
  acceptEdits: ["bypassPermissions"],
  bypassPermissions: [],
};

/** Whether one mode is at least as strict as the other. */
export function isAtLeastAsStrict(mode: CallMode, as: CallMode): boolean {
  return mode === as || LOOSER[mode].includes(as);
}

const SOURCE_KEYS = keysOf<RuleSource>({
  origin: true,
  folder: true,
  allow: true,
  ask: true,
  deny: true,
  limits: true,
  defaultMode: true,
  defaultPermission: true,
  mayBypass: true,
});

/** What a tool says without looking at the input. */
const CONSTANT: ReadonlySet<unknown> = new Set([neverAsks, saysNothing, statesOnlyKind]);

/** A call to judge. */
export interface JudgedCall {
  tool: AnyTool;
  /** The validated input. */
  input: unknown;
  /** Used if it is at least as strict as the rule set's mode, or if that has none. */
  mode?: CallMode | undefined;
  /** The workspace: what paths are relative to. */
  cwd: string;
  home?: string;
  /** For a tool that returns promises of its signature or permission: what they gave. */
  answers?: ToolAnswers | undefined;
  /** Of a tool that does not say whether it asks. Default: that of the rule set. */
  defaultPermission?: ToolPermission | undefined;
}

/** The rules of every source: deny, then ask, then allow. A verdict is synchronous and names what decided. */
export class RuleSet {
  /** Counts every change. */
  readonly changes = new ChangeCounter();
  readonly #listeners = new Set<() => void>();
  #sources: RuleSource[] = [];
  #compiled: CompiledRule[] = [];
  #problems: string[] = [];
  #indexOf = createRuleIndex([]);
  #configuredMode: CallMode | undefined;
  #mayBypass = true;
  #defaultPermission: ToolPermission = "confirm";
  #bases: { cwd: string; home: string; bases: PathBases } | undefined;

  /** The most general source first: the last mode applies. Throws a TypeError for a condition that cannot be understood. */
  constructor(sources: readonly RuleSource[] = []) {
    for (const source of sources) checkKeys(`Rules (${source.origin})`, source, SOURCE_KEYS);
    this.#build(sources.map((source) => ({ ...source })));
  }

  /** The rules' verdict on a call. Throws a TypeError if the tool returns promises and `answers` has not what they gave. */
  judge(call: JudgedCall): Verdict {
    const { tool, mode, defaultPermission = this.defaultPermission } = call;
    return tool.signature === undefined && this.#indexOf(tool).isEmpty
      ? judgeWithoutRules(call, { mode: this.modeOf(mode), defaultPermission })
      : judgeCase(this.caseOf(call));
  }

  /** The verdict on every call of the tool without a mode of its own. Undefined if it depends on the input. */
  verdictOnAll(tool: AnyTool, cwd: string): Verdict | undefined {
    const { deny, ask, allow } = this.#indexOf(tool);
    const isBare = ({ rule, isNamed }: IndexedRule): boolean => rule.isBare && isNamed && !rule.hasConditions;
    if (tool.signature !== undefined || !CONSTANT.has(tool.permission)) return undefined;
    return [...deny, ...ask, ...allow].every(isBare) ? this.judge({ tool, input: {}, cwd }) : undefined;
  }

  /** The judged call, for explanations and trials of single rules. */
  caseOf({ tool, input, mode, cwd, home = homedir(), answers, defaultPermission }: JudgedCall): Case {
    return {
      subject: readSubject(tool, input, this.#basesOf(cwd, home), answers),
      rules: this.#indexOf(tool),
      mode: this.modeOf(mode),
      defaultPermission: defaultPermission ?? this.defaultPermission,
    };
  }

  /** Whether a rule denies every call of the tool, with any input. */
  deniesAll(tool: AnyTool): boolean {
    return this.#indexOf(tool).deny.some(({ rule, isNamed }) => rule.isBare && isNamed);
  }

  /** Every rule, in the order of checking. */
  rules(): Rule[] {
    return RULE_LISTS.flatMap((list) => this.#compiled.filter((rule) => rule.list === list)).map(toRule);
  }

  /** Every rule, ready to match. */
  compiled(): readonly CompiledRule[] {
    return this.#compiled;
  }

  /** The sources, the most general first. */
  sources(): readonly RuleSource[] {
    return this.#sources;
  }

  /** Entries that are not rules and have no effect. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** The default mode. */
  get defaultMode(): CallMode {
    return this.modeOf(undefined);
  }

  /** The permission of tools that do not say whether they ask. */
  get defaultPermission(): ToolPermission {
    return this.#defaultPermission;
  }

  /** The mode for a call that requests this one: a call cannot loosen the configured mode. */
  modeOf(requested: CallMode | undefined): CallMode {
    const configured = this.#configuredMode;
    const mode =
      requested && (configured === undefined || isAtLeastAsStrict(requested, configured))
        ? requested
        : (configured ?? "default");
    return mode === "bypassPermissions" && !this.#mayBypass ? "default" : mode;
  }

  /** Adds a rule at run time, such as one that a person granted. Throws a TypeError if it is not a rule. */
  add(text: string, list: RuleList, origin: string, folder?: string): Rule {
    const rule = compileRule({ text: text.trim(), list, origin, folder });
    const source = this.#sources.find((one) => one.origin === origin && one.folder === folder);
    if (source?.[list]?.includes(rule.text)) return toRule(rule);
    if (source) source[list] = [...(source[list] ?? []), rule.text];
    else this.#sources.push({ origin, folder, [list]: [rule.text] });
    this.#setRules([...this.#compiled, rule]);
    return toRule(rule);
  }

  /** Removes a rule; false if it is not there. */
  remove(text: string, list: RuleList, origin: string): boolean {
    const isIt = (rule: Rule): boolean => rule.text === text.trim() && rule.list === list && rule.origin === origin;
    if (!this.#compiled.some(isIt)) return false;
    for (const source of this.#sources) {
      if (source.origin === origin) source[list] = (source[list] ?? []).filter((each) => each.trim() !== text.trim());
    }
    this.#setRules(this.#compiled.filter((rule) => !isIt(rule)));
    return true;
  }

  /** Replaces the source with this origin, or adds it at the end: for a changed file. */
  replace(source: RuleSource): void {
    const at = this.#sources.findIndex(({ origin }) => origin === source.origin);
    this.#build(at < 0 ? [...this.#sources, { ...source }] : this.#sources.with(at, { ...source }));
  }

  /** Replaces all sources at once: the files have changed. Throws as the constructor does, and then nothing has changed. */
  load(sources: readonly RuleSource[]): void {
    const checked = new RuleSet(sources);
    this.#build([...checked.#sources]);
  }

  /** Removes a source: a removed file, an ended session. */
  drop(origin: string): void {
    this.#build(this.#sources.filter((source) => source.origin !== origin));
  }

  /** What `Read` rules deny, as globs that a search skips (`denyGlobs` of a workspace). */
  deniedReadGlobs(cwd: string, home = homedir()): string[] {
    const bases = this.#basesOf(cwd, home);
    return this.#compiled
      .filter(({ list, family, isBare }) => list === "deny" && family === "reads" && !isBare)
      .flatMap((rule) => rule.pathGlob(bases) ?? []);
  }

  /** Programs that rules deny whatever their words are: by name, or by path. */
  deniedPrograms(): string[] {
    return this.#compiled.flatMap(({ list, program }) => (list === "deny" && program?.isWhole ? [program.name] : []));
  }

  /** Calls the listener now and after each change. Returns what ends that. */
  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    listener();
    return () => void this.#listeners.delete(listener);
  }

  #build(sources: RuleSource[]): void {
    this.#sources = sources;
    // A project's file cannot set bypassPermissions: its author is not the user who runs it.
    this.#configuredMode = sources.findLast(
      ({ defaultMode, origin }) => defaultMode && !(defaultMode === "bypassPermissions" && origin === "project"),
    )?.defaultMode;
    this.#defaultPermission = sources.findLast((source) => source.defaultPermission)?.defaultPermission ?? "confirm";
    this.#mayBypass = sources.every((source) => source.mayBypass !== false);
    this.#problems = [];
    const compiled: CompiledRule[] = [];
    for (const { origin, folder, limits = [], ...lists } of sources) {
      for (const limit of limits) compileLimit(limit, origin);
      for (const list of RULE_LISTS) {
        for (const text of lists[list] ?? []) {
          try {
            compiled.push(compileRule({ text: text.trim(), list, origin, folder }));
          } catch (error) {
            if (error instanceof ConditionError) throw error;
            this.#problems.push(errorMessage(error));
          }
        }
      }
    }
    this.#setRules(compiled);
  }

  #setRules(compiled: CompiledRule[]): void {
    this.changes.count++;
    this.#compiled = compiled;
    this.#indexOf = createRuleIndex(compiled);
    for (const listener of this.#listeners) listener();
  }

  /** Resolved again only for another folder: the real path of a workspace does not change while it runs. */
  #basesOf(cwd: string, home: string): PathBases {
    if (this.#bases?.cwd !== cwd || this.#bases.home !== home) {
      this.#bases = { cwd, home, bases: pathBasesFor(cwd, home) };
    }
    return this.#bases.bases;
  }
}

function toRule({ text, list, origin, folder }: CompiledRule): Rule {
  return { text, list, origin, folder };
}

export interface IndexedRule {
  rule: CompiledRule;
  /** The rule names this tool; otherwise it may match by what a call touches. */
  isNamed: boolean;
}

export interface RulesOfTool extends Readonly<Record<RuleList, readonly IndexedRule[]>> {
  /** No rule can match a call of the tool. */
  readonly isEmpty: boolean;
}

/** The rules that can match a tool, cached per tool. */
function createRuleIndex(rules: readonly CompiledRule[]): (tool: AnyTool) => RulesOfTool {
  const known = new WeakMap<AnyTool, RulesOfTool>();
  return (tool) => {
    let found = known.get(tool);
    if (!found) {
      const of = (list: RuleList): IndexedRule[] =>
        rules
          .filter((rule) => rule.list === list && rule.appliesTo(tool))
          .map((rule) => ({ rule, isNamed: rule.target.names(tool) }));
      const [deny, ask, allow] = [of("deny"), of("ask"), of("allow")];
      found = { deny, ask, allow, isEmpty: deny.length + ask.length + allow.length === 0 };
      known.set(tool, found);
    }
    return found;
  };
}

/** Makes a rule set of any form of rules; a given rule set is used as it is. */
export function readRules(
  given: Omit<RuleSource, "origin"> | readonly RuleSource[] | RuleSet | undefined,
  defaultPermission?: ToolPermission,
): RuleSet {
  if (given instanceof RuleSet) {
    if (defaultPermission === undefined) return given;
    throw new TypeError("Give `defaultPermission` to a source of the rule set that you pass as `rules`.");
  }
  const isList = (rules: object): rules is readonly RuleSource[] => Array.isArray(rules);
  const sources = given === undefined ? [] : isList(given) ? given : [{ ...given, origin: "host" }];
  return new RuleSet(
    defaultPermission === undefined ? sources : [...sources, { origin: "options", defaultPermission }],
  );
}
