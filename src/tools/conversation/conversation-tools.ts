import type { AnyTool } from "../../core/tool.ts";
import { type AskUserOptions, createAskUserTool } from "./ask-user.ts";
import { createTodoTool, type TodoStore } from "./todo.ts";

export interface ConversationToolsOptions extends AskUserOptions {
  /** Where to-do lists are kept. Default: in memory. */
  todos?: TodoStore;
}

/** `ask_user` and `todo`: an agent asks the person that it works for, and shows what it is about to do. */
export function createConversationTools(options: ConversationToolsOptions = {}): AnyTool[] {
  return [createAskUserTool(options), createTodoTool(options)];
}
