import Anser from "anser";
import { VisibleText } from "./visible-text.tsx";

/** Terminal output. Colours are applied; every other escape sequence is shown as text. */
export function TerminalText({ text }: { text: string }) {
  return (
    <>
      {Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((piece, at) => (
        <span key={at} className={[piece.fg, piece.decoration].filter(Boolean).join(" ")}>
          <VisibleText text={piece.content} />
        </span>
      ))}
    </>
  );
}
