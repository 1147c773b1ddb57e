import { CircleCheck, Redo2, TriangleAlert } from "lucide-react";
import { Link } from "wouter";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { type CallActions, callPath } from "./call-actions.ts";

const words = defineWords({ open: ["Open it", "打开"], redo: ["Redo", "重做"] });

/** What the last action did. Screen readers announce it. */
export function News({ actions: { news, redo } }: { actions: CallActions }) {
  const w = useWords(words);
  const Icon = news?.isProblem ? TriangleAlert : CircleCheck;
  return (
    <div role="status" aria-live="polite">
      {news ? (
        <p className={`notice ${news.isProblem ? "bad" : "ok"}`}>
          <Icon size={17} aria-hidden />
          <VisibleText className="grow" text={news.text} />
          {news.undoId === undefined ? null : (
            <Button look="small" icon={Redo2} text={w.redo} onClick={() => redo(news.undoId ?? "")} />
          )}
          {news.callId === undefined ? null : <Link href={callPath(news.callId)}>{w.open}</Link>}
        </p>
      ) : null}
    </div>
  );
}
