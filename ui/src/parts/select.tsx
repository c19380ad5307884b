/** A labelled choice; a value that is not among the options is one of them. */
import { useId } from "preact/hooks";

interface SelectProps {
  label: string;
  value: string;
  options: [value: string, name: string][];
  onChange: (value: string) => void;
  isDisabled?: boolean;
  /** The name of the empty value, if that may be chosen. */
  none?: string;
}

export function Select({ label, value, options, onChange, isDisabled = false, none }: SelectProps) {
  const id = useId();
  const isListed = (value === "" && none !== undefined) || options.some(([one]) => one === value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} disabled={isDisabled} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {!isListed && <option value={value}>{value || "—"}</option>}
        {options.map(([one, name]) => <option key={one} value={one}>{name}</option>)}
      </select>
    </div>
  );
}
