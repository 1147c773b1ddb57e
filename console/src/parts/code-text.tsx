import "./code-text.css";
import { type Token, useHighlight } from "./highlight.ts";
import { VisibleText } from "./visible-text.tsx";

/** A piece of code with colours. Hidden characters are shown. */
export function CodeText({ text, language }: { text: string; language: string }) {
  const lines = useHighlight(text, language);
  if (!lines) return <VisibleText text={text} />;
  return (
    <>
      {lines.map((tokens, at) => (
        <span key={at}>
          {at > 0 ? "\n" : null}
          <Tokens tokens={tokens} />
        </span>
      ))}
    </>
  );
}

function Tokens({ tokens }: { tokens: readonly Token[] }) {
  return tokens.map(({ text, className }, at) => <VisibleText key={at} className={className} text={text} />);
}
