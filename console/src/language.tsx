import { createContext, type ReactNode, useContext, useMemo, useState } from "react";

export type Language = "en" | "zh";

/** The same texts in both languages. A key that one of them lacks does not compile. */
export interface Words<T extends object> {
  en: T;
  zh: T;
}

export function defineWords<T extends object>(words: { en: T; zh: NoInfer<T> }): Words<T> {
  return words;
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
