import { Redo2, Undo2 } from "lucide-react";
import { useState } from "react";
import type { ChangeInfo, UndoOutcome } from "../../../../src/contracts/undo.ts";
import { useApi } from "../../api.ts";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { redo, undo } from "../../undo.ts";
import { NextStep } from "../welcome/next-step.tsx";

const words = defineWords({
  title: ["Changed files", "修改的文件"],
  undo: ["Undo", "撤销"],
  undone: ["Put back as it was.", "已恢复原样。"],
  states: {
    undone: ["undone", "已撤销"],
    lost: ["cannot be put back", "无法恢复"],
  } as Record<string, Pair>,
  kinds: {
    write: ["written", "写入"],
    delete: ["deleted", "删除"],
    move: ["moved", "移动"],
    make_directory: ["folder made", "新建文件夹"],
  } as Record<string, Pair>,
  redo: ["Redo", "重做"],
  redone: ["Changed again.", "已重新修改。"],
});

/** The file changes of a call, their undo, and its undo. */
export function UndoChanges({ callId, onUndone }: { callId: string; onUndone: () => void }) {
  const w = useWords(words);
  const changes = useApi("undo", "list", [{ call: callId }]).data?.items ?? [];
  const [failure, act] = useAction();
  const [news, setNews] = useState("");
  const canUndo = changes.some(({ state }) => state === "done");
  const undoId = changes.find(({ undoneBy }) => undoneBy !== undefined)?.undoneBy;
  const follow = (running: Promise<UndoOutcome | undefined>, done: string): void =>
    act(running, (outcome) => {
      setNews(outcome && outcome.undone.length > 0 ? done : "");
      onUndone();
    });
  if (changes.length === 0) return null;
  return (
    <Panel
      title={w.title}
      actions={
        <>
          {canUndo ? (
            <Button icon={Undo2} text={w.undo} onClick={() => follow(undo({ call: callId }), w.undone)} />
          ) : null}
          {undoId === undefined ? null : (
            <Button icon={Redo2} text={w.redo} onClick={() => follow(redo(undoId), w.redone)} />
          )}
        </>
      }
    >
      {news === "" ? null : (
        <p className="notice ok" role="status">
          {news}
        </p>
      )}
      {canUndo ? null : <NextStep />}
      {failure}
      {changes.map((change) => (
        <Change key={change.id} change={change} />
      ))}
    </Panel>
  );
}

function Change({ change }: { change: ChangeInfo }) {
  const w = useWords(words);
  const detail = useApi("undo", "get", [change.id]).data;
  const workspace = useApi("server", "info", []).data?.workspace;
  /** As the rest of the console names it: from the folder on. */
  const shown = (path: string): string =>
    workspace !== undefined && path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  // A diff names its file and says what is new.
  const isNamed = detail?.diff !== undefined && change.to === undefined;
  const isDone = change.state === "done";
  return (
    <div className="stack">
      {isNamed && isDone ? null : (
        <p className="row">
          <VisibleText
            className="mono grow"
            text={[change.path, change.to ?? ""].filter(Boolean).map(shown).join(" → ")}
            title={change.path}
          />
          <span className={change.state === "undone" ? "badge ok" : "badge"}>
            {isDone ? (w.kinds[change.kind] ?? change.kind) : w.states[change.state]}
          </span>
        </p>
      )}
      {detail?.diff ? <DiffView text={detail.diff} /> : null}
    </div>
  );
}
