/** One file that was read or changed, with its diff. */
import { useEffect, useState } from "preact/hooks";
import { bytes } from "../daemon/api.js";
import { counted, Diff } from "../text/diff.js";
import { open } from "../model/open.js";
import { plain, visible } from "../text/visible.js";

interface FileProps {
  path: string;
  action: string;
  diff: string | null | undefined;
  blob: string | null | undefined;
}

export function FileRef({ path, action, diff, blob }: FileProps) {
  return (
    <div class="file-ref">
      <div class="file-head">
        <span class="tag">{action}</span>
        <span class="path" title={plain(path)}>{visible(near(path))}</span>
        {diff && <Counts diff={diff} />}
      </div>
      {diff ? <Diff diff={diff} /> : blob ? <FetchedDiff blob={blob} /> : null}
    </div>
  );
}

/** A path below the directory of the open session without that directory. */
export function near(path: string): string {
  const directory = open.value?.info.value?.directory;
  return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

export function Counts({ diff }: { diff: string }) {
  const { added, removed } = counted(diff);
  return <span class="counts"><span class="plus">+{added}</span> <span class="minus">−{removed}</span></span>;
}

/** A diff that is too long to stand in its event. */
function FetchedDiff({ blob }: { blob: string }) {
  const [diff, setDiff] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    bytes(blob).then((response) => response.text()).then(setDiff, (error: unknown) => setProblem(String(error)));
  }, [blob]);
  if (diff !== null) return <Diff diff={diff} />;
  return <p class="dim">{problem ?? "The diff is fetched…"}</p>;
}
