import { TriangleAlert } from "lucide-react";
import { ApiError } from "../api.ts";
import { defineWords, useWords } from "../language.tsx";

const words = defineWords({
  en: { again: "Try again", unreachable: "The server does not answer. Is it still running? Start it again with: haft" },
  zh: { again: "重试", unreachable: "服务器没有响应。它还在运行吗？用 haft 重新启动。" },
});

/** What went wrong and what to do next. */
export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const w = useWords(words);
  const message = error instanceof TypeError ? w.unreachable : error.message;
  return (
    <div className="notice bad" role="alert">
      <TriangleAlert size={18} aria-hidden />
      <div className="grow">
        <p>{message}</p>
        {error instanceof ApiError && error.next ? <p className="small">{error.next}</p> : null}
      </div>
      {again ? (
        <button className="button small" onClick={again}>
          {w.again}
        </button>
      ) : null}
    </div>
  );
}
