interface SelectProps<Value extends string> {
  /** Its name, if no `label` element gives it one. */
  label?: string;
  className?: string;
  value: Value;
  /** A value, or a value and its text. */
  options: readonly (Value | readonly [value: Value, text: string])[];
  onChoose: (value: Value) => void;
}

/** One value of a list. The value is shown even if the list does not have it, such as one of an old address. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, className = "narrow", value: chosen, onChoose } = props;
  const options = props.options.map((option) => (typeof option === "string" ? ([option, option] as const) : option));
  const isListed = options.some(([value]) => value === chosen);
  return (
    <select
      className={`select ${className}`}
      aria-label={label}
      value={chosen}
      onChange={({ target }) => onChoose(target.value as Value)}
    >
      {isListed ? null : <option value={chosen}>{chosen}</option>}
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
