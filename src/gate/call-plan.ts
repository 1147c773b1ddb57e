import type { ToolRegistry } from "../core/registry.ts";
import type { ChangeCounter, Stage, StageHooks } from "../core/stage.ts";
import { type AnyTool, isTool } from "../core/tool.ts";

/** The functions of the stages that a call passes, with the index of their stage. Only functions that exist. */
export interface CallPlan {
  /** The tool, if it is known before the call: the stages that find it are left out. */
  readonly tool: AnyTool | undefined;
  readonly enterHooks: readonly { enter: NonNullable<StageHooks["enter"]>; passes: number }[];
  readonly leaveHooks: readonly { at: number; leave: NonNullable<StageHooks["leave"]> }[];
  /** Stages before the first `enter` count as entered. */
  readonly passedFirst: number;
  /** How many of the first `enter` functions run even if the call is aborted: those that record it and look up its id. */
  readonly alwaysEntered: number;
  readonly endedHooks: readonly NonNullable<StageHooks["ended"]>[];
  readonly aroundHooks: readonly NonNullable<StageHooks["around"]>[];
}

/** Names are chosen by models: any number of spellings may find a tool. */
const MAX_PLANS = 2000;

/**
 * The plans of calls. A plain call, without options and without a parent, gets a plan that has only what can differ between
 * plain calls of its tool under the current policy. It is compiled once for a tool. A change of a rule, a grant or the
 * registry is counted, and every plan is compiled again.
 */
export class CallPlans {
  /** For calls that are not plain. */
  readonly whole: CallPlan;
  readonly #stages: readonly Stage[];
  readonly #registry: ToolRegistry;
  readonly #changes: readonly ChangeCounter[];
  /** The first stage that has something to do before the tool, and those after it that say so. */
  readonly #alwaysEntered: ReadonlySet<number>;
  readonly #plans = new Map<unknown, CallPlan>();
  #revision = -1;

  constructor(registry: ToolRegistry, stages: readonly Stage[]) {
    this.#registry = registry;
    this.#stages = stages;
    this.#changes = stages.flatMap(({ changes }) => changes ?? []);
    const first = stages.findIndex(({ enter }) => enter);
    this.#alwaysEntered = new Set(stages.flatMap((stage, at) => (at === first || stage.isAlwaysEntered ? [at] : [])));
    this.whole = this.#planOf(stages.map((stage) => hooksOf(stage)));
  }

  /** For a plain call of this tool or name. */
  plainFor(target: unknown): CallPlan {
    const revision = this.#currentRevision();
    if (revision !== this.#revision) {
      this.#plans.clear();
      this.#revision = revision;
    }
    return this.#plans.get(target) ?? this.#add(target);
  }

  #add(target: unknown): CallPlan {
    const tool = isTool(target) ? target : typeof target === "string" ? this.#registry.get(target) : undefined;
    if (!tool) return this.whole;
    const plan = this.#compile(tool) ?? this.whole;
    if (this.#plans.size >= MAX_PLANS) this.#plans.clear();
    this.#plans.set(target, plan);
    return plan;
  }

  #compile(tool: AnyTool): CallPlan | undefined {
    const compiled: StageHooks[] = [];
    for (const stage of this.#stages) {
      const hooks = compileStage(stage, tool);
      if (!hooks) return undefined;
      compiled.push(hooks);
    }
    return this.#planOf(compiled, tool);
  }

  #planOf(stages: readonly StageHooks[], tool?: AnyTool): CallPlan {
    const first = stages.findIndex(({ enter }) => enter);
    return {
      tool,
      enterHooks: stages.flatMap(({ enter }, at) => {
        // Stages without `enter` are entered together with the one before them.
        const next = stages.findIndex((stage, i) => i > at && stage.enter);
        return enter ? [{ enter, passes: (next < 0 ? stages.length : next) - 1 }] : [];
      }),
      passedFirst: (first < 0 ? stages.length : first) - 1,
      alwaysEntered: stages.filter(({ enter }, at) => enter && this.#alwaysEntered.has(at)).length,
      leaveHooks: stages.flatMap(({ leave }, at) => (leave ? [{ at, leave }] : [])),
      endedHooks: stages.flatMap(({ ended }) => ended ?? []),
      aroundHooks: stages.flatMap(({ around }) => around ?? []),
    };
  }

  /** Counters only increase, so their sum changes whenever one of them does. */
  #currentRevision(): number {
    let sum = 0;
    for (let i = 0; i < this.#changes.length; i++) sum += this.#changes[i]!.count;
    return sum;
  }
}

/** A tool whose schema cannot be read fails here. The whole plan makes a failed result of it; nothing is thrown. */
function compileStage(stage: Stage, tool: AnyTool): StageHooks | undefined {
  try {
    return stage.compile ? stage.compile(tool) : hooksOf(stage);
  } catch {
    return undefined;
  }
}

/** The functions of a stage, bound to it. */
export function hooksOf(stage: Stage): StageHooks {
  return {
    enter: stage.enter?.bind(stage),
    leave: stage.leave?.bind(stage),
    ended: stage.ended?.bind(stage),
    around: stage.around?.bind(stage),
  };
}
