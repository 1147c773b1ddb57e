import { Circle, CircleCheck, CircleDashed, CircleDot } from "lucide-react";
import type { AgentSessionDetail } from "../../../../src/contracts/sessions.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Panel } from "../../parts/panel.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["To-do list", "待办列表"],
  done: (done: number, all: number) => [`${done} of ${all} done`, `已完成 ${done}/${all}`],
  states: {
    pending: ["to do", "待办"],
    in_progress: ["in progress", "进行中"],
    completed: ["done", "已完成"],
    cancelled: ["cancelled", "已取消"],
  },
});

const ICONS = { pending: Circle, in_progress: CircleDot, completed: CircleCheck, cancelled: CircleDashed } as const;

/** The steps that the agent wrote down. An agent that keeps no list shows none. */
export function TodoList({ items }: { items: AgentSessionDetail["todos"] }) {
  const w = useWords(words);
  if (items.length === 0) return null;
  const counted = items.filter(({ status }) => status !== "cancelled");
  const done = counted.filter(({ status }) => status === "completed").length;
  return (
    <Panel title={w.title} isBare actions={<span className="small muted">{w.done(done, counted.length)}</span>}>
      <ol className="stack todo-list">
        {items.map(({ content, status }, at) => {
          const Icon = ICONS[status];
          return (
            <li key={at} className={`todo-${status}`}>
              <Icon size={16} aria-label={w.states[status]} role="img" />
              <VisibleText className="pre words" text={content} />
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}
