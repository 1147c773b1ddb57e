import type { HLJSApi, LanguageFn } from "highlight.js";
import { useEffect, useState } from "react";

/** A piece of code with the class of its colour. */
export interface Token {
  text: string;
  className?: string;
}

type Load = () => Promise<{ default: LanguageFn }>;

const LANGUAGES: Readonly<Record<string, Load>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  go: () => import("highlight.js/lib/languages/go"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  php: () => import("highlight.js/lib/languages/php"),
  python: () => import("highlight.js/lib/languages/python"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const BY_ENDING = new Map(
  Object.entries({
    bash: "sh bash zsh",
    c: "c h",
    cpp: "cpp cc cxx hpp hh",
    csharp: "cs",
    css: "css scss less",
    go: "go",
    ini: "ini toml cfg conf",
    java: "java",
    javascript: "js mjs cjs jsx",
    json: "json jsonc json5 webmanifest",
    kotlin: "kt kts",
    makefile: "mk makefile",
    dockerfile: "dockerfile",
    markdown: "md markdown mdx",
    php: "php",
    python: "py pyi",
    ruby: "rb rake gemfile",
    rust: "rs",
    sql: "sql",
    swift: "swift",
    typescript: "ts mts cts tsx",
    xml: "xml html htm svg vue xhtml plist",
    yaml: "yaml yml",
  }).flatMap(([language, endings]) => endings.split(" ").map((ending) => [ending, language] as const)),
);

/** The language of a file, by its name. */
export function languageOf(path: string): string | undefined {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  return BY_ENDING.get(name.split(".").at(-1) ?? "");
}

/** Longer texts stay without colours: they would block the page. */
const MAX_LENGTH = 200_000;

let core: Promise<HLJSApi> | undefined;
const loaded = new Map<string, Promise<HLJSApi | undefined>>();

function load(language: string): Promise<HLJSApi | undefined> {
  const known = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined;
  if (!known) return Promise.resolve(undefined);
  const loading =
    loaded.get(language) ??
    (async () => {
      core ??= import("highlight.js/lib/core").then((module) => module.default);
      const [hljs, definition] = await Promise.all([core, known()]);
      hljs.registerLanguage(language, definition.default);
      return hljs;
    })().catch(() => {
      // Colours are no reason to fail; the next text tries again.
      loaded.delete(language);
      core = undefined;
      return undefined;
    });
  loaded.set(language, loading);
  return loading;
}

/** The tokens of each line. Undefined until the language is loaded, and if it is unknown. */
export function useHighlight(text: string, language: string | undefined): readonly (readonly Token[])[] | undefined {
  const [tokens, setTokens] = useState<{ text: string; lines: readonly (readonly Token[])[] }>();
  useEffect(() => {
    if (language === undefined || text.length > MAX_LENGTH) return;
    let isCurrent = true;
    void load(language).then((hljs) => {
      if (!isCurrent || !hljs) return;
      const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
      setTokens({ text, lines: linesOf(value) });
    });
    return () => {
      isCurrent = false;
    };
  }, [text, language]);
  return tokens?.text === text ? tokens.lines : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** The highlighter returns HTML. It is read as data, never inserted. */
function linesOf(html: string): Token[][] {
  const lines: Token[][] = [[]];
  const classes: string[] = [];
  for (const [piece] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (piece === "</span>") classes.pop();
    else if (piece.startsWith("<span")) classes.push(piece.slice(13, -2));
    else {
      const text = piece.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name] ?? "");
      text.split("\n").forEach((part, at) => {
        if (at > 0) lines.push([]);
        if (part !== "") lines.at(-1)?.push({ text: part, className: classes.at(-1) });
      });
    }
  }
  return lines;
}
