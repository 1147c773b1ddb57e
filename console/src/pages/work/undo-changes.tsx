import { Undo2 } from "lucide-react";
import { useState } from "react";
import type { ChangeInfo } from "../../../../src/contracts/undo.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { Failure } from "../../parts/failure.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { undoConflicts } from "../../undo-conflict.ts";
import { NextStep } from "../welcome/next-step.tsx";

const words = defineWords({
  en: {
    title: "Changed files",
    undo: "Undo",
    undone: "Put back as it was.",
    states: { done: "changed", undone: "undone", lost: "cannot be put back" } as Record<string, string>,
    kinds: { write: "written", delete: "deleted", move: "moved", make_directory: "folder made" } as Record<
      string,
      string
    >,
    force: "Undo anyway",
    conflict: "Nothing was undone: these files were changed later. Undoing anyway discards the later changes.",
  },
  zh: {
    title: "修改的文件",
    undo: "撤销",
    undone: "已恢复原样。",
    states: { done: "已修改", undone: "已撤销", lost: "无法恢复" } as Record<string, string>,
    kinds: { write: "写入", delete: "删除", move: "移动", make_directory: "新建文件夹" } as Record<string, string>,
    force: "仍然撤销",
    conflict: "没有撤销：这些文件之后又被修改过。仍然撤销会丢弃之后的修改。",
  },
});

/** The file changes of a call, and their undo. */
export function UndoChanges({ callId, onUndone }: { callId: string; onUndone: () => void }) {
  const w = useWords(words);
  const changes = useApi("undo", "list", [{ call: callId }]).data?.items ?? [];
  const [problem, setProblem] = useState<Error>();
  const [isUndone, setUndone] = useState(false);
  const conflicts = undoConflicts(problem);
  const canUndo = changes.some(({ state }) => state === "done");
  const undo = (force: boolean): void => {
    setProblem(undefined);
    api.undo.run({ call: callId, force: force || undefined }).then((outcome) => {
      setUndone(outcome.undone.length > 0);
      onUndone();
    }, setProblem);
  };
  if (changes.length === 0) return null;
  return (
    <section className="panel" aria-label={w.title}>
      <header>
        <h2 className="grow">{w.title}</h2>
        {canUndo ? (
          <button className="button" onClick={() => undo(false)}>
            <Undo2 size={15} aria-hidden /> {w.undo}
          </button>
        ) : null}
      </header>
      <div className="body">
        {isUndone ? (
          <p className="notice ok" role="status">
            {w.undone}
          </p>
        ) : null}
        {canUndo ? null : <NextStep />}
        {problem && conflicts.length === 0 ? <Failure error={problem} /> : null}
        {conflicts.length > 0 ? (
          <div className="stack" role="alert">
            <p className="notice warn">
              <span className="grow">{w.conflict}</span>
              <button className="button small" onClick={() => undo(true)}>
                {w.force}
              </button>
            </p>
            {conflicts.map(({ path, why, diff }) =>
              diff === "" ? (
                <p key={path}>
                  <VisibleText text={`${path} ${why}`} />
                </p>
              ) : (
                <DiffView key={path} text={diff} />
              ),
            )}
          </div>
        ) : null}
        {changes.map((change) => (
          <Change key={change.id} change={change} />
        ))}
      </div>
    </section>
  );
}

function Change({ change }: { change: ChangeInfo }) {
  const w = useWords(words);
  const detail = useApi("undo", "get", [change.id]).data;
  return (
    <div className="stack">
      <p className="row">
        <span className="mono grow">
          <VisibleText text={change.to ? `${change.path} → ${change.to}` : change.path} />
        </span>
        <span className="badge">{w.kinds[change.kind] ?? change.kind}</span>
        <span className={change.state === "undone" ? "badge ok" : "badge"}>{w.states[change.state]}</span>
      </p>
      {detail?.diff ? <DiffView text={detail.diff} /> : null}
    </div>
  );
}
