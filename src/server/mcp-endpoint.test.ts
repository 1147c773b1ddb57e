import { expect, test } from "vitest";
import { createConversationTools } from "../tools/tool-families.ts";
import { shownToClients } from "./mcp-endpoint.ts";

test("clients get the tools that connect a model with the user, unless others are named", () => {
  const tools = createConversationTools();
  const shown = (settings: Parameters<typeof shownToClients>[0]) =>
    tools.filter(shownToClients(settings)).map(({ name }) => name);
  expect(shown({})).toEqual(["ask_user", "todo"]);
  expect(shown({ tools: ["todo"] })).toEqual(["todo"]);
  expect(shown({ profile: "minimal" })).toEqual([]);
});
