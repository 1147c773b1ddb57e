import type { ChainStep } from "../core/chain.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import type { Haft } from "../runtime.ts";
import type { Phrase } from "./language.ts";
import type { Page } from "./page.ts";

/** What a step is given. The steps share one runtime, so that the last one can show what passed through it. */
export interface Tour {
  readonly haft: Haft;
  readonly example: Example;
  readonly page: Page;
}

export interface TourStep {
  readonly title: Phrase;
  run(tour: Tour): Promise<void>;
}

type Input = Readonly<Record<string, unknown>>;

/** The tools that are shown, and everything that the steps have to know of them. */
export interface Example {
  readonly tools: readonly AnyTool[];
  readonly readOnly: readonly string[];
  readonly changing: readonly string[];
  /** One step of the tour each. */
  readonly plays: readonly Play[];
  /** What a person looks for, and which tool should be found first. */
  readonly search: { category: Phrase; tag: string; query: string; finds: string };
  /** A good call, and the same with a parameter misspelt; `near` is what the answer should offer. */
  readonly call: { tool: string; input: Input; misspelt: Input; near: string };
  /** A name that nobody has, close to one that is there. */
  readonly wrongName: { requested: string; near: string };
  /** A tool that policy denies; `happened` says whether it ran after all. */
  readonly denied: { tool: string; input: Input; happened(): boolean };
  /** Two calls of a tool that asks first, one for each answer; `shows` must be in the question. */
  readonly requested: {
    tool: string;
    approved: Input;
    declined: Input;
    shows: string;
    happened(input: Input): boolean;
  };
  /** A call that takes long; by `begins` one sees that it has begun. */
  readonly slow: { tool: string; input: Input; begins: string };
  readonly chain: { steps: readonly ChainStep[]; input: Input; gives: string };
  /** Ends what still runs, and leaves nothing behind. */
  close(): Promise<void>;
}

/** Some calls of one tool, and what each should come to. */
export interface Play {
  readonly tool: string;
  readonly calls: readonly PlayedCall[];
}

export interface PlayedCall {
  readonly label: Phrase;
  readonly input: Input;
  readonly outcome: Phrase;
  holds(result: ToolResult): boolean;
  /** Under which label what the tool answered is printed too. */
  readonly prints?: Phrase;
}
