import { z } from "zod";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { CODEX_TODO, convertTodos, GEMINI_TODO } from "./conversation-dialects.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export const TODO_STATES = ["pending", "in_progress", "completed", "cancelled"] as const;

/** One item of a list. */
export interface TodoItem {
  content: string;
  status: (typeof TODO_STATES)[number];
}

/** Keeps the lists, by their owners (`todoOwner`). Several processes may share a store. */
export interface TodoStore {
  get(owner: string): MaybePromise<readonly TodoItem[]>;
  /** Replaces the list. An empty one is deleted. */
  set(owner: string, items: readonly TodoItem[]): MaybePromise<void>;
}

/** Each session of a user has one list, and so has each agent without a session. */
export function todoOwner({ user, session, agent }: Pick<Caller, "user" | "session" | "agent">): string {
  return JSON.stringify(session === undefined ? { user, agent } : { user, session });
}

const MAX_LISTS = 1000;

/** Lists of this process. The longest unchanged ones are forgotten. */
export class MemoryTodoStore implements TodoStore {
  readonly #lists = new BoundedMap<string, readonly TodoItem[]>(MAX_LISTS);

  get(owner: string): readonly TodoItem[] {
    return this.#lists.get(owner) ?? [];
  }

  set(owner: string, items: readonly TodoItem[]): void {
    if (items.length > 0) this.#lists.set(owner, structuredClone(items));
    else this.#lists.delete(owner);
  }
}

const MAX_ITEMS = 100;
const MAX_CONTENT_LENGTH = 500;

export function createTodoTool({ todos = new MemoryTodoStore() }: { todos?: TodoStore } = {}) {
  return createTool({
    name: "todo",
    title: "To-do list",
    description: {
      short: "Keeps the list of steps of this task. Send the whole list each time; without `todos` it is returned.",
      usageNotes: [
        "Use it for work of three or more steps. Mark a step in_progress before you begin it, and completed at once.",
        "People see the list while you work.",
      ],
      examples: [
        {
          input: {
            todos: [
              { content: "Find where dates are parsed", status: "completed" },
              { content: "Accept ISO weeks", status: "in_progress" },
              { content: "Add a test", status: "pending" },
            ],
          },
        },
        { input: {}, description: "returns the list" },
      ],
    },
    parameters: z.object({
      todos: z
        .array(
          z.object({
            content: z.string().trim().min(1).max(MAX_CONTENT_LENGTH).describe("The step, as an instruction"),
            status: z.enum(TODO_STATES),
          }),
        )
        .max(MAX_ITEMS)
        .optional()
        .describe("All steps in their order. An empty list deletes it"),
    }),
    dialects: {
      claude: { name: "TodoWrite" },
      gemini: GEMINI_TODO,
      codex: CODEX_TODO,
    },
    aliases: ["todo_write", "todowrite", "TodoRead", "todo_read", "todoread", "update_todo_list"],
    convertInput: convertTodos,
    // It changes nothing but the caller's own list.
    kind: "readonly",
    category: ToolCategory.SESSION,
    tags: ["plan", "tasks", "steps", "checklist", "progress"],
    builtIn: {
      zh: { title: "待办列表", short: "保存本任务的步骤。每次发送完整列表；不带 todos 时返回列表。" },
      sameAs: { opencode: ["todowrite", "todoread"], gemini: ["write_todos"] },
    },
    output: describeOutput({
      todos: field.list(
        field.object({ content: field.text(), status: field.text(`One of ${TODO_STATES.join(", ")}`) }),
        "The list as it is now",
      ),
    }),
    async run({ todos: given }, { caller }) {
      const owner = todoOwner(caller);
      if (given) await todos.set(owner, given);
      const items = given ?? (await todos.get(owner));
      const counts = countTodos(items);
      const shown = given
        ? `${counts}${given.length > 0 ? "." : ""}`
        : [`${counts}:`, ...items.map(todoLine)].join("\n");
      const busy = items.filter(({ status }) => status === "in_progress").length;
      const hint = given && busy > 1 ? ` ${busy} steps are in progress: work on one at a time if you can.` : "";
      return {
        content: [text(items.length === 0 ? EMPTY : `${shown}${hint}`)],
        display: items.length === 0 ? "No steps" : counts,
        details: { todos: [...items] },
      };
    },
  });
}

const EMPTY = "The list is empty.";
const WORDS = {
  completed: "completed",
  in_progress: "in progress",
  pending: "pending",
  cancelled: "cancelled",
} as const;

/** `4 steps: 2 completed, 1 in progress, 1 pending`. */
export function countTodos(items: readonly TodoItem[]): string {
  const counts = Object.entries(WORDS).flatMap(([state, word]) => {
    const count = items.filter(({ status }) => status === state).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return `${items.length} ${items.length === 1 ? "step" : "steps"}: ${counts.join(", ")}`;
}

const MARKS = { completed: "[x]", in_progress: "[>]", pending: "[ ]", cancelled: "[-]" } as const;

/** `[x] Find where dates are parsed`. */
export function todoLine({ content, status }: TodoItem): string {
  return `${MARKS[status]} ${content.replaceAll("\n", " ")}`;
}
