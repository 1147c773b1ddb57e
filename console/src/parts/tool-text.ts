import type { ToolInfo } from "../../../src/contracts/tools.ts";
import { useLanguage } from "../language.tsx";
import { TOOL_TEXTS_ZH } from "../tool-texts.zh.ts";

/** The title and the short description of a tool in the language of the user. Only built-in tools are translated. */
export function useToolText(): (tool: Pick<ToolInfo, "name" | "title" | "description" | "origin">) => {
  title: string;
  short: string;
} {
  const { language } = useLanguage();
  return ({ name, title, description, origin }) => {
    const isKnown = language === "zh" && origin.type === "builtin" && Object.hasOwn(TOOL_TEXTS_ZH, name);
    return (isKnown ? TOOL_TEXTS_ZH[name] : undefined) ?? { title, short: description.short };
  };
}
