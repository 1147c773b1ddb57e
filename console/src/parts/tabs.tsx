/** Switches between a few views of one thing. The tabs have the order of the object. */
export function Tabs<Tab extends string>(props: {
  label: string;
  tabs: Readonly<Partial<Record<Tab, string>>>;
  chosen: Tab;
  onChoose: (tab: Tab) => void;
}) {
  return (
    <div className="tabs" role="tablist" aria-label={props.label}>
      {(Object.entries(props.tabs) as [Tab, string][]).map(([tab, text]) => (
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
