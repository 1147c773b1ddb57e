/** Switches between a few views of one thing. */
export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  onChoose: (tab: T) => void;
}) {
  return (
    <div className="tabs" role="tablist" aria-label={props.label}>
      {props.tabs.map(([tab, text]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          aria-selected={tab === props.chosen}
          onClick={() => props.onChoose(tab)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
