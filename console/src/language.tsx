import { createContext, type ReactNode, useContext, useMemo, useState } from "react";

export type Language = "en" | "zh";

/** A text in English and in Chinese. One without the other does not compile. */
export type Pair<T = string> = readonly [en: T, zh: T];

/** Texts by name: a pair, a function of values that returns one, or a group of them. */
interface Texts {
  readonly [name: string]: Pair<unknown> | ((...values: never[]) => Pair<unknown>) | Texts;
}

type Picked<T> =
  T extends Pair<infer Text>
    ? Text
    : T extends (...values: infer Values) => Pair<infer Text>
      ? (...values: Values) => Text
      : { readonly [Name in keyof T]: Picked<T[Name]> };

export interface Words<T extends object> {
  en: T;
  zh: T;
}

export function defineWords<T extends Texts>(texts: T): Words<Picked<T>> {
  return { en: pick(texts, 0), zh: pick(texts, 1) };
}

function pick<T extends Texts>(texts: T, at: 0 | 1): Picked<T> {
  const picked = Object.entries(texts).map(([name, text]) => [name, pickOne(text, at)]);
  return Object.fromEntries(picked) as Picked<T>;
}

function pickOne(text: Texts[string], at: 0 | 1): unknown {
  if (typeof text === "function") return (...values: never[]) => text(...values)[at];
  return isPair(text) ? text[at] : pick(text, at);
}

function isPair(text: Pair<unknown> | Texts): text is Pair<unknown> {
  return Array.isArray(text);
}

const LanguageContext = createContext<{ language: Language; choose: (language: Language) => void }>({
  language: "en",
  choose: () => undefined,
});

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(storedLanguage);
  const value = useMemo(
    () => ({
      language,
      choose(next: Language) {
        localStorage.setItem("haft.language", next);
        document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
        setLanguage(next);
      },
    }),
    [language],
  );
  return <LanguageContext value={value}>{children}</LanguageContext>;
}

export function useLanguage() {
  return useContext(LanguageContext);
}

export function useWords<T extends object>(words: Words<T>): T {
  return words[useLanguage().language];
}

function storedLanguage(): Language {
  const stored = localStorage.getItem("haft.language");
  const language = stored === "en" || stored === "zh" ? stored : navigator.language?.startsWith("zh") ? "zh" : "en";
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  return language;
}
