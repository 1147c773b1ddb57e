import type { ToolInfo } from "../../../src/contracts/tools.ts";
import { useApi } from "../api.ts";
import { useLanguage } from "../language.tsx";

/** The title and the short description of a tool in the language of the user. Only built-in tools are translated. */
export function useToolText(): (tool: Pick<ToolInfo, "title" | "description" | "translations">) => {
  title: string;
  short: string;
} {
  const { language } = useLanguage();
  return ({ title, description, translations }) =>
    (language === "zh" ? translations?.zh : undefined) ?? { title, short: description.short };
}

/** The title of a tool of which only the name and the title are known, such as that of a call, if it says more than the name. */
export function useToolTitle(): (tool: { toolName: string; title?: string }) => string | undefined {
  const { language } = useLanguage();
  const toolText = useToolText();
  const tools = useApi("tools", "list", language === "zh" ? [] : undefined).data?.items;
  return ({ toolName, title }) => {
    const tool = tools?.find(({ name }) => name === toolName);
    const shown = tool ? toolText(tool).title : title;
    return shown?.toLowerCase().replaceAll(" ", "_") === toolName ? undefined : shown;
  };
}
