import { useEffect, useState } from "react";

export type Theme = "light" | "dark" | "system";

/** The chosen theme. Default: the theme of the system, also when it changes. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const apply = (): void => {
      const isDark = theme === "dark" || (theme === "system" && dark.matches);
      document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    };
    apply();
    dark.addEventListener("change", apply);
    return () => dark.removeEventListener("change", apply);
  }, [theme]);
  return [
    theme,
    (next) => {
      localStorage.setItem("haft.theme", next);
      setTheme(next);
    },
  ];
}

function storedTheme(): Theme {
  const stored = localStorage.getItem("haft.theme");
  return stored === "light" || stored === "dark" ? stored : "system";
}
