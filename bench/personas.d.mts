export interface PersonaCall {
  id: string;
  at: number;
  session: string;
  user: string;
  tool: string;
  input: Record<string, unknown>;
  kind: "work" | "mistake" | "attack";
  isTainted: boolean;
  answer: "yes" | "no";
  answerMs: number;
}
export const PERSONAS: Readonly<Record<"developer" | "support" | "analyst" | "operator", unknown>>;
/** Tools that are not built in, as `createTool` takes them without `run`. */
export const TOOLS: readonly {
  name: string;
  description: string;
  kind: "readonly" | "write" | "execute";
  parameters: { name: string; type: "string" | "number" | "array"; description: string; required: boolean }[];
}[];
export function workOf(
  name: string,
  options?: { calls?: number; seed?: number; personas?: Readonly<Record<string, unknown>> },
): PersonaCall[];
