/** The directory of a new session: typed, one of those that were used, or picked below them or a configured root. */
import { useState } from "preact/hooks";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { get } from "../daemon/api.js";
import { may } from "../daemon/login.js";
import { words } from "../daemon/notices.js";
import { rows } from "../model/rows.js";
import { visible } from "../text/visible.js";

/** The directories of sessions, those that were used last first, each with a session of it. */
function recent(): Map<string, string> {
  const found = new Map<string, string>();
  for (const row of [...rows.values()].sort((one, other) => other.info.updatedAt - one.info.updatedAt)) {
    const directory = row.info.directory;
    if (directory && !row.info.worktree && !found.has(directory)) found.set(directory, row.id);
  }
  return found;
}

type Place = { path: string; session: string | undefined; folders: string[] };

export function Directory({ value, onChange }: { value: string; onChange: (path: string) => void }) {
  const [place, setPlace] = useState<Place | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const known = recent();
  const look = async (path: string, session: string | undefined) => {
    setProblem(null);
    const asked = path === "" ? undefined : path;
    try {
      const entries = await get<Schemas["FsEntry"][]>("/v1/fs/entries", { path: asked, session_id: session });
      const folders = entries.filter(({ entryType, name }) => entryType === "directory" && !name.startsWith(".")).map((entry) => entry.path);
      setPlace({ path: path || (folders[0]?.replace(/\/[^/]*$/, "") ?? ""), session, folders });
      if (path !== "") onChange(path);
    } catch (error) {
      const { text, hint } = words(error);
      setProblem([text, hint].filter(Boolean).join(" "));
    }
  };
  const browse = () => {
    const near = value.trim() !== "" ? value.trim() : ([...known.keys()][0] ?? "");
    const owner = [...known].find(([directory]) => near === directory || near.startsWith(`${directory}/`));
    void look(near, owner?.[1]);
  };
  const above = place && place.path.includes("/") ? place.path.replace(/\/[^/]*$/, "") : "";
  return (
    <div class="field tall">
      <label for="directory">Directory</label>
      <div class="directory">
        <div class="composer-row">
          <input id="directory" list="recent" spellcheck={false} placeholder="The daemon's working directory" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
          <button type="button" onClick={browse}>Browse</button>
        </div>
        <datalist id="recent">{[...known.keys()].slice(0, 30).map((path) => <option key={path} value={path} />)}</datalist>
        <div class="recent">
          {[...known.keys()].slice(0, 5).map((path) => <button type="button" key={path} class="quiet path" onClick={() => onChange(path)}>{visible(path)}</button>)}
        </div>
        {problem && <p class="bad small" role="alert">{visible(problem)}</p>}
        {place && (
          <div class="picker" role="group" aria-label="Directories">
            <p class="path">{visible(place.path)}</p>
            {above !== "" && <button type="button" class="quiet path" onClick={() => void look(above, place.session)}>↑ ..</button>}
            {place.folders.map((path) => <button type="button" key={path} class="quiet path" onClick={() => void look(path, place.session)}>{visible(path.split("/").at(-1) ?? path)}/</button>)}
            {place.folders.length === 0 && <p class="dim small">No directory below this one.</p>}
            {may("admin") && place.session && <button type="button" class="quiet" onClick={() => void look("", undefined)}>Configured roots</button>}
          </div>
        )}
      </div>
    </div>
  );
}
