import type { FunctionCallingFormat } from "../agent/function-model.ts";
import type { DialectName } from "../core/tool.ts";
import { defineTools, type ShownNames } from "../formats/providers/define-tools.ts";
import { toModelCalls } from "../formats/providers/model-call.ts";
import { COMMON_RULES } from "../schema/schema-rules.ts";
import { COMMON_STRICT_RULES } from "../formats/schema-rules.ts";

const RULES = { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES };

/** Function calling that every provider takes: portable schemas and names, and arguments mended where they mean one thing. */
export function createFunctionCallingFormat({
  dialect,
}: { dialect?: DialectName | undefined } = {}): FunctionCallingFormat {
  return {
    define(tools) {
      const shown = defineTools(tools, dialect === undefined ? {} : { dialect }, RULES, (definition) => definition);
      const shownAs = reverse(shown.names);
      return {
        definitions: shown.tools,
        shownName: (name) => shownAs.get(name) ?? name,
        read({ name, text }) {
          const [call] = toModelCalls([{ name, arguments: text }], { names: shown.names });
          return { name: call!.name, input: call!.input, warnings: call!.repairs ?? [] };
        },
      };
    },
  };
}

function reverse(names: ShownNames): ReadonlyMap<string, string> {
  return new Map(Array.from(names, ([shown, { name }]) => [name, shown]));
}
