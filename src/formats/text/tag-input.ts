import type { JsonType } from "../../schema/json-schema.ts";
import { Malformed } from "./malformed.ts";
import { escaped } from "./read-json-string.ts";
import type { CallReader } from "./text-format.ts";
import { isPlainText, typeValue, type Untyped } from "./type-value.ts";

/** The input of a call whose parameters come one by one, as text. */
export interface TagInput {
  count(): number;
  has(key: string): boolean;
  /** A parameter begins; its value is given to `end`, and piece by piece to `stream` where that is there. */
  begin(key: string, declared: "text" | "json" | undefined): OpenParameter;
  finish(): void;
}

export interface OpenParameter {
  readonly stream: ((piece: string) => void) | undefined;
  end(text: string): void;
  /** Of a value that was read otherwise. */
  endAs(value: unknown): void;
  readonly isText: boolean;
}

const MAX_PARAMETERS = 256;
const TEXT: ReadonlySet<JsonType> = new Set(["string"] as const);

export function createTagInput({ calls, tools }: CallReader, untyped: Untyped): TagInput {
  const input: Record<string, unknown> = {};
  let count = 0;
  return {
    count: () => count,
    has: (key) => Object.hasOwn(input, key),
    begin(key, declared) {
      if (key === "__proto__") throw new Malformed('a parameter cannot be named "__proto__"');
      if (Object.hasOwn(input, key)) throw new Malformed(`the parameter ${key} is given twice`);
      if (count >= MAX_PARAMETERS) throw new Malformed("it has too many parameters", "input_too_large");
      const types = tools.typesOf(calls.name, key) ?? (declared === "text" ? TEXT : undefined);
      const rule = declared === "json" ? "json" : untyped;
      const isText = isPlainText(types, rule);
      if (calls.streams) calls.write(`${count === 0 ? "{" : ","}${JSON.stringify(key)}:${isText ? '"' : ""}`);
      count++;
      input[key] = undefined;
      return {
        stream: isText && calls.streams ? (piece) => calls.write(escaped(piece)) : undefined,
        end(text) {
          if (!isText) return this.endAs(typeValue(text, types, { untyped: rule, repair: calls.repair }));
          input[key] = text;
          if (calls.streams) calls.write('"');
        },
        endAs(value) {
          input[key] = value;
          if (calls.streams) calls.write(JSON.stringify(value));
        },
        isText,
      };
    },
    finish() {
      if (calls.streams) calls.write(count === 0 ? "{}" : "}");
      calls.finish(input);
    },
  };
}
