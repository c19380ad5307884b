/** Files that are dropped, pasted or picked, listed with a button to take each back. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { size } from "../text/numbers.js";
import { plain } from "../text/visible.js";

interface FilesProps {
  files: File[];
  onFiles: (files: File[]) => void;
  class: string;
  children: (pick: () => void) => ComponentChildren;
}

export function Files({ files, onFiles, class: name, children }: FilesProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const add = (list: FileList | null | undefined) => {
    if (list && list.length > 0) onFiles([...files, ...list]);
  };
  return (
    <div
      class={`${name} ${isOver ? "dropping" : ""}`}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer?.files);
      }}
      onPaste={(event) => add(event.clipboardData?.files)}
    >
      {files.length > 0 && (
        <ul class="attached" aria-label="Attachments">
          {files.map((file, at) => (
            <li key={at}>
              {plain(file.name)} <span class="dim">{size(file.size)}</span>
              <button type="button" class="quiet" aria-label={`Remove ${plain(file.name)}`} onClick={() => onFiles(files.filter((one) => one !== file))}>×</button>
            </li>
          ))}
        </ul>
      )}
      <input ref={input} type="file" multiple class="hidden" aria-label="Files to attach" onChange={(event) => {
        add(event.currentTarget.files);
        event.currentTarget.value = "";
      }} />
      {children(() => input.current?.click())}
    </div>
  );
}
