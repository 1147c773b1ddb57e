import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";

const KEY = "haft.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Theme = stored();

apply();
dark.addEventListener("change", apply);

/** The chosen theme. Default: the theme of the system, also when it changes. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => chosen,
  );
  return [theme, choose];
}

/** For documents in frames: a fragment with the theme in effect. */
export function useThemeFragment(): string {
  const [theme] = useTheme();
  return theme === "dark" || (theme === "system" && dark.matches) ? "#dark" : "#light";
}

function choose(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  chosen = theme;
  apply();
  for (const listener of listeners) listener();
}

function apply(): void {
  const isDark = chosen === "dark" || (chosen === "system" && dark.matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
}

function stored(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === "light" || theme === "dark" ? theme : "system";
}
