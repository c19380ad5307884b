/** Lists of the state that are either there or to be fetched. */
import { useEffect, useState } from "preact/hooks";
import { get, isOurs } from "../daemon/api.js";

type Listed<T> = T[] | { $blob: string } | null | undefined;

export function useListed<T>(list: Listed<T>): T[] {
  const path = list && !Array.isArray(list) ? list.$blob : null;
  const [fetched, setFetched] = useState<{ path: string; list: T[] } | null>(null);
  useEffect(() => {
    if (path !== null && isOurs(path)) get<T[]>(path).then((list) => setFetched({ path, list }), () => undefined);
  }, [path]);
  if (Array.isArray(list)) return list;
  return path !== null && fetched?.path === path ? fetched.list : [];
}
