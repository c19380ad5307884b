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
  /** The directory of the session, if that is not the open one. */
  directory?: string | null | undefined;
}

export function FileRef({ path, action, diff, blob, directory }: FileProps) {
  return (
    <div class="file-ref">
      <div class="file-head">
        <span class="tag">{action}</span>
        <span class="path" title={plain(path)}>{visible(near(path, directory))}</span>
        {diff && <Counts diff={diff} />}
      </div>
      {diff ? <Diff diff={bare(diff)} /> : blob ? <FetchedDiff blob={blob} /> : null}
    </div>
  );
}

/** A diff without the lines that name its file, which stands above it. */
function bare(diff: string): string {
  return diff.replace(/^--- [^\n]*\n\+\+\+ [^\n]*\n(?=@@)/, "");
}

/** A path below the directory of its session, the open one by default, without that directory. */
export function near(path: string, told?: string | null): string {
  const directory = told ?? open.value?.info.value?.directory;
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
  if (diff !== null) return <Diff diff={bare(diff)} />;
  return <p class="dim">{problem ?? "The diff is fetched…"}</p>;
}
