import { Search } from "lucide-react";
import { useSearchKey } from "./use-keys.ts";

interface SearchBoxProps {
  /** Its name, the text while it is empty, and what the help says of its key. */
  label: string;
  value: string;
  onChange: (value: string) => void;
  className?: string;
}

/** The search of a page. `/` goes to it; Escape and Enter leave it. */
export function SearchBox({ label, value, onChange, className = "" }: SearchBoxProps) {
  const box = useSearchKey(label);
  return (
    <label className={`search ${className}`}>
      <Search size={15} aria-hidden />
      <input
        ref={box}
        type="search"
        className="input"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape" || key === "Enter") currentTarget.blur();
        }}
      />
      <kbd className="key">/</kbd>
    </label>
  );
}
