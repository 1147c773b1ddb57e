import { defineWords, useWords } from "../language.tsx";

const words = defineWords({ loading: ["Loading…", "加载中…"] });

/** Grey lines in the place of what is being loaded. They appear after a moment, so a fast answer does not flicker. */
export function Skeleton({ lines = 5 }: { lines?: number }) {
  return (
    <div className="stack skeleton" role="status">
      <span className="sr-only">{useWords(words).loading}</span>
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} className="skeleton-line" aria-hidden />
      ))}
    </div>
  );
}
