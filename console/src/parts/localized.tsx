import { type ComponentProps, use, useCallback } from "react";
import type { LocalizedText, Verdict } from "../../../src/contracts/basics.ts";
import { loadWithRetry } from "../lazy-page.tsx";
import { useLanguage } from "../language.tsx";
import { VisibleText } from "./visible-text.tsx";

let chinese: ReadonlyMap<string, string> | undefined;
let translateSentence: (english: string) => string | undefined = () => undefined;
let loading: Promise<void> | undefined;

/** Loaded when the language is chosen. What is there already is not waited for. */
function loadChinese(): Promise<void> {
  loading ??= loadWithRetry(() => import("../localized-texts.zh.ts")).then((texts) => {
    ({ translateSentence } = texts);
    chinese = new Map(Object.entries(texts.TEXTS_ZH));
  });
  return loading;
}

/** Translates a sentence of the server by its key. A sentence with an unknown key stays English. */
export function useLocalized(): (text: LocalizedText) => string {
  const { language } = useLanguage();
  const translate = useCallback(
    ({ key, values, text }: LocalizedText) => {
      const template = language === "zh" ? chinese?.get(key) : undefined;
      if (template === undefined) return text;
      const known = new Map(Object.entries(values ?? {}));
      return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
        const value = String(known.get(name) ?? whole);
        return translateSentence(value) ?? value;
      });
    },
    [language],
  );
  // After the other hooks: React loses count of those that follow a wait, and draws the whole page again.
  if (language === "zh" && !chinese) use(loadChinese());
  return translate;
}

/** A sentence of the server in the language of the user. Hidden characters in its values are shown. */
export function Localized({ text }: { text: LocalizedText }) {
  return <VisibleText text={useLocalized()(text)} />;
}

/** Why a call was allowed, asked about or refused. A sentence without a translation is marked as English. */
export function VerdictText({ verdict }: { verdict: Pick<Verdict, "reason" | "key" | "values"> }) {
  const { reason, key = "", values } = verdict;
  const text = useLocalized()({ key, values, text: reason });
  return <VisibleText lang={text === reason ? "en" : undefined} text={text} />;
}

/** An English sentence of the server without a key: translated if it is known, else marked as English. */
export function Sentence({ text, ...props }: Omit<ComponentProps<typeof VisibleText>, "lang">) {
  const { language } = useLanguage();
  if (language === "zh" && !chinese) use(loadChinese());
  const known = language === "zh" ? translateSentence(text) : undefined;
  return <VisibleText {...props} lang={known === undefined ? "en" : undefined} text={known ?? text} />;
}
