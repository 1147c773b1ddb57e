import { toolError } from "../../core/error.ts";
import type { Plugin } from "../../core/plugin.ts";
import type { Registrable } from "../../core/adopt/adopt.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Schema, Validation } from "../../schema/schema.ts";
import {
  type Fact,
  FACT_NAMES,
  type FactName,
  receiveError,
  type SentInput,
  type SentTool,
  type ToolFacts,
} from "./messages.ts";
import type { PluginProcess } from "./plugin-process.ts";

/** A plugin whose tools run in its process, for `haft.tools.install`. */
export function remotePlugin(process: PluginProcess): Plugin {
  return {
    manifest: process.manifest,
    register(api) {
      for (const [index, tool] of process.tools.entries()) {
        api.registerTool(new RemoteTool(process, index, tool).define());
      }
    },
  };
}

/** What the process said about an input. */
interface PreparedInput {
  facts: ToolFacts;
  /** Set if the process must validate again, because a copy of the validated input is not the same. */
  raw: { input: unknown } | undefined;
}

/** One tool of a plugin, as the gate sees it. */
class RemoteTool {
  readonly #process: PluginProcess;
  readonly #index: number;
  readonly #tool: SentTool;
  /** By validated input: the gate asks several times about the one object that it validated. */
  readonly #prepared = new WeakMap<object, PreparedInput>();

  constructor(process: PluginProcess, index: number, tool: SentTool) {
    this.#process = process;
    this.#index = index;
    this.#tool = tool;
  }

  define(): Registrable {
    const { fields, functions: has, limits, cache, permission } = this.#tool;
    const definition = {
      ...fields,
      parameters: this.#parameters(),
      output: this.#output(),
      limits: has.timeoutMs ? { ...limits, timeoutMs: this.#timeoutMs } : limits,
      cache: cache && {
        ...cache,
        key: has.cacheKey ? (input: unknown) => this.#known("cacheKey", input) : undefined,
        resources: has.cacheResources ? (input: unknown) => this.#known("cacheResources", input) : undefined,
      },
      permission: has.permission ? (input: unknown) => this.#ask("permission", input) : permission,
      locks: has.locks ? (input: unknown) => this.#ask("locks", input) : undefined,
      signature: has.signature ? (input: unknown) => this.#ask("signature", input) : undefined,
      // Without an answer the rule is never reusable.
      rule: has.rule ? (input: unknown) => (this.#has(input) ? this.#known("rule", input) : "") : undefined,
      labelsOf: has.labelsOf ? this.#labelsOf : undefined,
      preview: has.preview
        ? (input: unknown, context: ToolContext) => this.#process.preview(this.#index, this.#sent(input), context)
        : undefined,
      run: (input: unknown, context: ToolContext) => this.#process.run(this.#index, this.#sent(input), context),
    };
    return definition as Registrable;
  }

  /** JSON Schema without functions that ask about the input is validated here; all else takes one message. */
  #parameters(): Schema | SentTool["parameters"]["jsonSchema"] {
    const { parameters, functions } = this.#tool;
    const asks = FACT_NAMES.some((name) => functions[name]);
    if (parameters.isWhole && !asks) return parameters.jsonSchema;
    return { jsonSchema: parameters.jsonSchema, validate: (input) => this.#validate(input) };
  }

  async #validate(input: unknown): Promise<Validation<unknown>> {
    const prepared = await this.#process.prepare(this.#index, input);
    if (prepared.issues) return { issues: prepared.issues };
    const { value, isCopied, facts } = prepared;
    if (typeof value === "object" && value !== null) {
      this.#prepared.set(value, { facts, raw: isCopied ? undefined : { input } });
    }
    return { value };
  }

  #output(): Schema | SentTool["parameters"]["jsonSchema"] | undefined {
    const { output } = this.#tool;
    if (!output || output.isWhole) return output?.jsonSchema;
    return {
      jsonSchema: output.jsonSchema,
      validate: async (details): Promise<Validation<unknown>> => {
        try {
          const issues = await this.#process.checkOutput(this.#index, details);
          return issues ? { issues } : { value: details };
        } catch (cause) {
          throw toolError("bad_output", "The tool ran, but its output could not be checked", {
            next: "Check its effect before you call it again.",
            cause,
          });
        }
      },
    };
  }

  #sent(input: unknown): SentInput {
    const raw = this.#preparedOf(input)?.raw;
    return raw ? { raw } : { input };
  }

  #preparedOf(input: unknown): PreparedInput | undefined {
    return typeof input === "object" && input !== null ? this.#prepared.get(input) : undefined;
  }

  #has(input: unknown): boolean {
    return this.#preparedOf(input) !== undefined;
  }

  /** A promise only for an input that the gate has not validated, such as one that middleware put in its place. */
  #ask<Name extends "permission" | "locks" | "signature">(name: Name, input: unknown): MaybePromise<Told<Name>> {
    const prepared = this.#preparedOf(input);
    if (prepared) return told(name, prepared.facts);
    return this.#process.facts(this.#index, input).then((facts) => told(name, facts));
  }

  #known<Name extends FactName>(name: Name, input: unknown): Told<Name> {
    return told(name, this.#preparedOf(input)?.facts ?? {});
  }

  readonly #timeoutMs = (input: unknown, { waitForEnd }: { waitForEnd?: boolean }): number => {
    const { waiting, other } = this.#known("timeoutMs", input);
    return waitForEnd ? waiting : other;
  };

  /** The result is not sent back to the plugin: after the call, a function that looks at it counts with every label. */
  readonly #labelsOf = (input: unknown, result?: unknown): Told<"labelsOf"> =>
    result === undefined || this.#tool.labelsIgnoreResult ? this.#known("labelsOf", input) : this.#tool.fields.labels;
}

type Told<Name extends FactName> = NonNullable<ToolFacts[Name]> extends Fact<infer T> ? T : never;

function told<Name extends FactName>(name: Name, facts: ToolFacts): Told<Name> {
  const fact = facts[name] as Fact<Told<Name>> | undefined;
  if (!fact) throw new Error(`The plugin did not report the ${name} of this input.`);
  if ("error" in fact) throw receiveError(fact.error);
  return fact.value;
}
