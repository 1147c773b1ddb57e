import type { ReactNode } from "react";
import "./choices.css";

/** A filter with one choice of a few, as buttons. The first choice is usually "all". */
export function Choices<Value extends string>(props: {
  label: string;
  choices: readonly (readonly [value: Value, text: string, more?: ReactNode])[];
  chosen: Value;
  onChoose: (value: Value) => void;
}) {
  return (
    <div className="row choices" role="group" aria-label={props.label}>
      {props.choices.map(([value, text, more]) => (
        <button
          key={value}
          type="button"
          className="button small"
          aria-pressed={value === props.chosen}
          onClick={() => props.onChoose(value)}
        >
          {text} {more === undefined ? null : <span className="muted">{more}</span>}
        </button>
      ))}
    </div>
  );
}
