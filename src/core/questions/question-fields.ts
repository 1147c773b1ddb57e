/** A value that a person may change with an answer: an input in the console, a line at the terminal. Plain data. */
export interface QuestionField {
  /** One word, which the written answer starts a line with. */
  name: string;
  /** As it was asked for. Empty: without such a bound. */
  value: string;
  /** `lines`: several values, each in a line of its own. */
  kind: "number" | "lines";
  /** Of a number. */
  unit?: string | undefined;
}

/** What each field says, by its name. */
export type FieldValues = Readonly<Record<string, string>>;

export function fieldValues(fields: readonly QuestionField[]): FieldValues {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}

/** The answer in words: `minutes: 10`, and a line for each of several values. Empty if nothing was changed. */
export function fieldsText(fields: readonly QuestionField[], values: FieldValues): string {
  const lines = fields.flatMap(({ name, value }) => {
    const given = values[name] ?? value;
    if (given === value) return [];
    const all = linesOf(given);
    // An emptied field says so, so that it is refused instead of taken as it was asked for.
    return (all.length > 0 ? all : [""]).map((line) => `${name}: ${line}`);
  });
  return lines.join("\n");
}

/** What an answer says. Undefined if a line is none of the fields. What is not written stays as it was asked for. */
export function readFields(fields: readonly QuestionField[], text: string): FieldValues | undefined {
  const written = new Map<string, string[]>();
  for (const line of linesOf(text)) {
    const [, name = "", value = ""] = /^(\w+):\s*(.*)$/.exec(line) ?? [];
    if (!fields.some((field) => field.name === name)) return undefined;
    written.set(name, [...(written.get(name) ?? []), value]);
  }
  const values: Record<string, string> = {};
  for (const field of fields) {
    values[field.name] = written.get(field.name)?.join("\n") ?? field.value;
    if (written.has(field.name) && problemOfField(field, values[field.name] ?? "")) return undefined;
  }
  return values;
}

/** Whether the value can be none of this field: a number is above zero, and a bound or the last line is not removed. */
export function problemOfField({ kind, value }: QuestionField, given: string): boolean {
  if (kind === "lines") return linesOf(given).length === 0;
  if (given === "") return value !== "";
  return !/^\d{1,15}(?:\.\d{1,6})?$/.test(given) || Number(given) === 0;
}

/** Whether the person would allow more than was asked for, or may do so: only a number tells. */
export function isWider({ kind, value }: QuestionField, given: string): boolean {
  if (kind === "number") return value !== "" && Number(given) > Number(value);
  const asked = linesOf(value);
  return linesOf(given).some((line) => !asked.includes(line));
}

function linesOf(text: string): string[] {
  return text.split("\n").flatMap((line) => line.trim() || []);
}
