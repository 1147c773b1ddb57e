/**
 * Sentences for people that interfaces translate: each has a key, and values for its placeholders. The English text is
 * written here once; the console has the Chinese one for every key.
 */
export const TEXTS = {
  "risk.reads": "It only reads.",
  "risk.changesFiles": "It changes files. Haft can undo that.",
  "risk.deletesFiles": "It deletes files. Haft can undo that.",
  "risk.runsCommand": "It runs a command.",
  "risk.sends": "It sends data to {host}.",
  "risk.unknownEffect": "Its effect is not known before it runs.",
  "risk.dangerous": "{danger}",
} as const;

export type TextKey = keyof typeof TEXTS;

/** A translatable sentence with its English text. */
export interface LocalizedText {
  key: string;
  values?: Readonly<Record<string, string | number>>;
  text: string;
}

export function localizedText(key: TextKey, values?: Readonly<Record<string, string | number>>): LocalizedText {
  const text = TEXTS[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values?.[name] ?? whole));
  return values ? { key, values, text } : { key, text };
}
