import { createStore } from "./store.ts";

export type Theme = "light" | "dark" | "system";

const KEY = "haft.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const chosen = createStore<Theme>(stored());

apply();
dark.addEventListener("change", apply);

/** The chosen theme. Default: the theme of the system, also when it changes. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [chosen.use(), choose];
}

/** For documents in frames: a fragment with the theme in effect. */
export function useThemeFragment(): string {
  const [theme] = useTheme();
  return theme === "dark" || (theme === "system" && dark.matches) ? "#dark" : "#light";
}

function choose(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  chosen.set(theme);
  apply();
}

function apply(): void {
  const theme = chosen.get();
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
}

function stored(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === "light" || theme === "dark" ? theme : "system";
}
