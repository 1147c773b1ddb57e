import type { CallMode } from "../core/call.ts";
import { textOf } from "../core/content.ts";
import type { FunctionDeclaration } from "../core/definition.ts";
import type { ToolResult } from "../core/result.ts";
import type { Haft } from "../runtime.ts";

export interface ScriptedCall {
  id?: string;
  name: string;
  input?: unknown;
}

/** What a model says in one turn. No calls means that it is done. */
export interface ScriptedTurn {
  text?: string;
  calls?: readonly ScriptedCall[];
}

/** What a model is given before it speaks. */
export interface ModelView {
  tools: readonly FunctionDeclaration[];
  /** Of the turn before, in call order. */
  results: readonly ToolResult[];
}

/** A model whose turns are written down: each is a turn, or is made from what the model sees. */
export interface ScriptedModel {
  respond(view: ModelView): ScriptedTurn;
  /** What it was given, turn by turn. */
  readonly seen: readonly ModelView[];
}

export type Script = readonly (ScriptedTurn | ((view: ModelView) => ScriptedTurn))[];

export function createScriptedModel(script: Script): ScriptedModel {
  const seen: ModelView[] = [];
  return {
    seen,
    respond(view) {
      const turn = script[seen.length];
      seen.push(view);
      if (turn === undefined)
        throw new Error(`The script has ${script.length} turns, but the model was asked once more.`);
      return typeof turn === "function" ? turn(view) : turn;
    },
  };
}

/** Plays a scripted model against a runtime until it makes no more calls. Gives what it said last, and every result. */
export async function playScript(
  haft: Haft,
  model: ScriptedModel,
  options: { session?: string; mode?: CallMode } = {},
): Promise<{ text: string; results: ToolResult[] }> {
  const { session = "scripted", mode = "default" } = options;
  const all: ToolResult[] = [];
  let results: ToolResult[] = [];
  for (let turnNumber = 1; ; turnNumber++) {
    const turn = model.respond({ tools: haft.toLLMTools({ mode }), results });
    if (!turn.calls || turn.calls.length === 0) return { text: turn.text ?? "", results: all };
    const calls = turn.calls.map((call, i) => ({ ...call, id: call.id ?? `turn${turnNumber}_${i + 1}` }));
    results = await haft.executeMany(calls, { mode, caller: { session } });
    all.push(...results);
  }
}

/** What a model would read of some results. */
export function readResults(results: readonly ToolResult[]): string[] {
  return results.map(({ content }) => textOf(content));
}
