import { CircleCheck, TriangleAlert } from "lucide-react";
import { Link } from "wouter";
import { defineWords, useWords } from "../../language.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { type ActionNews, callPath } from "./call-actions.ts";

const words = defineWords({ en: { open: "Open it" }, zh: { open: "打开" } });

/** What the last action did. Screen readers announce it. */
export function News({ news }: { news: ActionNews | undefined }) {
  const w = useWords(words);
  const Icon = news?.isProblem ? TriangleAlert : CircleCheck;
  return (
    <div role="status" aria-live="polite">
      {news ? (
        <p className={`notice ${news.isProblem ? "bad" : "ok"}`}>
          <Icon size={17} aria-hidden />
          <span className="grow">
            <VisibleText text={news.text} />
          </span>
          {news.callId === undefined ? null : <Link href={callPath(news.callId)}>{w.open}</Link>}
        </p>
      ) : null}
    </div>
  );
}
